#include "schedules/schedules.hpp"

#include <cmath>
#include <filesystem>

#include "catch.hpp"
#include "common/utf8_text.hpp"
#include "examples/programs.hpp"

using namespace examples;

namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

}  // namespace

TEST_CASE("schedules: every curve has a rate for every update, rises no higher than the peak, and changes") {
  for (const std::int64_t updates : {2, 100, 1000}) {
    const std::vector<LineChart> curves = schedules::curves(updates);
    CHECK(curves.size() == 14);
    for (const LineChart& curve : curves) {
      INFO(curve.title << " over " << updates);
      REQUIRE(curve.values.size() == static_cast<std::size_t>(updates));
      bool changes = false, fits = true;
      for (const double rate : curve.values) {
        fits = fits && std::isfinite(rate) && rate >= 0 && rate <= 1e-3 * (1 + 1e-12);
        changes = changes || rate != curve.values.front();
      }
      CHECK(fits);
      if (updates > 2) CHECK(changes);
    }
  }
}

TEST_CASE("line chart: a line, an axis and a title for each chart, text escaped, no number lost that is none") {
  const std::string svg = line_charts_svg(
      "a < b", {{"one & two", "note", "step", {0, 1, 0.5}}, {"empty", "", "x", {}}, {"holes", "", "x", {1, NAN, INFINITY, 2}}});
  CHECK_THAT(svg, Contains("a &lt; b") && Contains("one &amp; two") && !Contains("one & two"));
  CHECK(count(svg, "class=\"a\"") == 3);
  CHECK(count(svg, "class=\"l\"") == 2);
  CHECK_THAT(svg, Contains("d=\"M64.0 154.0L169.0 44.0L274.0 99.0\""));  // 0, 1, ½ of the largest
  CHECK_THAT(svg, Contains("d=\"M64.0 99.0L274.0 44.0\""));              // the two numbers of "holes"
  CHECK_THAT(svg, Contains("<title>step 2: 0.5</title>"));
  CHECK(count(svg, "<g ") == count(svg, "</g>"));
}

TEST_CASE("programs: schedules draws its picture and says where") {
  const Outcome outcome = run("cd $(mktemp -d) && $BIN/schedules --updates 50 --picture all.svg && cat all.svg");
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.text, Contains("picture: all.svg\n<svg ") && Contains("</svg>") && Contains("OneCycleSchedule"));
  const Outcome nowhere = run("$BIN/schedules --picture /nowhere/at/all.svg");
  CHECK(nowhere.status == 2);
  CHECK(one_line(nowhere.text));
}
