#pragma once
#include <cstdint>
#include <optional>
#include <tapeform/nn/generate.hpp>
#include <vector>

namespace tapeform::nn {

struct BeamOptions {
  Dim beam = 4;                         ///< sequences of a sample that go on at the same time
  Dim n_best = 1;                       ///< how many come back of each sample, at most `beam`
  std::optional<Dim> max_new_ids = {};  ///< none: as many as the model has room for, max_len or what a prompt leaves of it
  std::int64_t start_id = 0;            ///< what a target of Seq2Seq begins with; not part of the result
  std::int64_t end_id = -1;             ///< a sequence ends with it; −1: none
  double length_penalty = 0.6;          ///< α below; 0: the log-probability itself is the score
  double length_offset = 5;             ///< o below; with 0 and α = 1 the score is the log-probability a id
  bool stop_early = false;  ///< a sample is done with its n_best-th end, whatever could still come: faster, and may lose a better one
  DecodingRules rules = {};
  Ids prompt_lens = {};  ///< [B], of a CausalLM, as GreedyOptions'
};

struct Hypothesis {
  std::vector<std::int64_t> ids;  ///< with the end id where it ended, without start id and prompt
  double score = 0;
  double log_probability = 0;  ///< Σ log p of the ids, the end among them
  bool ended = false;          ///< false: it was cut at max_new_ids
};

/// Beam search: of all continuations of a sample's sequences by one id, the `beam` most likely go on; those that end are hypotheses, and so
/// are those that reach max_new_ids (with none, a hypothesis of no ids). For every sample its n_best, the best first; fewer when there are
/// no more.
///
///     score = log p(ids) / ((o + |ids|)/(o + 1))^α     |ids| counts the end id
///
/// A sample is done when no sequence that goes on could reach the score of its n_best-th hypothesis even if every id to come were certain,
/// so that nothing is lost against a search up to max_new_ids. A beam of 1 is `generate`. Among equals, the sequence that stood higher
/// before comes first, then the lower id. A sample's result does not depend on the others in the batch, but for the rounding of their
/// products. Source: Wu et al., "Google's Neural Machine Translation System", 2016, section 7.
/// @throws ValueError for options out of range, and as `generate`.
std::vector<std::vector<Hypothesis>> beam_search(const Seq2Seq& model, const Ids& src, const Ids& src_lens,
                                                 const BeamOptions& options = {});
/// The same for continuations of prompts [B, T]; scores are those of the new ids.
std::vector<std::vector<Hypothesis>> beam_search(const CausalLM& model, const Ids& prompt, const BeamOptions& options = {});
/// The same from where a decoder stands, for models of your own; `start_id` and `prompt_lens` are the decoder's matter.
std::vector<std::vector<Hypothesis>> beam_search(Decoder& decoder, const BeamOptions& options = {});

}  // namespace tapeform::nn
