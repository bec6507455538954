#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "text/alignment.hpp"
#include "text/vocabularies.hpp"

namespace examples::translate {

/// A sentence and its translation as the model's pieces, with the word that each piece belongs to: words are parted by whitespace, −1 is a
/// piece of none.
struct PiecedPair {
  std::vector<std::int64_t> source, target;  ///< eos at the end of the source; no bos
  std::vector<int> source_words, target_words;
};
PiecedPair pieced(const text::Vocabularies& vocabularies, const std::string& source, const std::string& target, std::int64_t max_ids);

/// A piece that begins with a space, or comes after one, begins a word; one that is all space, or special, is part of none.
std::vector<int> words_of_pieces(std::span<const std::string> surfaces);

/// The cross-attention of all heads while the model is told the translation: for each decoder layer [H, Tq, Tk], where row t is what was
/// looked at when target piece t was predicted.
std::vector<tapeform::Array> cross_weights(const tapeform::nn::Seq2Seq& model, const PiecedPair& pair);

/// How much each word of the translation looks at each word of the source, [target words, source words]: a head's weights, added up over
/// the pieces of the source word and averaged over those of the target word. What is part of no word is left out, so rows may sum to less
/// than 1.
tapeform::Array word_weights(const tapeform::Array& weights, tapeform::Dim head, const PiecedPair& pair);

/// For each word of the translation the word of the source that it looks at most; none for one that looks at nothing.
text::WordAlignment word_links(const tapeform::Array& weights, tapeform::Dim head, const PiecedPair& pair);

/// One head of the cross-attention, counted from 0.
struct Head {
  tapeform::Dim layer = 0, head = 0;
  std::string text() const;  ///< `cross-attention layer 1 head 2`
};

/// How far the links of every head are from gold on a set of sentences, and which head is nearest.
struct HeadErrors {
  std::vector<Head> heads;
  std::vector<double> error_rates;
  std::size_t best() const;
  double of(const Head& head) const;
};
HeadErrors head_errors(const tapeform::nn::Seq2Seq& model, const text::Vocabularies& vocabularies, const text::ParallelText& text,
                       const std::vector<text::WordAlignment>& gold);

}  // namespace examples::translate
