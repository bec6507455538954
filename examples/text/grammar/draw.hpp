#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tapeform/core/random.hpp>
#include <vector>

#include "text/grammar/phrases.hpp"

namespace examples::grammar {

/// What a noun phrase may be.
struct PhraseLimits {
  bool pronouns = false, names = false;
  bool subject = false;                    ///< may have a partner; pronouns of every person
  bool relative = false;                   ///< may have a relative clause
  bool owner = false;                      ///< may have a genitive
  bool negative = false;                   ///< may be `kein`
  const NounPhrase* other_than = nullptr;  ///< a pronoun of the same first or second person would have to be reflexive
};

/// Draws what a sentence says, part by part.
class Draft {
 public:
  explicit Draft(tapeform::Rng& rng) : rng_(rng) {}

  Clause main_clause();

 private:
  bool chance(int percent) { return rng_.below(100) < percent; }
  /// The k-th word with a weight of about 1/k, as words of a language come (Zipf, "Human Behavior and the Principle of Least Effort",
  /// 1949).
  template <class T>
  const T& choose(const std::vector<T>& list) {
    const auto places = static_cast<double>(list.size());
    const auto place = static_cast<std::size_t>(std::pow(places + 1, rng_.uniform()) - 1);
    return list[std::min(place, list.size() - 1)];
  }
  template <class T>
  const T& any(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(list.size())))];
  }

  NounPhrase phrase(Kind kind, const PhraseLimits& limits);
  NounPhrase pronoun(const PhraseLimits& limits);
  void determine(NounPhrase& phrase, const PhraseLimits& limits);
  void describe(NounPhrase& phrase);
  void extend(NounPhrase& phrase, const PhraseLimits& limits);
  void relate(NounPhrase& phrase);

  /// A clause around a verb of the frame, with its subject and objects; `deep`: below another clause.
  Clause clause(Frame frame, bool deep);
  Clause be(bool deep);
  Clause any_clause(bool deep);
  NounPhrase subject(Kind kind, bool deep);
  void add_object(Clause& clause, Kind kind, bool deep, bool pronouns);
  void add_place(Clause& clause, bool towards);
  void choose_tense(Clause& clause);
  void modify(Clause& clause, bool deep);
  void choose_mood(Clause& clause);
  void choose_front(Clause& clause);
  Kind kind_for(Frame frame, bool of_object);
  int next_id() { return ids_++; }

  tapeform::Rng& rng_;
  int ids_ = 1;
};

/// True where the accusative shows: the sentence says who does what to whom, whatever stands first.
bool shows_accusative(const NounPhrase& phrase);
/// True where the nominative shows.
bool shows_nominative(const NounPhrase& phrase);

}  // namespace examples::grammar
