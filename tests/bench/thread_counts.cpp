#include "thread_counts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tapeform/core/parallel.hpp>
#include <thread>
#include <vector>

#include "clock.hpp"

namespace bench {

nlohmann::ordered_json thread_counts(const Case& one, double seconds) {
  const int processors = std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
  const int counts[] = {1, processors, 2 * processors};
  double flop = 0;
  const auto step = one.make(flop);
  std::map<int, std::vector<double>> times;
  const Clock::time_point start = Clock::now();
  for (int round = -1; round < 5 || seconds_since(start) < seconds; ++round)
    for (const int count : counts) {
      tapeform::set_threads(count);
      const Clock::time_point begin = Clock::now();
      step();
      if (round >= 0) times[count].push_back(seconds_since(begin));
    }
  nlohmann::ordered_json ms, speedup;
  for (const int count : counts) {
    ms[std::to_string(count)] = std::round(median(times[count]) * 1e7) / 1e4;
    speedup[std::to_string(count)] = std::round(median(times[1]) / median(times[count]) * 1e3) / 1e3;
  }
  return {{"case", one.name}, {"rounds", times[1].size()}, {"median_ms", ms}, {"speedup", speedup}};
}

}  // namespace bench
