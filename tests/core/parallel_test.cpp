#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <tapeform/core/error.hpp>
#include <tapeform/core/parallel.hpp>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "threads.hpp"

using namespace tapeform;

namespace {

/// How often each of n numbers is visited.
std::vector<int> visits(Dim n, Dim grain) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
  parallel_for(n, grain, [&seen](Dim begin, Dim end) {
    for (Dim i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  return {seen.begin(), seen.end()};
}

bool all_once(Dim n, Dim grain) { return visits(n, grain) == std::vector<int>(static_cast<std::size_t>(n), 1); }

}  // namespace

TEST_CASE("every number is visited once, in pieces of the grain") {
  for (const int count : {1, 2, 5}) {
    const Threads use(count);
    for (const Dim n : {0, 1, 7, 8, 9, 64, 65, 1000}) CHECK(all_once(n, 8));
    std::atomic<bool> right{true};
    parallel_for(20, 8, [&right](Dim begin, Dim end) {
      if (begin % 8 != 0 || end != std::min<Dim>(begin + 8, 20)) right = false;
    });
    CHECK(right);
  }
}

TEST_CASE("two threads work at once") {
  const Threads use(2);
  const auto before = chunks_run_by_helpers();
  std::atomic<int> inside{0};
  parallel_for(2, 1, [&inside](Dim, Dim) {
    ++inside;
    while (inside < 2) std::this_thread::yield();  // ends only when both pieces run
  });
  CHECK(chunks_run_by_helpers() > before);
}

TEST_CASE("of more threads than there are processors only as many work") {
  const Threads use(6);
  std::mutex mutex;
  std::set<std::thread::id> worked;
  const auto count = [&](int processors) {
    detail::set_processors(processors);
    worked.clear();
    for (int round = 0; round < 20; ++round)
      parallel_for(12, 1, [&](Dim, Dim) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const std::lock_guard lock(mutex);
        worked.insert(std::this_thread::get_id());
      });
    detail::set_processors(1024);
    return worked.size();
  };
  CHECK(count(6) > 3);
  const std::uint64_t before = chunks_run_by_helpers();
  CHECK(count(1) == 1);
  CHECK(chunks_run_by_helpers() == before);
}

TEST_CASE("an exception of any piece is thrown on, and the pool goes on") {
  const Threads use(2);
  for (const Dim bad : {0, 37, 99}) {
    CHECK(message<std::runtime_error>([bad] {
            parallel_for(100, 1, [bad](Dim begin, Dim) {
              if (begin == bad) throw std::runtime_error("piece " + std::to_string(begin));
            });
          }) == "piece " + std::to_string(bad));
    CHECK(all_once(100, 3));
  }
  std::atomic<int> run{0};
  CHECK_THROWS(parallel_for(1'000'000, 1, [&run](Dim, Dim) {
    ++run;
    throw std::runtime_error("first");
  }));
  CHECK(run <= 2);  // what had not begun is left out
}

TEST_CASE("nested calls run on their own thread") {
  const Threads use(2);
  std::atomic<int> total{0}, elsewhere{0};
  parallel_for(8, 1, [&](Dim, Dim) {
    const auto here = std::this_thread::get_id();
    parallel_for(10, 1, [&](Dim begin, Dim end) {
      total += static_cast<int>(end - begin);
      if (std::this_thread::get_id() != here) ++elsewhere;
    });
  });
  CHECK(total == 80);
  CHECK(elsewhere == 0);
  CHECK(all_once(100, 3));
}

TEST_CASE("several user threads may call at once") {
  const Threads use(2);
  std::atomic<int> wrong{0};
  const auto user = [&wrong] {
    for (int i = 0; i < 200; ++i)
      if (!all_once(100, 3)) ++wrong;
  };
  std::thread first(user), second(user);
  user();
  first.join();
  second.join();
  CHECK(wrong == 0);
}

#ifndef TAPEFORM_SANITIZE_THREAD  // it does not follow a fork of a process with threads
TEST_CASE("a forked child has its own threads", "[fork]") {
  const Threads use(2);
  CHECK(all_once(100, 3));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool right = all_once(1000, 3);
    const auto before = chunks_run_by_helpers();
    std::atomic<int> inside{0};
    parallel_for(2, 1, [&inside](Dim, Dim) {
      ++inside;
      while (inside < 2) std::this_thread::yield();
    });
    right = right && chunks_run_by_helpers() > before;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(all_once(100, 3));
}
#endif

TEST_CASE("TAPEFORM_THREADS sets the number of threads") {
  const char* const expected = std::getenv("TAPEFORM_TEST_EXPECTS");
  if (expected) {  // in the child
    const std::string got = message<ValueError>([] { threads(); });
    CHECK((got == "no error" ? std::to_string(threads()) : got) == expected);
    return;
  }
  char self[4096];
  const auto length = readlink("/proc/self/exe", self, sizeof(self));
  REQUIRE(length > 0);
  const auto child = [program = std::string(self, static_cast<std::size_t>(length))](const char* value, const std::string& expects) {
    const std::string command = std::string("TAPEFORM_THREADS='") + value + "' TAPEFORM_TEST_EXPECTS=\"" + expects + "\" '" + program +
                                "' 'TAPEFORM_THREADS sets the number of threads' > /dev/null";
    return std::system(command.c_str());
  };
  CHECK(child("3", "3") == 0);
  CHECK(child("3", "4") != 0);
  CHECK(child("1024", "1024") == 0);
  CHECK(child("", std::to_string(std::max(1u, std::thread::hardware_concurrency()))) == 0);
  for (const std::string wrong : {"0", "-1", "1025", "two", "2x"})
    CHECK(child(wrong.c_str(), "TAPEFORM_THREADS: a number from 1 to 1024; got '" + wrong + "'") == 0);
}

TEST_CASE("set_threads refuses what is no number of threads") {
  const int before = threads();
  CHECK(message<ValueError>([] { set_threads(0); }) == "set_threads: 1 to 1024; got 0");
  CHECK(message<ValueError>([] { set_threads(1025); }) == "set_threads: 1 to 1024; got 1025");
  CHECK(threads() == before);
}
