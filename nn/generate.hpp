#pragma once
#include <cstdint>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/seq2seq.hpp>

namespace tapeform::nn {

struct GreedyOptions {
  Dim max_new_ids = 64;
  std::int64_t start_id = 0;  ///< what a target of Seq2Seq begins with; not part of the result
  std::int64_t end_id = -1;   ///< a sequence ends with it and is filled up with it; −1: none
};

/// The most likely next id, one at a time, from `start_id` on (ties: the lowest): src [B, S], src_lens [B] → [B, n], n ≤ max_new_ids;
/// fewer when every sequence has ended. Nothing is recorded, whatever tape is there.
/// @throws ValueError when max_new_ids is negative or over the model's max_len, or logits hold NaN.
Ids generate(const Seq2Seq& model, const Ids& src, const Ids& src_lens, const GreedyOptions& options = {});

/// The same for a language model: prompt [B, T] (T ≥ 1) → [B, n], without the prompt. The model reads the last `max_len` ids.
Ids generate(const CausalLM& model, const Ids& prompt, const GreedyOptions& options = {});

struct SamplingOptions {
  Dim max_new_ids = 64;
  double temperature = 1.0;  ///< logits are divided by it; 0: the most likely
  Dim top_k = 0;             ///< only the k most likely ids; 0: all
  double top_p = 1.0;        ///< only the most likely ids whose probabilities first add up to p (Holtzman et al., 2020)
  std::int64_t end_id = -1;
};

/// Ids drawn from softmax(logits/temperature) among the top k, then among the top p: one number of `rng` for every id.
/// @throws ValueError for options out of range, or logits that hold NaN.
Ids generate(const CausalLM& model, const Ids& prompt, Rng& rng, const SamplingOptions& options = {});

/// One id from a row of logits [V], as above. @throws ShapeError unless logits have one axis with at least one element, ValueError.
std::int64_t sample_id(const Array& logits, Rng& rng, const SamplingOptions& options = {});

}  // namespace tapeform::nn
