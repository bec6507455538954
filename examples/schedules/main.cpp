// Every learning-rate schedule as a curve, in one picture.
#include <fmt/format.h>

#include <algorithm>

#include "common/command_line.hpp"
#include "common/utf8_text.hpp"
#include "schedules/schedules.hpp"

using namespace examples;

namespace {

int body(int argc, const char* const* argv) {
  std::int64_t updates = 100;
  std::string picture = "schedules.svg";
  CommandLine options("schedules", "Draws every learning-rate schedule of the library into one SVG picture.");
  options.add("--updates", updates, "how many updates the curves are long", 2, 100'000);
  options.add("--picture", picture, "where the picture goes");
  options.parse(argc, argv);
  check_writable(picture);

  const std::vector<LineChart> curves = schedules::curves(updates);
  write_file(picture, line_charts_svg("Learning rates", curves));
  if (options.quiet) return 0;
  for (const LineChart& curve : curves) {
    const auto highest = std::ranges::max_element(curve.values);
    fmt::print("{:<24}first {:.2e}   highest {:.2e} at update {:<6}last {:.2e}   {}\n", curve.title, curve.values.front(), *highest,
               highest - curve.values.begin(), curve.values.back(), curve.note);
  }
  fmt::print("picture: {}\n", picture);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return examples::run("schedules", body, argc, argv); }
