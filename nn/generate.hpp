#pragma once
#include <cstdint>
#include <optional>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/seq2seq.hpp>
#include <vector>

namespace tapeform::nn {

class Decoder;

/// Which ids may follow, whichever way they are chosen. Probabilities stay those of the model: nothing is spread over what remains.
struct DecodingRules {
  Dim min_new_ids = 0;                    ///< the end does not come before so many other ids
  Dim no_repeat_ngram = 0;                ///< so many ids in a row come once in a sequence, its prompt included; 0: no such rule
  std::vector<std::int64_t> banned = {};  ///< ids that never come
  /// [P] or [B, P]: what a sequence begins with, before any other rule; −1 leaves a place free. What lies beyond max_new_ids never comes.
  Ids prefix = {};
};

struct GreedyOptions {
  std::optional<Dim> max_new_ids = {};  ///< none: as many as the model has room for, max_len or what a prompt leaves of it
  std::int64_t start_id = 0;            ///< what a target of Seq2Seq begins with; not part of the result
  std::int64_t end_id = -1;             ///< a sequence ends with it and is filled up with it; −1: none
  DecodingRules rules = {};
  Ids prompt_lens = {};  ///< [B], of a CausalLM: what stands in a prompt beyond its length is not read; all are of length T when empty
};

/// The most likely next id, one at a time, from `start_id` on (ties: the lowest): src [B, S], src_lens [B] → [B, n], n ≤ max_new_ids;
/// fewer when every sequence has ended. The end id is part of the result and counts. Nothing is recorded, whatever tape is there.
///
/// Every step computes one position, on top of keys and values that are kept, and sequences that have ended leave the batch.
/// @throws ValueError when max_new_ids is negative or over the model's max_len, a rule does not fit or leaves no id, or logits hold NaN.
Ids generate(const Seq2Seq& model, const Ids& src, const Ids& src_lens, const GreedyOptions& options = {});

/// The same for a language model: prompt [B, T] (T ≥ 1) → [B, n], without the prompt. The model reads the last `max_len` ids.
Ids generate(const CausalLM& model, const Ids& prompt, const GreedyOptions& options = {});
/// The same from where a decoder stands, for models of your own; `start_id` and `prompt_lens` are the decoder's matter.
Ids generate(Decoder& decoder, const GreedyOptions& options = {});

struct SamplingOptions {
  std::optional<Dim> max_new_ids = {};
  double temperature = 1.0;  ///< logits are divided by it; 0: the most likely
  Dim top_k = 0;             ///< only the k most likely ids; 0: all
  double top_p = 1.0;        ///< only the most likely ids whose probabilities first add up to p (Holtzman et al., 2020)
  std::int64_t start_id = 0;
  std::int64_t end_id = -1;
  DecodingRules rules = {};
  Ids prompt_lens = {};
};

/// Ids drawn from softmax(logits/temperature) among the top k, then among the top p: one number of `rng` for every id.
/// @throws ValueError for options out of range, and as above.
Ids generate(const Seq2Seq& model, const Ids& src, const Ids& src_lens, Rng& rng, const SamplingOptions& options = {});
Ids generate(const CausalLM& model, const Ids& prompt, Rng& rng, const SamplingOptions& options = {});
Ids generate(Decoder& decoder, Rng& rng, const SamplingOptions& options = {});

/// One id from a row of logits [V], as above. @throws ShapeError unless logits have one axis with at least one element, ValueError.
std::int64_t sample_id(const Array& logits, Rng& rng, const SamplingOptions& options = {});

}  // namespace tapeform::nn
