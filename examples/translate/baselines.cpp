#include "translate/baselines.hpp"

#include <map>

#include "text/tokenizers.hpp"

namespace examples::translate {

static std::vector<std::string> words_of(const std::string& sentence) { return text::words(sentence, text::Tokenizer::none); }

std::vector<std::string> word_by_word(const TrainingText& text, const std::vector<std::string>& sentences) {
  std::map<std::string, std::map<std::string, int>> counts;
  for (std::size_t i = 0; i < text.corpus.train.size(); ++i) {
    const std::vector<std::string> source = words_of(text.corpus.train.source[i]), target = words_of(text.corpus.train.target[i]);
    for (const auto& [s, t] : text.train_gold[i].sure) ++counts[source[static_cast<std::size_t>(s)]][target[static_cast<std::size_t>(t)]];
  }
  std::map<std::string, std::string> dictionary;
  for (const auto& [word, translations] : counts) {
    int most = 0;
    for (const auto& [translation, count] : translations)
      if (count > most) {
        most = count;
        dictionary[word] = translation;
      }
  }
  std::vector<std::string> translated;
  for (const std::string& sentence : sentences) {
    std::string line;
    for (const std::string& word : words_of(sentence)) {
      const auto found = dictionary.find(word);
      line += (line.empty() ? "" : " ") + (found == dictionary.end() ? word : found->second);
    }
    translated.push_back(line);
  }
  return translated;
}

}  // namespace examples::translate
