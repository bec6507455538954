#pragma once
#include <string>
#include <tapeform/nn/seq2seq.hpp>
#include <vector>

#include "text/bleu.hpp"
#include "text/parallel.hpp"
#include "text/vocabularies.hpp"
#include "translate/recipe.hpp"

namespace examples::translate {

struct Sample {
  std::string source, reference, translation;
};

/// How good a model is on sentences that it has not learned from.
struct Validation {
  double loss = 0;              ///< a target id, in nats, without smoothing
  text::BleuResult bleu;        ///< of greedy translations
  std::vector<Sample> samples;  ///< three of them, the same ones every time
};

/// The part of a corpus that is looked at after every epoch, as ids once.
class Validator {
 public:
  /// @throws UsageError when there is nothing to validate on.
  Validator(const text::ParallelText& text, const text::Vocabularies& vocabularies, const Recipe& recipe);
  Validation operator()(const tapeform::nn::Seq2Seq& model) const;

 private:
  const text::ParallelText& text_;
  const text::Vocabularies& vocabularies_;
  Recipe recipe_;
  text::EncodedPairs pairs_;
};

text::BleuOptions bleu_options(const Recipe& recipe);

}  // namespace examples::translate
