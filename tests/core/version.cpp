#include <tapeform/tapeform.hpp>

#include "catch.hpp"

#include <string>

TEST_CASE("version: the library's text is the headers' numbers") {
  const std::string expected =
      std::to_string(TAPEFORM_VERSION_MAJOR) + "." + std::to_string(TAPEFORM_VERSION_MINOR) + "." + std::to_string(TAPEFORM_VERSION_PATCH);
  REQUIRE(tapeform::version() == expected);
}
