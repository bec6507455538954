#include "kernels/isa.hpp"

#include <algorithm>
#include <cstdlib>
#include <tapeform/core/error.hpp>

#include "catch.hpp"

using namespace tapeform;
using namespace tapeform::kernels;

TEST_CASE("vector levels: each that the processor has can be chosen, and is what kernels then use") {
  const std::string before = isa_name();
  const std::vector<std::string> names = isa_names();
  REQUIRE_FALSE(names.empty());
  CHECK(std::find(names.begin(), names.end(), before) != names.end());
  for (const std::string& name : names) {
    set_isa(name);
    CHECK(isa_name() == name);
  }
  set_isa("native");
  CHECK(isa_name() == names.front());
  set_isa(before);
}

TEST_CASE("vector levels: a name that is none is an error that lists those that are") {
  const std::string before = isa_name();
  std::string levels;
  for (const std::string& name : isa_names()) levels += ", " + name;
  CHECK_THROWS_AS(set_isa("avx9"), ValueError);
  CHECK_THROWS_WITH(set_isa("avx9"), Equals("set_isa: a vector level; got 'avx9'. This processor has native" + levels));
  CHECK_THROWS_AS(set_isa(""), ValueError);
  const std::vector<std::string> names = isa_names();
  if (names.back() == "sse2")  // x86
    for (const std::string level : {"avx512", "avx2", "sse4"})
      if (std::find(names.begin(), names.end(), level) == names.end())
        CHECK_THROWS_WITH(set_isa(level), Equals("set_isa: this processor lacks " + level + ". It has " + levels.substr(2)));
  CHECK(isa_name() == before);
}

TEST_CASE("vector levels: TAPEFORM_ISA is read before the first kernel, and a wrong one is an error of that call") {
  const std::string before = isa_name();
  const char* const given = std::getenv("TAPEFORM_ISA");
  const std::string restored = given ? given : "";
  const std::string worst = isa_names().back();
  kernels::detail::isa_chosen = false;
  setenv("TAPEFORM_ISA", worst.c_str(), 1);
  CHECK(isa_name() == worst);
  kernels::detail::isa_chosen = false;
  setenv("TAPEFORM_ISA", "AVX2", 1);
  CHECK_THROWS_AS(isa_name(), ValueError);
  CHECK_THROWS_WITH(isa_name(), Contains("TAPEFORM_ISA: a vector level; got 'AVX2'. This processor has native, "));
  setenv("TAPEFORM_ISA", "", 1);
  CHECK(isa_name() == isa_names().front());
  setenv("TAPEFORM_ISA", restored.c_str(), 1);
  set_isa(before);
}
