#pragma once
#include <string>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "translate/loaded.hpp"
#include "translate/sources.hpp"

namespace examples::translate {

/// One head of one cross-attention.
struct Head {
  std::string module;
  tapeform::Dim head = 0;
};

/// A sentence and its translation as the model's pieces, with the word that each piece belongs to.
struct PiecedPair {
  std::vector<std::int64_t> source, target;  ///< eos at the end of the source; no bos
  std::vector<int> source_words, target_words;
};
PiecedPair pieced(const text::Vocabularies& vocabularies, const std::string& source, const std::string& target, std::int64_t max_ids);

/// The cross-attention of all heads while the model is told the translation: for each decoder layer [H, Tq, Tk], where row t is what was
/// looked at when target piece t was predicted.
struct CrossWeights {
  std::vector<std::string> modules;
  std::vector<tapeform::Array> weights;
};
CrossWeights cross_weights(const tapeform::nn::Seq2Seq& model, const PiecedPair& pair);

/// The words that a head's weights put together: for each word of the translation the word of the source that its pieces, together, look at
/// most.
text::WordAlignment word_links(const tapeform::Array& weights, tapeform::Dim head, const PiecedPair& pair);

/// How far the links of every head are from gold on a set of sentences, and which head is nearest.
struct HeadErrors {
  std::vector<Head> heads;
  std::vector<double> error_rates;
  std::size_t best() const;
};
HeadErrors head_errors(const tapeform::nn::Seq2Seq& model, const text::Vocabularies& vocabularies, const text::ParallelText& text,
                       const std::vector<text::WordAlignment>& gold);

}  // namespace examples::translate
