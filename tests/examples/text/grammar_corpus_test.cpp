#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "text/grammar/grammar.hpp"
#include "text/grammar/lexicon.hpp"

using namespace examples::grammar;

namespace {

std::vector<std::string> words_of(const std::string& sentence) {
  std::istringstream stream(sentence);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// The dictionary's form of every form that belongs to one word alone.
class Lemmas {
 public:
  void add(const std::string& form, const std::string& lemma) {
    const auto [known, fresh] = lemmas_.emplace(form, lemma);
    if (!fresh && known->second != lemma) known->second.clear();
  }
  /// Empty for a form of no word, or of several.
  std::string of(const std::string& form) const {
    const auto found = lemmas_.find(form);
    return found == lemmas_.end() ? "" : found->second;
  }

 private:
  std::map<std::string, std::string> lemmas_;
};

/// Adjectives that stand before their nouns in some sentences, read off the text: (adjective, noun) → how often.
std::map<std::pair<std::string, std::string>, int> combinations(const std::vector<Example>& part) {
  Lemmas adjectives, nouns;
  for (const auto& table : lexicon().adjectives)
    for (const Adjective& adjective : table)
      for (const char* ending : {"e", "en", "er", "es", "em"}) adjectives.add(adjective.stem + ending, adjective.german);
  for (const Noun& noun : lexicon().nouns)
    for (const std::string& form : {noun.singular, noun.oblique, noun.genitive, noun.plural, noun.plural + "n"})
      nouns.add(form, noun.singular);
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const Example& example : part) {
    const auto words = words_of(example.german);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const std::pair pair(adjectives.of(words[i]), nouns.of(words[i + 1]));
      if (!pair.first.empty() && !pair.second.empty()) ++counts[pair];
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("grammar: a seed gives the same corpus, another seed another one") {
  const Corpus one = corpus(1, 50, 10, 10), again = corpus(1, 50, 10, 10), other = corpus(2, 50, 10, 10);
  REQUIRE(one.train.size() == 50);
  REQUIRE(one.valid.size() == 10);
  REQUIRE(one.test.size() == 10);
  for (std::size_t i = 0; i < 50; ++i) CHECK(one.train[i].german == again.train[i].german);
  CHECK(one.train[0].german != other.train[0].german);
}

TEST_CASE("grammar: held-out sentences are new in both languages, and each holds a combination that training has not") {
  const Corpus made = corpus(3, 5000, 300, 300);
  std::set<std::string> german, train_english;
  const auto distinct = [&german](const std::vector<Example>& part) {
    return std::ranges::all_of(part, [&german](const Example& example) { return german.insert(example.german).second; });
  };
  CHECK(distinct(made.train));
  CHECK(distinct(made.valid));
  CHECK(distinct(made.test));
  for (const Example& example : made.train) train_english.insert(example.english);
  CHECK(std::ranges::none_of(made.train, &Example::held_out));
  std::set<std::string> valid_english;
  for (const auto* part : {&made.valid, &made.test}) {
    CHECK(std::ranges::all_of(*part, &Example::held_out));
    CHECK(std::ranges::none_of(*part, [&](const Example& example) { return train_english.contains(example.english); }));
  }
  for (const Example& example : made.valid) valid_english.insert(example.english);
  CHECK(std::ranges::none_of(made.test, [&](const Example& example) { return valid_english.contains(example.english); }));
}

TEST_CASE("grammar: by the words of the sentences themselves, no held-out combination is in training, and tests ask for many of them") {
  const Corpus made = corpus(3, 5000, 300, 300);
  const auto train = combinations(made.train), test = combinations(made.test);
  CHECK(train.size() > 1000);
  int held_out = 0;
  for (const auto& [pair, count] : train) held_out += held_out_combination(pair.first, pair.second);
  CHECK(held_out == 0);
  int asked = 0;
  for (const auto& [pair, count] : test)
    if (held_out_combination(pair.first, pair.second)) {
      CHECK_FALSE(train.contains(pair));
      ++asked;
    }
  CHECK(asked > 50);
}

TEST_CASE("grammar: one German sentence has one translation") {
  Generator generator(4);
  std::map<std::string, std::string> translation;
  for (int i = 0; i < 15'000; ++i) {
    const Example example = generator.next();
    const auto [known, fresh] = translation.emplace(example.german, example.english);
    if (!fresh && known->second != example.english) FAIL_CHECK(example.german << " | " << known->second << " | " << example.english);
  }
  CHECK(translation.size() > 14'000);
}

TEST_CASE("grammar: three thousand word types, sentences of sane length, alignments inside them") {
  Generator generator(5);
  std::set<std::string> german, english;
  std::size_t words = 0, longest = 0, unaligned = 0;
  constexpr int sentences = 15'000;
  for (int i = 0; i < sentences; ++i) {
    const Example example = generator.next();
    const auto de = words_of(example.german), en = words_of(example.english);
    german.insert(de.begin(), de.end());
    english.insert(en.begin(), en.end());
    words += en.size();
    longest = std::max(longest, de.size());
    std::vector<bool> aligned(en.size(), false);
    REQUIRE(std::ranges::includes(example.possible, example.alignment));
    for (const auto& [g, e] : example.possible) {
      REQUIRE(g >= 0);
      REQUIRE(static_cast<std::size_t>(g) < de.size());
      aligned.at(static_cast<std::size_t>(e)) = true;
    }
    unaligned += static_cast<std::size_t>(std::ranges::count(aligned, false));
  }
  CHECK(german.size() > 3700);
  CHECK(english.size() > 2500);
  CHECK(unaligned == 0);  // every English word comes from somewhere
  CHECK(words > 7 * sentences);
  CHECK(words < 14 * sentences);
  CHECK(longest < 50);
}

TEST_CASE("grammar: a comma stands before every subordinate clause, none before another mark, and sentences end") {
  Generator generator(6);
  for (int i = 0; i < 5000; ++i) {
    const Example example = generator.next();
    INFO(example.german);
    const auto words = words_of(example.german);
    REQUIRE((words.back() == "." || words.back() == "?"));
    REQUIRE(std::ranges::count(words, ".") + std::ranges::count(words, "?") == 1);
    for (std::size_t w = 1; w < words.size(); ++w) {
      for (const char* word : {"dass", "weil", "obwohl", "bevor", "falls", "sobald"})
        if (words[w] == word) REQUIRE(words[w - 1] == ",");
      if (words[w] == "," || w + 1 == words.size()) REQUIRE(words[w - 1] != ",");
    }
  }
}
