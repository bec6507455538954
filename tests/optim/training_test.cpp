#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "catch.hpp"
#include "threads.hpp"

using namespace tapeform;

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// Bytes of the process that stand in memory.
std::int64_t resident() {
  long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (!file || std::fscanf(file, "%*d %ld", &pages) != 1) pages = -1;
  if (file) std::fclose(file);
  return pages * 4096;
}

/// A small language model with all that training takes.
struct Training {
  Rng rng{5}, data{6};
  nn::CausalLM model;
  std::vector<ParameterRef> parameters;
  optim::AdamW adamw;
  optim::CosineSchedule schedule{{.lr = 1e-3, .warmup = 10, .total = 1000}};
  std::int64_t step = 0;

  explicit Training(Dim width)
      : model(20, rng, {.num_hiddens = width, .num_heads = 2, .num_layers = 2, .max_len = 32, .dropout = 0.1}),
        parameters(nn::parameters(model)),
        adamw(optim::decay_groups(model), {.weight_decay = 0.1}) {}

  double update(Dim batch, Dim length) {
    Ids ids = Ids::full({batch, length + 1}, 0);
    ids.write([this, length](std::span<std::int64_t> each) {  // rows that can be learnt: the next id follows from the last
      for (std::size_t i = 0; i < each.size(); ++i)
        each[i] = i % static_cast<std::size_t>(length + 1) == 0 ? data.below(20) : (3 * each[i - 1] + 1) % 20;
    });
    return update(ids.reshape({batch * (length + 1)}), batch, length);
  }

 private:
  double update(const Ids& flat, Dim batch, Dim length) {
    const auto window = [&](Dim shift) {
      Ids part = Ids::full({batch, length}, 0);
      part.write([&](std::span<std::int64_t> each) {
        for (Dim i = 0; i < batch * length; ++i) each[static_cast<std::size_t>(i)] = flat[i / length * (length + 1) + i % length + shift];
      });
      return part;
    };
    const Ids ids = window(0), targets = window(1);
    adamw.set_lr(schedule.lr(step++));
    Tape tape(rng);
    const Tensor loss = model.loss(ids, targets);
    tape.backward(loss);
    optim::clip_grad_norm(parameters, 1.0);
    adamw.step();
    adamw.zero_grad();
    return loss.item();
  }
};

}  // namespace

TEST_CASE("1,000 updates add no live byte, no allocation after the tenth, and no resident memory", "[slow]") {
  for (const int count : {1, 2}) {
    const Threads use(count);
    Training training(32);
    MemoryStats before;
    [[maybe_unused]] std::int64_t resident_before = 0;
    for (int i = 0; i < 1000; ++i) {
      if (i == 10) {
        before = memory_stats();
        resident_before = resident();
      }
      if (!std::isfinite(training.update(4, 16))) FAIL("loss at update " << i);
    }
    const MemoryStats after = memory_stats();
    CHECK(after.live_bytes == before.live_bytes);
    CHECK(after.copies == before.copies);
#if !defined(TAPEFORM_SANITIZE_MEMORY) && !defined(TAPEFORM_SANITIZE_THREAD)
    // A helper makes its scratch when work of a kind first comes to it, which on a busy machine may be late; but once alone.
    CHECK(after.system_allocations - before.system_allocations <= (count == 1 ? 0u : 32u));
    CHECK(resident() - resident_before <= (count == 1 ? 1 : 4) * mebibyte);
#endif
  }
}

TEST_CASE("1,000 updates of random lengths stay within a bound that does not grow", "[slow]") {
  Training training(32);
  Rng lengths(7);
  std::int64_t live = 0;
  std::int64_t early = 0, late = 0;
  for (int i = 0; i < 1000; ++i) {
    training.update(1 + lengths.below(6), 1 + lengths.below(32));
    const MemoryStats stats = memory_stats();
    if (i == 0) live = stats.live_bytes;
    if (stats.live_bytes != live) FAIL("live bytes change at update " << i);
    (i < 500 ? early : late) = std::max(i < 500 ? early : late, stats.cached_bytes);
  }
  CHECK(late <= early + mebibyte);
  CHECK(late <= 64 * mebibyte);
}

TEST_CASE("200 updates with dropout have the same bits with 1 and 2 threads", "[slow]") {
  const int before = threads();
  std::vector<double> losses[2];
  std::vector<std::vector<double>> weights[2];
  for (const int count : {1, 2}) {
    set_threads(count);
    const auto helped = chunks_run_by_helpers();
    Training training(128);
    for (int i = 0; i < 200; ++i) losses[count - 1].push_back(training.update(16, 32));  // 512 rows of 128: every kernel splits
    for (const ParameterRef& parameter : training.parameters) weights[count - 1].push_back(parameter.value().to_vector());
    CHECK((chunks_run_by_helpers() > helped) == (count == 2));
  }
  set_threads(before);
  CHECK(losses[0] == losses[1]);
  CHECK(weights[0] == weights[1]);
  CHECK(losses[0].back() < losses[0].front() / 2);
}
