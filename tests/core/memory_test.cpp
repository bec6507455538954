#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <tapeform/core/array.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/parameter.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/tape.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

std::int64_t live() { return memory_stats().live_bytes; }

/// Bytes of the process that stand in memory.
[[maybe_unused]] std::int64_t resident() {
  long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (!file || std::fscanf(file, "%*d %ld", &pages) != 1) pages = -1;
  if (file) std::fclose(file);
  return pages * 4096;
}

}  // namespace

TEST_CASE("live bytes follow what is held, whoever lets go of it") {
  const auto before = memory_stats();
  {
    Array a({1000}, DType::float64);
    CHECK(live() - before.live_bytes >= 8000);
    CHECK(live() - before.live_bytes <= 8000 * 5 / 4 + 128);  // a size class wastes a fifth at most
    const auto one = live();
    const Array shared = a, view = a.reshape({10, 100});
    CHECK(live() == one);
    a.mutable_data<double>();
    CHECK(live() > one);
    CHECK(memory_stats().copies == before.copies + 1);
  }
  CHECK(live() == before.live_bytes);
  Array made_here({1000});
  std::thread([moved = std::move(made_here)]() mutable { moved = Array(); }).join();
  CHECK(live() == before.live_bytes);
  Array made_there;
  std::thread([&made_there] { made_there = Array({1000}); }).join();
  CHECK(live() > before.live_bytes);
  made_there = Array();
  CHECK(live() == before.live_bytes);
}

TEST_CASE("the peak is the highest since it was reset") {
  reset_peak_memory();
  const auto before = memory_stats();
  { Array large({1'000'000}); }
  CHECK(memory_stats().peak_live_bytes - before.peak_live_bytes >= 4'000'000);
  reset_peak_memory();
  CHECK(memory_stats().peak_live_bytes == before.peak_live_bytes);
}

TEST_CASE("what this system cannot hold is an error that tells what is live, and the process goes on", "[huge]") {
  CHECK_THAT(message<MemoryError>([] { Array({Dim{1} << 42}, DType::float64); }),
             Contains("array: the system has no ") && Contains(" live). Use a smaller batch or a shorter sequence"));
  CHECK(Array::ones({3}).to_vector() == std::vector<double>{1, 1, 1});
}

TEST_CASE("what no system can hold is an error, and the process goes on") {
  CHECK(message<MemoryError>([] { Array({Dim{1} << 44}, DType::float64); }) == "array: 140737488355328 bytes are more than any system has");
  CHECK(Array::ones({3}).to_vector() == std::vector<double>{1, 1, 1});
}

TEST_CASE("AG-29: reference cycle in the op closure", "[case]") {
  const Array a = Array::ones({1000}), b = Array::ones({1000});
  const auto round = [&] {
    Tape tape;
    const Tensor x = tape.watch(a), y = tape.watch(b);
    const Tensor c = plus(x, scaled(y, 2.0));
    return c.value().at({999});
  };
  for (int i = 0; i < 100; ++i) round();
  const auto before = live();
  [[maybe_unused]] const auto memory = resident();
  for (int i = 0; i < 10'000; ++i)
    if (round() != 3.0) FAIL("wrong sum");
  CHECK(live() == before);
#if !defined(TAPEFORM_SANITIZE_MEMORY) && !defined(TAPEFORM_SANITIZE_THREAD)
  CHECK(resident() - memory <= mebibyte);
#endif
}

TEST_CASE("AG-30: graph kept by a running loss", "[case]") {
  Parameter w(Array::full({1000}, 0.5));
  const Array ones = Array::ones({1000});
  double total = 0;
  std::int64_t after_ten = 0;
  for (int step = 0; step < 1000; ++step) {
    Tape tape;
    const Tensor loss = scaled(plus(w, ones), 2.0);
    total += loss.value().at({0});
    tape.backward(loss, ones);
    w.ref().grad() = Array();
    if (step == 10) after_ten = live();
    if (step > 10 && live() > after_ten) FAIL("live bytes grow at step " << step);
  }
  CHECK(total == 3000.0);

  // The sum as a tensor keeps the graph of one tape, by design, and cannot go from tape to tape: the cure drops the history.
  Tensor running = Array::zeros({1000});
  {
    Tape tape;
    running = plus(running, scaled(w, 1.0));
  }
  Tape tape;
  CHECK(
      message<TapeError>([&] { plus(running, scaled(w, 1.0)); }) ==
      "plus: an input of shape [1000] belongs to a tape that has ended or to another thread's. Use stop_gradient(x) to carry a value from "
      "one tape to another");
  const auto nodes = tape.nodes();
  running = plus(stop_gradient(running), ones);
  CHECK(tape.nodes() == nodes);
  CHECK_FALSE(running.recorded());
}

#ifndef TAPEFORM_SANITIZE_MEMORY  // there nothing is kept for reuse
TEST_CASE("buffers are used again, and given back when asked") {
  release_cached_memory();
  const auto before = memory_stats();
  for (int i = 0; i < 100; ++i) Array a({5000});
  CHECK(memory_stats().buffers == before.buffers + 100);
  CHECK(memory_stats().system_allocations == before.system_allocations + 1);
  CHECK(memory_stats().cached_bytes > before.cached_bytes);
  release_cached_memory();
  CHECK(memory_stats().cached_bytes == before.cached_bytes);
}

#if defined(__GLIBC__) && !defined(TAPEFORM_SANITIZE_THREAD)  // which has a heap of its own
TEST_CASE("what is given back leaves the process, even from between blocks that stay", "[heap]") {
  std::vector<Array> all(1000), kept;
  for (Array& a : all) a = Array::ones({25'000}, DType::float32);  // 100 kB: too small for pages of its own
  for (std::size_t i = 0; i < all.size(); i += 100) kept.push_back(all[i]);
  all.clear();
  const std::int64_t before = resident();
  release_cached_memory();
  CHECK(before - resident() > 80 * mebibyte);
}
#endif

TEST_CASE("random sizes stay within a bound that does not grow") {
  const auto before = memory_stats();
  std::thread([&before] {  // a thread of its own starts with no peak
    Rng rng(8);
    std::vector<Array> held(20);
    std::int64_t most = 0;
    for (int i = 0; i < 20'000; ++i) {
      held[static_cast<std::size_t>(rng.below(20))] = Array({1 + rng.below(500'000)});
      const auto stats = memory_stats();
      most = std::max(most, stats.live_bytes + stats.cached_bytes - before.live_bytes - before.cached_bytes);
    }
    const std::int64_t peak = 20 * (2'000'000 * 5 / 4);  // twenty of the largest size
    CHECK(most <= peak * 3 / 2 + 64 * mebibyte);
  })
      .join();
}

TEST_CASE("a thread that frees what another made keeps no more than its share") {
  std::mutex mutex;
  std::condition_variable changed;
  Array slot;
  bool full = false;
  const auto before = memory_stats().cached_bytes;
  std::thread maker([&] {
    for (int i = 0; i < 400; ++i) {
      Array made({Dim{1} << 18});  // 1 MiB
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !full; });
      slot = std::move(made);
      full = true;
      changed.notify_all();
    }
  });
  std::thread taker([&] {
    for (int i = 0; i < 400; ++i) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return full; });
      slot = Array();
      full = false;
      changed.notify_all();
    }
    CHECK(memory_stats().cached_bytes - before <= 80 * mebibyte);
  });
  maker.join();
  taker.join();
}
#endif
