#pragma once
#include <cstdint>
#include <string>
#include <tapeform/core/random.hpp>
#include <utility>
#include <vector>

#include "text/grammar/phrases.hpp"

/// German sentences with their English translations, made by a grammar of both languages: endless, exact, with known word alignments.
/// `docs/grammar.md` says what it covers.
namespace examples::grammar {

struct Example {
  std::string german, english;                      ///< words and marks parted by spaces
  std::vector<std::pair<int, int>> alignment = {};  ///< words (German, English) that translate each other, from 0
  std::vector<std::pair<int, int>> possible = {};   ///< those, and pairs that do so in part: ruft ~ phones, an ~ phones; hat ~ saw
  bool held_out = false;                            ///< holds a combination of words that is kept out of training
};

/// What a clause says, in both languages.
Example say(const Clause& clause);

/// Draws sentences: the same ones from the same seed, on every machine.
class Generator {
 public:
  explicit Generator(std::uint64_t seed);
  Example next();
  /// What the next sentence says.
  Clause draw();

 private:
  tapeform::Rng rng_;
};

/// True for one in twelve combinations of an adjective with a noun, a verb with its subject, a verb with its object: training has none
/// of them, every held-out sentence has one.
bool held_out_combination(const std::string& word, const std::string& noun);
/// True where one is in the clause, or in one that hangs on it.
bool held_out(const Clause& clause);

struct Corpus {
  std::vector<Example> train, valid, test;
};
/// No sentence of either language stands in two of the three; no German sentence stands twice. @throws tapeform::ValueError for more
/// sentences than the grammar yields in reasonable time.
Corpus corpus(std::uint64_t seed, std::int64_t train, std::int64_t valid, std::int64_t test);

}  // namespace examples::grammar
