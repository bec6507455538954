#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <tapeform/core/parallel.hpp>
#include <thread>

#include "catch.hpp"
#include "threads.hpp"

using namespace tapeform;

namespace {

void some_work() {
  std::atomic<Dim> sum{0};
  parallel_for(64, 1, [&](Dim begin, Dim end) { sum += end - begin; });
}

// Threads of this process as the system counts them, and how many of them run or want to.
struct Census {
  int all = 0, running = 0;
  Census() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream file(task.path() / "stat");
      std::string line;
      if (!std::getline(file, line)) continue;  // it ended meanwhile
      ++all;
      const std::size_t state = line.rfind(')') + 2;
      if (state < line.size() && line[state] == 'R') ++running;
    }
  }
};

}  // namespace

TEST_CASE("the pool starts its threads once") {
  const Threads three(3);
  some_work();
  const int before = Census().all;
  CHECK(before >= 3);
  for (int i = 0; i < 500; ++i) some_work();
  CHECK(Census().all == before);
}

TEST_CASE("the pool's threads sleep when there is nothing to do") {
  using Clock = std::chrono::steady_clock;
  const Threads three(3);
  some_work();
  int running = 0;
  const Clock::time_point end = Clock::now() + std::chrono::minutes(2);
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    running = Census().running;
  } while (running > 1 && Clock::now() < end);
  CHECK(running == 1);  // this one, which asks
}
