#pragma once
#include <string>
#include <utility>
#include <vector>

namespace examples::grammar {

/// The part of a phrase or clause that a word stands for.
enum class Part {
  article,
  number,
  first_adjective,
  second_adjective,
  noun,
  of,
  coordinator,
  relative_pronoun,
  preposition,
  verb,
  auxiliary,
  particle,
  negation,
  often,
  predicate,
  than,
  link,
  circumstance_link,
  comma,
  end,
  expletive,
  question_word,
  time  // and the parts of a phrase of time above it
};

inline int part_of(int id, Part part, int further = 0) { return id * 64 + static_cast<int>(part) + further; }

/// A sentence that grows word by word; every word knows what it surely and what it possibly stands for.
struct Line {
  struct Word {
    std::string text;
    std::vector<int> sure, possible;
  };
  std::vector<Word> words;

  /// A `_` in the text parts words, which all stand for the same.
  void add(const std::string& text, std::vector<int> sure, std::vector<int> possible = {});
  /// A comma that stays unless another mark follows or it comes first.
  void comma(std::vector<int> sure = {}) { add(",", std::move(sure)); }
  /// Ends the sentence: one mark where several meet, a capital at its beginning.
  void finish(const char* mark, int id);
  std::string text() const;
};

/// Pairs of words (German, English) that share a sure part, and those that share any.
struct Links {
  std::vector<std::pair<int, int>> sure, possible;
};
Links links(const Line& german, const Line& english);

}  // namespace examples::grammar
