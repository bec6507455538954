#pragma once
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/seq2seq.hpp>
#include <tapeform/optim/adam.hpp>

#include "nn/common.hpp"

/// Models and inputs to decode.
namespace decoding {

using tapeform::Ids;
using tapeform::Rng;

constexpr Dim vocab = 13, longest = 9;
constexpr std::int64_t start_id = 1, end_id = 2;

[[maybe_unused]] inline tapeform::nn::Seq2Seq translator(std::uint64_t seed, Dim width = 16) {
  Rng rng(seed);
  return tapeform::nn::Seq2Seq(vocab, vocab, rng,
                               {.num_hiddens = width,
                                .num_heads = 2,
                                .num_encoder_layers = 1,
                                .num_decoder_layers = 2,
                                .ffn_num_hiddens = 2 * width,
                                .dropout = 0.0,
                                .max_len = longest + 1});
}

[[maybe_unused]] inline tapeform::nn::CausalLM language_model(std::uint64_t seed, Dim max_len = 16) {
  Rng rng(seed);
  return tapeform::nn::CausalLM(vocab, rng, {.num_hiddens = 16, .num_heads = 2, .num_layers = 2, .max_len = max_len});
}

struct Batch {
  Ids ids, lens;
};

/// Rows of 1 to `longest` ids from 3 on, padded with 0.
[[maybe_unused]] inline Batch batch_of(Dim rows, Rng& rng) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(rows * longest), 0), lens;
  for (Dim b = 0; b < rows; ++b) {
    lens.push_back(1 + rng.below(longest));
    for (Dim t = 0; t < lens.back(); ++t) ids[static_cast<std::size_t>(b * longest + t)] = 3 + rng.below(vocab - 3);
  }
  return {Ids({rows, longest}, ids), Ids(lens)};
}

/// Rows [begin, end) of a batch.
[[maybe_unused]] inline Batch rows_of(const Batch& batch, Dim begin, Dim end) {
  const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin),
             width = static_cast<std::size_t>(longest);
  return {Ids({end - begin, longest}, batch.ids.values().subspan(first * width, count * width)),
          Ids(batch.lens.values().subspan(first, count))};
}

/// A translator that has learned, not perfectly, to say a row backwards.
[[maybe_unused]] inline tapeform::nn::Seq2Seq trained(std::uint64_t seed, int updates) {
  tapeform::nn::Seq2Seq model = translator(seed, 32);
  Rng rng(seed + 1);
  tapeform::optim::Adam adam(tapeform::nn::parameters(model), {.lr = 3e-3});
  for (int update = 0; update < updates; ++update) {
    const Batch batch = batch_of(32, rng);
    std::vector<std::int64_t> tgt(32 * (longest + 1), 0), targets(32 * (longest + 1), 0);
    for (Dim b = 0; b < 32; ++b) {
      const Dim length = batch.lens[b];
      for (Dim t = 0; t <= length; ++t) {
        const auto at = static_cast<std::size_t>(b * (longest + 1) + t);
        targets[at] = t < length ? batch.ids[b * longest + length - 1 - t] : end_id;
        tgt[at] = t == 0 ? start_id : targets[at - 1];
      }
    }
    tapeform::Tape tape(rng);
    tape.backward(model.loss(batch.ids, batch.lens, Ids({32, longest + 1}, tgt), Ids({32, longest + 1}, targets), {.ignore_id = 0}));
    adam.step();
    adam.zero_grad();
  }
  return model;
}

}  // namespace decoding
