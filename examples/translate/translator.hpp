#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "text/vocabularies.hpp"

namespace examples::translate {

struct TranslateOptions {
  std::int64_t beam = 4, nbest = 1;
  double length_penalty = 0.6;
  std::int64_t batch_ids = 4000;  ///< rows of all beams times the longest sentence
};

struct Translation {
  std::string text;
  std::vector<std::int64_t> ids;  ///< without bos and eos
  double score = 0;               ///< the beam search's; 0 of a greedy one
};

struct Translations {
  std::vector<std::vector<Translation>> sentences;  ///< for each line its n best, one at least
  std::vector<std::size_t> cut;                     ///< lines that were too long for the model: only their first ids were read
};

/// The source ids of a line, without eos, as the model is to read them; at most max_ids.
std::vector<std::int64_t> source_ids(const text::Vocabularies& vocabularies, const std::string& line, std::int64_t max_ids,
                                     bool* cut = nullptr);

/// Translates lines, in batches of sentences of about the same length. A line without text has an empty translation.
/// @throws UsageError for a line that is not UTF-8.
Translations translate(const tapeform::nn::Seq2Seq& model, const text::Vocabularies& vocabularies, std::span<const std::string> lines,
                       const TranslateOptions& options);

/// The best translation of each line.
std::vector<std::string> best_texts(const Translations& translations);

}  // namespace examples::translate
