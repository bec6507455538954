#include "translate/alignment.hpp"

#include <algorithm>

namespace examples::translate {

using namespace tapeform;

namespace {

/// The word that each piece belongs to: a piece that begins with a space begins a word.
std::vector<int> words_of(const text::Subwords& subwords, const std::vector<std::int64_t>& ids) {
  std::vector<int> words;
  int word = -1;
  for (const std::int64_t id : ids) {
    if (word < 0 || subwords.surface(id).starts_with(' ')) ++word;
    words.push_back(word);
  }
  return words;
}

}  // namespace

PiecedPair pieced(const text::Vocabularies& vocabularies, const std::string& source, const std::string& target, std::int64_t max_ids) {
  PiecedPair pair{.source = source_ids(vocabularies, source, max_ids),
                  .target = vocabularies.target.encode(target),
                  .source_words = {},
                  .target_words = {}};
  if (static_cast<std::int64_t>(pair.target.size()) > max_ids) pair.target.resize(static_cast<std::size_t>(max_ids));
  pair.source_words = words_of(vocabularies.source, pair.source);
  pair.target_words = words_of(vocabularies.target, pair.target);
  pair.source.push_back(text::eos_id);
  return pair;
}

CrossWeights cross_weights(const nn::Seq2Seq& model, const PiecedPair& pair) {
  std::vector<std::int64_t> input{text::bos_id};
  input.insert(input.end(), pair.target.begin(), pair.target.end());
  const nn::AttentionRecorder recorder(model);
  model.decode(Ids(Shape{1, static_cast<Dim>(input.size())}, input),
               model.encode(Ids(Shape{1, static_cast<Dim>(pair.source.size())}, pair.source), Ids()), Ids());
  CrossWeights cross;
  for (const std::string& name : recorder.names()) {
    if (!name.ends_with("multihead_attn")) continue;
    const Array& weights = recorder[name];  // [1, H, Tq, Tk]
    cross.modules.push_back(name);
    cross.weights.push_back(weights.reshape({weights.dim(1), weights.dim(2), weights.dim(3)}));
  }
  return cross;
}

text::WordAlignment word_links(const Array& weights, Dim head, const PiecedPair& pair) {
  text::WordAlignment links;
  const int source_words = pair.source_words.empty() ? 0 : pair.source_words.back() + 1;
  std::vector<double> looks(static_cast<std::size_t>(source_words));
  for (std::size_t first = 0; first < pair.target_words.size();) {
    std::fill(looks.begin(), looks.end(), 0.0);
    const int word = pair.target_words[first];
    for (; first < pair.target_words.size() && pair.target_words[first] == word; ++first)
      for (std::size_t s = 0; s < pair.source_words.size(); ++s)
        looks[static_cast<std::size_t>(pair.source_words[s])] += weights.at({head, static_cast<Dim>(first), static_cast<Dim>(s)});
    const auto most = std::max_element(looks.begin(), looks.end());
    if (most != looks.end()) links.sure.emplace_back(static_cast<int>(most - looks.begin()), word);
  }
  return links;
}

HeadErrors head_errors(const nn::Seq2Seq& model, const text::Vocabularies& vocabularies, const text::ParallelText& text,
                       const std::vector<text::WordAlignment>& gold) {
  HeadErrors errors;
  std::vector<std::vector<text::WordAlignment>> links;  // of every head, sentence by sentence
  for (std::size_t i = 0; i < text.size(); ++i) {
    const PiecedPair pair = pieced(vocabularies, text.source[i], text.target[i], model.max_len() - 1);
    const CrossWeights cross = cross_weights(model, pair);
    std::size_t at = 0;
    for (std::size_t layer = 0; layer < cross.modules.size(); ++layer)
      for (Dim head = 0; head < cross.weights[layer].dim(0); ++head, ++at) {
        if (i == 0) {
          errors.heads.push_back({cross.modules[layer], head});
          links.emplace_back();
        }
        links[at].push_back(word_links(cross.weights[layer], head, pair));
      }
  }
  for (const std::vector<text::WordAlignment>& proposed : links)
    errors.error_rates.push_back(text::alignment_error_rate(proposed, gold).error_rate);
  return errors;
}

std::size_t HeadErrors::best() const {
  return static_cast<std::size_t>(std::min_element(error_rates.begin(), error_rates.end()) - error_rates.begin());
}

}  // namespace examples::translate
