#include <tapeform/tapeform.hpp>

#include "catch.hpp"

#include <string>

using Catch::Matchers::StartsWith;

TEST_CASE("version: the library's text is the headers' numbers") {
  const std::string expected =
      std::to_string(TAPEFORM_VERSION_MAJOR) + "." + std::to_string(TAPEFORM_VERSION_MINOR) + "." + std::to_string(TAPEFORM_VERSION_PATCH);
  REQUIRE(tapeform::version() == expected);
  CHECK(TAPEFORM_VERSION / 10000 == TAPEFORM_VERSION_MAJOR);
  CHECK(TAPEFORM_VERSION / 100 % 100 == TAPEFORM_VERSION_MINOR);
  CHECK(TAPEFORM_VERSION % 100 == TAPEFORM_VERSION_PATCH);
}

TEST_CASE("version: build_info names version, compiler, BLAS, vector level and threads in one line") {
  const int before = tapeform::threads();
  tapeform::set_threads(3);
  const std::string info = tapeform::build_info();
  tapeform::set_threads(1);
  const std::string alone = tapeform::build_info();
  tapeform::set_threads(before);
  CHECK_THAT(info, StartsWith(std::string("tapeform ") + tapeform::version() + ", "));
  CHECK_THAT(info, Contains("g++ ") || Contains("clang++ "));
  CHECK_THAT(info, Contains("BLAS") || Contains("BLIS"));
  CHECK_THAT(info, Contains("sse2") || Contains("sse4") || Contains("avx2") || Contains("avx512") || Contains("native"));
  CHECK(info.ends_with(", 3 threads"));
  CHECK(alone.ends_with(", 1 thread"));
  CHECK(info.find('\n') == std::string::npos);
}
