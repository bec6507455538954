// Times training steps and prints one JSON line for each.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/profile.hpp>

#include "cases.hpp"
#include "clock.hpp"
#include "scaling.hpp"
#include "thread_counts.hpp"

using bench::Clock;
using bench::seconds_since;

static double rounded(double value) { return std::round(value * 1e4) / 1e4; }

// What this machine makes of a square product of 2048 with the same threads, in this very run.
static double peak_gflops() {
  static const double rate = [] {
    double flop = 0, best = 1e9;
    const auto product = std::ranges::find(bench::cases(), "peak", &bench::Case::name)->make(flop);
    for (int i = 0; i < 4; ++i) {
      const Clock::time_point begin = Clock::now();
      product();
      best = std::min(best, seconds_since(begin));
    }
    return flop / best / 1e9;
  }();
  return rate;
}

static nlohmann::ordered_json measure(const bench::Case& one, double seconds) {
  double flop = 0;
  const auto step = one.make(flop);
  const Clock::time_point first = Clock::now();
  step();
  const double first_s = seconds_since(first);
  for (int i = 0; i < 2; ++i) step();
  tapeform::reset_peak_memory();
  const tapeform::MemoryStats before = tapeform::memory_stats();
  std::vector<double> times;
  for (const Clock::time_point start = Clock::now(); seconds_since(start) < seconds || times.size() < 3;) {
    const Clock::time_point begin = Clock::now();
    step();
    times.push_back(seconds_since(begin));
  }
  const tapeform::MemoryStats after = tapeform::memory_stats();
  const auto count = static_cast<double>(times.size());
  const double median = bench::median(times);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {{"case", one.name},
          {"peer", "tapeform"},
          {"threads", tapeform::threads()},
          {"n", times.size()},
          {"first_s", rounded(first_s)},
          {"min_ms", rounded(1e3 * std::ranges::min(times))},
          {"median_ms", rounded(1e3 * median)},
          {"gflops", rounded(flop / median / 1e9)},
          {"share_of_peak", rounded(flop / median / 1e9 / peak_gflops())},
          {"peak_rss_mb", usage.ru_maxrss / 1024},
          {"live_mb", rounded(static_cast<double>(after.peak_live_bytes) / (1 << 20))},
          {"buffers_per_step", static_cast<double>(after.buffers - before.buffers) / count},
          {"system_allocations_per_step", static_cast<double>(after.system_allocations - before.system_allocations) / count}};
}

// Where the time of a step goes, averaged over as many as fit into the seconds.
static void profile(const bench::Case& one, double seconds) {
  double flop = 0;
  const auto step = one.make(flop);
  for (int i = 0; i < 3; ++i) step();
  tapeform::Profile profile;
  int steps = 0;
  for (const Clock::time_point start = Clock::now(); seconds_since(start) < seconds || steps < 3; ++steps) step();
  std::printf("%s: %d steps of %.3f ms on %d threads\n\n%s", one.name.c_str(), steps, 1e3 * profile.seconds() / steps, tapeform::threads(),
              profile.str().c_str());
}

int main(int argc, char** argv) {
  CLI::App app("Times training steps; one JSON line a case.", "bench");
  std::vector<std::string> names;
  double seconds = 3.0;
  int threads = 0;
  std::string file, picture = "scaling.svg";
  bool list = false, profiled = false, counts = false;
  app.add_option("case", names, "cases to time; gpt_char, copy and tiny_mlp when none is named; scaling: cost against depth, batch and T");
  app.add_option("--seconds", seconds, "how long to repeat each step")->check(CLI::Range(0.0, 3600.0));
  auto* const one_count =
      app.add_option("--threads", threads, "threads to use; 0: TAPEFORM_THREADS, or all processors")->check(CLI::Range(0, 1024));
  app.add_option("--json", file, "writes the lines to a file too");
  app.add_option("--picture", picture, "where scaling draws its curves")->capture_default_str();
  auto* const by_op = app.add_flag("--profile", profiled, "where the time of a step goes, by op and by module, instead of the JSON line");
  app.add_flag("--thread-counts", counts, "one thread, all processors and twice as many threads, step by step in turn")
      ->excludes(one_count)
      ->excludes(by_op);
  app.add_flag("--list", list, "names the cases and what they are");
  CLI11_PARSE(app, argc, argv);
  if (list) {
    for (const bench::Case& one : bench::cases()) std::printf("%-18s %s\n", one.name.c_str(), one.what.c_str());
    return 0;
  }
  std::ofstream json;
  if (!file.empty()) {
    json.open(file);
    if (!json) {
      std::fprintf(stderr, "bench: %s cannot be written\n", file.c_str());
      return 2;
    }
  }
  if (threads > 0) tapeform::set_threads(threads);
  if (names.empty()) names = {"gpt_char", "copy", "tiny_mlp"};
  for (const std::string& name : names) {
    if (name == "scaling") {
      bench::scaling(seconds, picture);
      continue;
    }
    const auto one = std::ranges::find(bench::cases(), name, &bench::Case::name);
    if (one == bench::cases().end()) {
      std::fprintf(stderr, "bench: there is no case '%s'; --list names them\n", name.c_str());
      return 2;
    }
    if (profiled) {
      profile(*one, seconds);
    } else {
      const std::string line = (counts ? bench::thread_counts(*one, seconds) : measure(*one, seconds)).dump();
      std::printf("%s\n", line.c_str());
      if (json.is_open()) json << line << std::endl;
    }
    std::fflush(stdout);
  }
  return 0;
}
