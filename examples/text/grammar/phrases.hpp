#pragma once
#include <string>
#include <utility>
#include <vector>

#include "text/grammar/german.hpp"
#include "text/grammar/lexicon.hpp"

/// What a pair of sentences says, before it is said in either language.
namespace examples::grammar {

enum class Determiner { bare, definite, indefinite, no, demonstrative, every, number, my, your, his, her, our };
enum class Head { noun, name, pronoun, who, it };  ///< `it` rains

struct Clause;

/// Whoever makes a phrase or a clause gives it an id of its own: the words that the two languages use for one part of it are aligned.
struct NounPhrase {
  int id = 0;
  Head head = Head::noun;
  const Noun* noun = nullptr;
  std::string name;
  Person person = Person::third;      // of a pronoun
  Gender gender = Gender::masculine;  // of a pronoun or a noun to which a relative pronoun points
  Number number = Number::singular;
  Determiner determiner = Determiner::bare;
  int count = 0;  // for Determiner::number
  std::vector<const Adjective*> adjectives;
  std::vector<NounPhrase> owner;    // none or one: des Mannes
  std::vector<NounPhrase> partner;  // none or one: und die Frau
  std::vector<Clause> relative;     // none or one

  Number agreeing_number() const { return partner.empty() ? number : Number::plural; }
};

struct Preposition {
  const char *german, *english;  // a `_` parts words
  Case governs;
};

struct PlacePhrase {
  int id = 0;
  const Preposition* preposition = nullptr;
  std::string german, english;  // a city; or
  std::vector<NounPhrase> phrase;
};

/// A fixed phrase of time: words of both languages and which belong together.
struct TimePhrase {
  std::string german, english;  // a `_` parts words
  std::vector<std::pair<int, int>> links;
};

enum class Tense { present, past, future, can, must, should, want };
enum class Gap { none, subject, object };                         ///< what a relative pronoun stands for
enum class Front { subject, object, time, place, circumstance };  ///< another than the subject in main statements alone
enum class Mood { statement, question, where, when, why };

struct Conjunction {
  const char *german, *english;
};

struct Clause {
  int id = 0;
  const Verb* verb = nullptr;            // none: be
  const Adjective* predicate = nullptr;  // of be
  std::vector<NounPhrase> compared;      // older than
  NounPhrase subject;
  std::vector<NounPhrase> recipient, object;  // none or one each
  Case object_case = Case::accusative;
  std::vector<PlacePhrase> places;
  const TimePhrase* time = nullptr;
  const Conjunction* often = nullptr;  // an adverb of frequency
  Tense tense = Tense::present;
  bool negated = false;
  Gap gap = Gap::none;
  Front front = Front::subject;
  Mood mood = Mood::statement;
  const Conjunction *content_word = nullptr, *circumstance_word = nullptr;
  std::vector<Clause> content, circumstance;  // none or one each: dass …; weil …

  Person person() const { return subject.head == Head::pronoun && subject.partner.empty() ? subject.person : Person::third; }
  Number number() const { return subject.agreeing_number(); }
};

}  // namespace examples::grammar
