// ./dev bench: times one step of each case. Prints the median and the shortest step, the rate of the work that the step needs, the loss
// of the last step (a step that learns nothing was not a step) and the peak memory of the program so far.

#include "bench/bench.hpp"

#include <tapeform/tapeform.hpp>

#include <sys/resource.h>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  double seconds = 4;
  int threads = 0;  // 0: as the library chooses
  bool json = false;
  std::vector<std::string_view> names;
};

constexpr std::string_view usage =
    "bench [CASE...] [--seconds S] [--threads N] [--json]\n"
    "Times one step of each case, all cases when none is named.\n";

template <class T>
T number(std::string_view option, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0)) {
    throw std::invalid_argument(fmt::format("{} takes a positive number, not '{}'", option, text));
  }
  return value;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string_view next = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--seconds") {
      options.seconds = number<double>(word, next);
      ++i;
    } else if (word == "--threads") {
      options.threads = number<int>(word, next);
      ++i;
    } else if (word == "--json") {
      options.json = true;
    } else if (word == "--help" || word == "-h") {
      fmt::print("{}\ncases:\n", usage);
      for (const bench::Case& known : bench::cases()) fmt::print("  {:<12} {}\n", known.name, known.sizes);
      std::exit(EXIT_SUCCESS);
    } else if (std::ranges::any_of(bench::cases(), [&](const bench::Case& known) { return known.name == word; })) {
      options.names.push_back(word);
    } else {
      throw std::invalid_argument(fmt::format("there is no case '{}'; see --help", word));
    }
  }
  return options;
}

double seconds_of(const bench::Step& step, double& loss) {
  const Clock::time_point start = Clock::now();
  loss = step.run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

long peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

void time_case(const bench::Case& chosen, const Options& options) {
  const bench::Step step = chosen.prepare();
  double loss = 0;
  const double first = seconds_of(step, loss);
  for (int warm_up = 0; warm_up < 2; ++warm_up) seconds_of(step, loss);
  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  while (times.size() < 3 || std::chrono::duration<double>(Clock::now() - start).count() < options.seconds) {
    times.push_back(seconds_of(step, loss));
  }
  std::ranges::sort(times);
  const double median = times[times.size() / 2], gflops = step.flop / median / 1e9;
  if (options.json) {
    fmt::print(
        "{{\"case\": \"{}\", \"threads\": {}, \"n\": {}, \"first_s\": {:.3f}, \"min_ms\": {:.4f}, \"median_ms\": {:.4f}, "
        "\"gflops\": {:.1f}, \"peak_rss_mb\": {}}}\n",
        chosen.name, tapeform::threads(), times.size(), first, 1e3 * times.front(), 1e3 * median, gflops, peak_memory_mb());
  } else {
    fmt::print("{:<12} {:>10.4f} {:>10.4f} {:>9.1f} {:>8} {:>9.4f} {:>8}\n", chosen.name, 1e3 * median, 1e3 * times.front(), gflops,
               times.size(), loss, peak_memory_mb());
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    if (options.threads > 0) tapeform::set_threads(options.threads);
    if (!options.json) {
      fmt::print("{} threads\n{:<12} {:>10} {:>10} {:>9} {:>8} {:>9} {:>8}\n", tapeform::threads(), "case", "median ms", "min ms",
                 "GFLOP/s", "steps", "loss", "peak MB");
    }
    for (const bench::Case& known : bench::cases()) {
      if (options.names.empty() || std::ranges::find(options.names, known.name) != options.names.end()) time_case(known, options);
    }
    return EXIT_SUCCESS;
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
