#include "text/grammar/draw.hpp"

namespace examples::grammar {
namespace {

bool masculine_singular(const NounPhrase& phrase) {
  return phrase.head == Head::noun && phrase.noun != nullptr && phrase.noun->gender == Gender::masculine &&
         phrase.number == Number::singular;
}

}  // namespace

bool shows_accusative(const NounPhrase& phrase) {
  const bool he = phrase.head == Head::pronoun && phrase.person == Person::third && phrase.number == Number::singular &&
                  phrase.gender == Gender::masculine;
  return he || masculine_singular(phrase);
}

bool shows_nominative(const NounPhrase& phrase) {
  if (!phrase.partner.empty()) return false;
  const bool they_or_she = phrase.person == Person::third && (phrase.number == Number::plural || phrase.gender == Gender::feminine);
  return masculine_singular(phrase) || (phrase.head == Head::pronoun && !they_or_she);
}

NounPhrase Draft::pronoun(const PhraseLimits& limits) {
  NounPhrase drawn;
  drawn.id = next_id();
  drawn.head = Head::pronoun;
  do {
    drawn.person = static_cast<Person>(rng_.below(3));
    drawn.number = drawn.person != Person::second && chance(35) ? Number::plural : Number::singular;
    drawn.gender = chance(50) ? Gender::feminine : Gender::masculine;
    // As an object sie is one woman, never several people; nobody does anything to himself.
  } while ((!limits.subject && drawn.person == Person::third && drawn.number == Number::plural) ||
           (limits.other_than != nullptr && limits.other_than->head == Head::pronoun && drawn.person != Person::third &&
            drawn.person == limits.other_than->person));
  return drawn;
}

void Draft::determine(NounPhrase& phrase, const PhraseLimits& limits) {
  const std::int64_t draw = rng_.below(100);
  constexpr Determiner owners[] = {Determiner::my, Determiner::your, Determiner::his, Determiner::her, Determiner::our};
  const Determiner possessive = owners[rng_.below(5)];
  if (phrase.number == Number::singular) {
    phrase.determiner = draw < 48   ? Determiner::definite
                        : draw < 70 ? Determiner::indefinite
                        : draw < 84 ? possessive
                        : draw < 93 ? Determiner::demonstrative
                        : draw < 96 ? Determiner::every
                                    : Determiner::no;
  } else {
    phrase.determiner = draw < 40   ? Determiner::definite
                        : draw < 62 ? Determiner::number
                        : draw < 75 ? Determiner::bare
                        : draw < 87 ? possessive
                        : draw < 96 ? Determiner::demonstrative
                                    : Determiner::no;
    phrase.count = static_cast<int>(chance(60) ? 2 + rng_.below(11) : 13 + rng_.below(87));
  }
  if (phrase.determiner == Determiner::no && !limits.negative) phrase.determiner = Determiner::definite;
}

void Draft::describe(NounPhrase& phrase) {
  const auto& fitting = lexicon().adjectives_for(phrase.noun->kind);
  const std::int64_t draw = rng_.below(100);
  const std::size_t adjectives = draw < 58 ? 0 : draw < 92 ? 1 : 2;
  while (phrase.adjectives.size() < adjectives) {
    const Adjective* const adjective = choose(fitting);
    if (!phrase.adjectives.empty() && phrase.adjectives.front() == adjective) continue;
    phrase.adjectives.push_back(adjective);
  }
}

void Draft::extend(NounPhrase& phrase, const PhraseLimits& limits) {
  if (limits.relative && chance(13)) {
    relate(phrase);
  } else if (limits.owner && phrase.determiner == Determiner::definite && chance(18)) {
    NounPhrase owner = this->phrase(Kind::person, {});
    if (owner.determiner != Determiner::bare && owner.determiner != Determiner::number) phrase.owner.push_back(owner);
  } else if (limits.subject && chance(7) && phrase.determiner != Determiner::every && phrase.determiner != Determiner::no) {
    NounPhrase partner = this->phrase(phrase.noun->kind, {});
    if (partner.determiner != Determiner::every && partner.noun != phrase.noun) phrase.partner.push_back(partner);
  }
}

NounPhrase Draft::phrase(Kind kind, const PhraseLimits& limits) {
  if (kind == Kind::person && limits.pronouns && chance(20)) return pronoun(limits);
  NounPhrase drawn;
  drawn.id = next_id();
  if (kind == Kind::person && limits.names && chance(15)) {
    drawn.head = Head::name;
    drawn.name = any(lexicon().first_names);
    drawn.gender = Gender::feminine;  // no article shows its case
    return drawn;
  }
  static const auto by_kind = [] {
    std::vector<std::vector<const Noun*>> lists;
    for (int of_kind = 0; of_kind <= static_cast<int>(Kind::ground); ++of_kind)
      lists.push_back(lexicon().nouns_of(static_cast<Kind>(of_kind)));
    return lists;
  }();
  drawn.noun = choose(by_kind[static_cast<std::size_t>(kind)]);
  drawn.gender = drawn.noun->gender;
  drawn.number = chance(32) ? Number::plural : Number::singular;
  determine(drawn, limits);
  describe(drawn);
  extend(drawn, limits);
  return drawn;
}

void Draft::relate(NounPhrase& phrase) {
  const Kind kind = phrase.noun->kind;
  NounPhrase stub;  // what the relative pronoun stands for
  stub.id = next_id();
  stub.noun = phrase.noun;
  stub.gender = phrase.gender;
  stub.number = phrase.number;
  const bool person = kind == Kind::person, animal = kind == Kind::animal;
  Frame frame = person ? any(std::vector{Frame::treat_persons, Frame::perceive, Frame::treat_anything, Frame::dative})
                       : any(std::vector{Frame::perceive, Frame::treat_anything});
  if (kind == Kind::thing || kind == Kind::clothing) frame = any(std::vector{Frame::treat_things, frame});
  if (kind == Kind::food) frame = any(std::vector{Frame::treat_food, frame});
  if (kind == Kind::text) frame = any(std::vector{Frame::treat_texts, frame});
  const bool as_object = !(person || animal) || chance(50);
  Clause clause;
  if (as_object) {
    clause = this->clause(frame, true);
    const bool clear =
        shows_accusative(stub) || frame == Frame::dative || shows_nominative(clause.subject) || clause.number() != stub.number;
    if (!clear) return;
    clause.gap = Gap::object;
    clause.object = {stub};
  } else {
    const Frame does =
        animal ? Frame::animals_do : any(std::vector{Frame::persons_do, Frame::treat_things, Frame::treat_persons, Frame::animals_do});
    clause = this->clause(does, true);
    clause.gap = Gap::subject;
    clause.subject = stub;
  }
  phrase.relative.push_back(clause);
}

}  // namespace examples::grammar
