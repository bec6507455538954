#pragma once
#include <algorithm>
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
  /// The first ones more often than the last: the first third seven times in ten.
  template <class T>
  const T& choose(const std::vector<T>& list) {
    auto place = static_cast<std::int64_t>(list.size()) - 1;
    for (int draw = 0; draw < 3; ++draw) place = std::min(place, rng_.below(static_cast<std::int64_t>(list.size())));
    return list[static_cast<std::size_t>(place)];
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
