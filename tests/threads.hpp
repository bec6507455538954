#pragma once
#include <chrono>
#include <tapeform/core/parallel.hpp>

/// Sets the number of threads until the end of the scope.
struct Threads {
  int before = tapeform::threads();
  explicit Threads(int count) { tapeform::set_threads(count); }
  ~Threads() { tapeform::set_threads(before); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
};

/// Repeats f() until a helper thread has run a part of it: on a busy machine a helper may get no time at first. False when none has
/// within two minutes, which is what work that never splits looks like.
template <class F>
bool until_helped(const F& f) {
  using Clock = std::chrono::steady_clock;
  const std::uint64_t before = tapeform::chunks_run_by_helpers();
  const Clock::time_point end = Clock::now() + std::chrono::minutes(2);
  do f();
  while (tapeform::chunks_run_by_helpers() == before && Clock::now() < end);
  return tapeform::chunks_run_by_helpers() > before;
}
