#include "translate/alignment.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "translate/translator.hpp"

namespace examples::translate {

using namespace tapeform;

std::vector<int> words_of_pieces(std::span<const std::string> surfaces) {
  std::vector<int> words;
  int word = -1;
  bool between = true;
  for (const std::string& surface : surfaces) {
    int first = -1;
    for (const char letter : surface) {
      const bool space = letter == ' ' || (letter >= '\t' && letter <= '\r');
      if (!space && between) ++word;
      if (!space && first < 0) first = word;
      between = space;
    }
    words.push_back(first);
  }
  return words;
}

static std::vector<int> words_of(const text::Subwords& subwords, const std::vector<std::int64_t>& ids) {
  std::vector<std::string> surfaces;
  for (const std::int64_t id : ids) surfaces.push_back(subwords.surface(id));
  return words_of_pieces(surfaces);
}

PiecedPair pieced(const text::Vocabularies& vocabularies, const std::string& source, const std::string& target, std::int64_t max_ids) {
  PiecedPair pair{.source = source_ids(vocabularies, source, max_ids),
                  .target = vocabularies.target.encode(target),
                  .source_words = {},
                  .target_words = {}};
  if (static_cast<std::int64_t>(pair.target.size()) > max_ids) pair.target.resize(static_cast<std::size_t>(max_ids));
  pair.source.push_back(text::eos_id);
  pair.source_words = words_of(vocabularies.source, pair.source);
  pair.target_words = words_of(vocabularies.target, pair.target);
  return pair;
}

std::vector<Array> cross_weights(const nn::Seq2Seq& model, const PiecedPair& pair) {
  std::vector<std::int64_t> input{text::bos_id};
  input.insert(input.end(), pair.target.begin(), pair.target.end());
  const nn::AttentionRecorder recorder(model);
  model.decode(Ids(Shape{1, static_cast<Dim>(input.size())}, input),
               model.encode(Ids(Shape{1, static_cast<Dim>(pair.source.size())}, pair.source), Ids()), Ids());
  std::vector<Array> layers;
  for (const std::string& name : recorder.names(nn::AttentionKind::cross)) {
    const Array& weights = recorder[name];  // [1, H, Tq, Tk]
    layers.push_back(weights.reshape({weights.dim(1), weights.dim(2), weights.dim(3)}));
  }
  return layers;
}

Array word_weights(const Array& weights, Dim head, const PiecedPair& pair) {
  const auto count = [](const std::vector<int>& words) { return words.empty() ? 0 : *std::ranges::max_element(words) + 1; };
  const Dim source_words = count(pair.source_words), target_words = count(pair.target_words);
  Array looks = Array::zeros({target_words, source_words}, DType::float64);
  double* const to = looks.mutable_data<double>();
  for (std::size_t t = 0; t < pair.target_words.size(); ++t) {
    const int word = pair.target_words[t];
    if (word < 0) continue;
    const auto pieces = static_cast<double>(std::ranges::count(pair.target_words, word));
    for (std::size_t s = 0; s < pair.source_words.size(); ++s)
      if (pair.source_words[s] >= 0)
        to[word * source_words + pair.source_words[s]] += weights.at({head, static_cast<Dim>(t), static_cast<Dim>(s)}) / pieces;
  }
  return looks;
}

text::WordAlignment word_links(const Array& weights, Dim head, const PiecedPair& pair) {
  const Array looks = word_weights(weights, head, pair);
  const Dim source_words = looks.dim(1);
  text::WordAlignment links;
  for (Dim word = 0; word < looks.dim(0); ++word) {
    const double* const row = looks.data<double>() + word * source_words;
    const double* const most = std::max_element(row, row + source_words);
    if (most != row + source_words && *most > 0) links.sure.emplace_back(static_cast<int>(most - row), static_cast<int>(word));
  }
  return links;
}

std::string Head::text() const { return fmt::format("cross-attention layer {} head {}", layer, head); }

HeadErrors head_errors(const nn::Seq2Seq& model, const text::Vocabularies& vocabularies, const text::ParallelText& text,
                       const std::vector<text::WordAlignment>& gold) {
  HeadErrors errors;
  std::vector<std::vector<text::WordAlignment>> links;  // of every head, sentence by sentence
  for (std::size_t i = 0; i < text.size(); ++i) {
    const PiecedPair pair = pieced(vocabularies, text.source[i], text.target[i], model.max_len() - 1);
    const std::vector<Array> layers = cross_weights(model, pair);
    std::size_t at = 0;
    for (std::size_t layer = 0; layer < layers.size(); ++layer)
      for (Dim head = 0; head < layers[layer].dim(0); ++head, ++at) {
        if (i == 0) {
          errors.heads.push_back({static_cast<Dim>(layer), head});
          links.emplace_back();
        }
        links[at].push_back(word_links(layers[layer], head, pair));
      }
  }
  for (const std::vector<text::WordAlignment>& proposed : links)
    errors.error_rates.push_back(text::alignment_error_rate(proposed, gold).error_rate);
  return errors;
}

std::size_t HeadErrors::best() const {
  return static_cast<std::size_t>(std::min_element(error_rates.begin(), error_rates.end()) - error_rates.begin());
}

double HeadErrors::of(const Head& head) const {
  const auto same = [&head](const Head& other) { return other.layer == head.layer && other.head == head.head; };
  return error_rates.at(static_cast<std::size_t>(std::ranges::find_if(heads, same) - heads.begin()));
}

}  // namespace examples::translate
