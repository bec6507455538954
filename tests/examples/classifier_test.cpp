#include <string>

#include "catch.hpp"
#include "examples/programs.hpp"

TEST_CASE("classifier: tells the arms of the spiral apart, to the same bits with one thread and two") {
  for (const std::string seed : {"1", "2", "3"}) {
    const Outcome outcome = run("$BIN/classifier --seed " + seed + " --threads 1");
    INFO(outcome.text);
    REQUIRE(outcome.status == 0);
    const std::string before = "validation accuracy: ";
    REQUIRE(outcome.text.starts_with(before));
    CHECK(std::stod(outcome.text.substr(before.size())) >= 95.0);
    CHECK_THAT(outcome.text, Contains("of 300 points"));
    CHECK(run("$BIN/classifier --seed " + seed + " --threads 2").text == outcome.text);
  }
  const std::string untrained = run("$BIN/classifier --epochs 0").text;
  INFO(untrained);
  CHECK(std::stod(untrained.substr(untrained.find(": ") + 2)) < 70.0);
}
