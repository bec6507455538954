#include <optional>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/profile.hpp>
#include <tapeform/nn/recorder.hpp>
#include <tapeform/nn/seq2seq.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

/// A step of translation with padding, dropout and tied tables.
struct Step {
  Rng rng{3};
  nn::Seq2Seq model;
  Ids src = Ids::full({16, 24}, 1), tgt = src, labels = src, src_lens = Ids::full({16}, 24), tgt_lens = src_lens;

  Step()
      : model(50, 50, rng,
              {.num_hiddens = 64,
               .num_heads = 4,
               .num_encoder_layers = 2,
               .num_decoder_layers = 2,
               .ffn_num_hiddens = 256,
               .share_embeddings = true,
               .share_head = true}) {
    for (Ids* ids : {&src, &tgt, &labels})
      ids->write([this](auto values) {
        for (auto& value : values) value = 1 + rng.below(49);
      });
    for (Ids* lens : {&src_lens, &tgt_lens})
      lens->write([this](auto values) {
        for (auto& value : values) value = 12 + rng.below(13);
      });
  }

  double run(std::uint64_t seed) {
    Rng dropout(seed);
    Tape tape(dropout);
    const Tensor loss = model.loss(src, src_lens, tgt, labels, {.label_smoothing = 0.1}, {.tgt_lens = tgt_lens});
    tape.backward(loss);
    return loss.item();
  }

  std::vector<Array> gradients() {
    std::vector<Array> all;
    for (const ParameterRef& parameter : nn::parameters(model)) all.push_back(std::exchange(parameter.grad(), Array()));
    return all;
  }
};

struct Threads {
  int before = threads();
  ~Threads() { set_threads(before); }
};

}  // namespace

TEST_CASE("a step has the same bits with 1, 2, 3 and 7 threads, profiled or not, recorded or not") {
  const Threads restore;
  Step step;
  set_threads(1);
  const double loss = step.run(9);
  const std::vector<Array> gradients = step.gradients();
  for (const int count : {1, 2, 3, 7})
    for (const bool watched : {false, true}) {
      set_threads(count);
      std::optional<Profile> profile;
      std::optional<nn::AttentionRecorder> recorder;
      if (watched) {
        profile.emplace();
        recorder.emplace(step.model);
      }
      CHECK(step.run(9) == loss);
      const std::vector<Array> again = step.gradients();
      for (std::size_t i = 0; i < gradients.size(); ++i) CHECK(same_bits(gradients[i], again[i]));
      if (!watched) continue;
      CHECK(profile->rows().size() > 20);
      CHECK((*recorder)["transformer.decoder.layers.1.multihead_attn"].shape() == Shape{16, 4, 24, 24});
    }
}

TEST_CASE("steps with padding keep no byte, and take nothing from the system once they are steady") {
  Step step;
  const auto train = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      step.run(static_cast<std::uint64_t>(i));
      step.gradients();
    }
  };
  const Threads restore;
  set_threads(1);  // with helpers, whose scratch is whose depends on the scheduler
  train(10);
  const MemoryStats before = memory_stats();
  train(20);
  const MemoryStats after = memory_stats();
  CHECK(after.live_bytes == before.live_bytes);
  CHECK(after.copies - before.copies == 20);  // of the targets' ids, in which those beyond a valid length are set to be ignored
#ifndef TAPEFORM_SANITIZE_MEMORY
  CHECK(after.system_allocations == before.system_allocations);
#endif
}

TEST_CASE("attention's memory grows with T, not with its square") {
  constexpr Dim width = 64;
  const auto peak_of = [&](Dim time) {
    Rng rng(1);
    const nn::MultiHeadAttention mha(width, 8, rng);
    const Array x = normal({1, time, width}, 0, 1, rng);
    reset_peak_memory();
    const MemoryStats before = memory_stats();  // its peak holds what helpers of earlier tests once had
    Tape tape;
    const Tensor y = mha(tape.watch(x), {.mask = Mask::causal()});
    tape.backward(y, x);
    const MemoryStats after = memory_stats();
    return static_cast<double>(after.peak_live_bytes - before.peak_live_bytes) / static_cast<double>(time * width * 4);
  };
  const Threads restore;
  set_threads(1);
  const double small = peak_of(512), large = peak_of(2048);
  INFO("arrays [T, D]: " << small << " at 512, " << large << " at 2048");
  CHECK(large <= 12);
  CHECK(large <= small + 0.5);
}
