#include <algorithm>
#include <array>

#include "text/grammar/draw.hpp"
#include "text/grammar/time_phrases.hpp"

namespace examples::grammar {
namespace {

constexpr Preposition in_it{"in", "in", Case::dative}, on_it{"auf", "on", Case::dative}, into{"in", "into", Case::accusative};
constexpr Preposition to_city{"nach", "to", Case::dative}, from_city{"aus", "from", Case::dative}, to_person{"zu", "to", Case::dative};
constexpr std::array<Preposition, 5> around = {{{"vor", "in_front_of", Case::dative},
                                                {"hinter", "behind", Case::dative},
                                                {"neben", "next_to", Case::dative},
                                                {"unter", "under", Case::dative},
                                                {"über", "above", Case::dative}}};
constexpr std::array<Preposition, 3> with = {
    {{"mit", "with", Case::dative}, {"ohne", "without", Case::accusative}, {"für", "for", Case::accusative}}};

}  // namespace

/// Who does it, or to what it is done.
Kind Draft::kind_for(Frame frame, bool of_object) {
  const auto one_of = [this](std::initializer_list<Kind> kinds) { return any(std::vector<Kind>(kinds)); };
  if (!of_object) {
    const bool animals_too = frame == Frame::animals_do || frame == Frame::perceive;
    return animals_too ? one_of({Kind::person, Kind::animal}) : Kind::person;
  }
  switch (frame) {
    case Frame::perceive:
    case Frame::treat_anything:
      return one_of({Kind::person, Kind::person, Kind::animal, Kind::thing, Kind::clothing});
    case Frame::treat_things:
      return one_of({Kind::thing, Kind::thing, Kind::clothing});
    case Frame::treat_food:
      return Kind::food;
    case Frame::treat_texts:
      return Kind::text;
    case Frame::give:
      return one_of({Kind::thing, Kind::clothing, Kind::food, Kind::text});
    default:
      return Kind::person;
  }
}

NounPhrase Draft::subject(Kind kind, bool deep) {
  return phrase(kind, {.pronouns = true, .names = true, .subject = true, .relative = !deep});
}

void Draft::add_object(Clause& clause, Kind kind, bool deep, bool pronouns) {
  const bool dative = clause.object_case == Case::dative;
  NounPhrase object = phrase(kind, {.pronouns = pronouns,
                                    .names = pronouns,
                                    .relative = !deep,
                                    .owner = !dative && clause.recipient.empty(),
                                    .negative = !deep,
                                    .other_than = &clause.subject});
  clause.object.push_back(object);
}

void Draft::choose_tense(Clause& clause) {
  const std::int64_t draw = rng_.below(100);
  const bool wills = clause.verb != nullptr && clause.subject.head != Head::it;
  clause.tense = draw < 45             ? Tense::present
                 : draw < 75           ? Tense::past
                 : draw < 84 || !wills ? Tense::future
                                       : static_cast<Tense>(3 + rng_.below(4));
}

Clause Draft::clause(Frame frame, bool deep) {
  Clause drawn;
  drawn.id = next_id();
  drawn.verb = &choose(lexicon().verbs_of(frame));
  if (frame == Frame::weather) {
    drawn.subject.id = next_id();
    drawn.subject.head = Head::it;
  } else {
    drawn.subject = subject(kind_for(frame, false), deep);
  }
  choose_tense(drawn);
  if (frame == Frame::dative) drawn.object_case = Case::dative;
  if (frame == Frame::give)
    drawn.recipient.push_back(phrase(Kind::person, {.pronouns = true, .names = true, .other_than = &drawn.subject}));
  const bool has_object =
      frame != Frame::persons_do && frame != Frame::animals_do && frame != Frame::move && frame != Frame::say && frame != Frame::weather;
  if (has_object) add_object(drawn, kind_for(frame, true), deep, frame != Frame::give);
  if (frame == Frame::move)
    add_place(drawn, true);
  else if (frame != Frame::weather && frame != Frame::say && chance(has_object ? 12 : 40))
    add_place(drawn, false);
  if (frame == Frame::say) {
    static constexpr Conjunction that{"dass", "that"};
    drawn.content_word = &that;
    drawn.content.push_back(any_clause(true));
  }
  modify(drawn, deep);
  return drawn;
}

Clause Draft::be(bool deep) {
  Clause drawn;
  drawn.id = next_id();
  const Kind kind = static_cast<Kind>(rng_.below(8));
  drawn.subject = phrase(kind, {.pronouns = true, .names = true, .subject = true, .relative = !deep, .owner = true});
  const auto& fitting = lexicon().adjectives_for(kind);
  const bool comparing = chance(30);
  do {
    drawn.predicate = choose(fitting);
  } while (comparing && drawn.predicate->comparative.empty());
  if (comparing) drawn.compared.push_back(phrase(kind, {.names = true}));
  choose_tense(drawn);
  modify(drawn, deep);
  return drawn;
}

Clause Draft::any_clause(bool deep) {
  const std::int64_t draw = rng_.below(100);
  const auto among = [draw](std::int64_t below) { return draw < below; };
  if (among(13)) return be(deep);
  if (among(25)) return clause(Frame::persons_do, deep);
  if (among(32)) return clause(Frame::animals_do, deep);
  if (among(42)) return clause(Frame::perceive, deep);
  if (among(49)) return clause(Frame::treat_anything, deep);
  if (among(58)) return clause(Frame::treat_things, deep);
  if (among(66)) return clause(Frame::treat_persons, deep);
  if (among(70)) return clause(Frame::treat_food, deep);
  if (among(74)) return clause(Frame::treat_texts, deep);
  if (among(80)) return clause(Frame::dative, deep);
  if (among(87)) return clause(Frame::give, deep);
  if (among(95)) return clause(Frame::move, deep);
  return clause(Frame::weather, deep);
}

void Draft::add_place(Clause& clause, bool towards) {
  PlacePhrase place;
  place.id = next_id();
  const std::int64_t draw = rng_.below(100);
  if (draw < 20) {
    const auto& [german, english] = any(lexicon().cities);
    place.german = german;
    place.english = english;
    place.preposition = !towards ? &in_it : chance(60) ? &to_city : &from_city;
  } else if (draw < 70) {
    const bool ground = !towards && chance(25);
    place.preposition = towards ? &into : ground ? &on_it : &in_it;
    place.phrase.push_back(phrase(ground ? Kind::ground : Kind::place, {.owner = true}));
  } else if (towards) {
    place.preposition = &to_person;
    place.phrase.push_back(phrase(Kind::person, {.names = true}));
  } else if (draw < 84) {
    place.preposition = &around[static_cast<std::size_t>(rng_.below(5))];
    place.phrase.push_back(phrase(chance(50) ? Kind::place : Kind::thing, {}));
  } else {
    place.preposition = &with[static_cast<std::size_t>(rng_.below(3))];
    place.phrase.push_back(phrase(Kind::person, {.names = true}));
  }
  clause.places.push_back(place);
}

void Draft::modify(Clause& clause, bool deep) {
  const auto negative = [](const std::vector<NounPhrase>& phrases) {
    return std::ranges::any_of(phrases, [](const NounPhrase& phrase) { return phrase.determiner == Determiner::no; });
  };
  const auto definite = [](const std::vector<NounPhrase>& phrases) {
    return std::ranges::all_of(phrases, [](const NounPhrase& phrase) {
      return phrase.determiner != Determiner::indefinite && phrase.determiner != Determiner::number &&
             phrase.determiner != Determiner::every && (phrase.determiner != Determiner::bare || phrase.head != Head::noun);
    });
  };
  if (chance(deep ? 8 : 28)) clause.time = &any(time_phrases(clause.tense));
  const bool quantified = clause.subject.determiner == Determiner::every;
  const bool may_deny = clause.tense != Tense::must && !quantified && !negative(clause.object) && definite(clause.object) &&
                        definite(clause.recipient) && definite(clause.compared);
  if (may_deny && chance(15))
    clause.negated = true;
  else if (!negative(clause.object) && clause.tense != Tense::future && chance(12))
    clause.often = &any(frequencies());
}

void Draft::choose_mood(Clause& clause) {
  const std::int64_t draw = rng_.below(100);
  if (draw < 6) clause.mood = Mood::question;
  if (draw >= 6 && draw < 8 && clause.places.empty()) clause.mood = Mood::where;
  if (draw >= 8 && draw < 10 && clause.time == nullptr) clause.mood = Mood::when;
  if (draw >= 10 && draw < 12) clause.mood = Mood::why;
  if (draw >= 12 && draw < 14 && clause.verb != nullptr && clause.subject.head != Head::it) {
    clause.subject = NounPhrase{};
    clause.subject.id = next_id();
    clause.subject.head = Head::who;
  }
}

void Draft::choose_front(Clause& clause) {
  if (clause.mood != Mood::statement || clause.subject.head == Head::who) return;
  const bool place = !clause.places.empty() && clause.places.front().preposition->governs == Case::dative &&
                     clause.places.front().preposition != &to_person && clause.places.front().preposition != &to_city &&
                     clause.places.front().preposition != &from_city;
  if (!clause.circumstance.empty() && chance(45))
    clause.front = Front::circumstance;
  else if (clause.time != nullptr && chance(40))
    clause.front = Front::time;
  else if (place && chance(20))
    clause.front = Front::place;
  else if (!clause.object.empty() && shows_accusative(clause.object.front()) && clause.object_case == Case::accusative && chance(12))
    clause.front = Front::object;
}

Clause Draft::main_clause() {
  Clause main = chance(12) ? clause(Frame::say, false) : any_clause(false);
  if (main.content.empty() && chance(16)) {
    main.circumstance_word = &any(circumstance_words());
    main.circumstance.push_back(any_clause(true));
  }
  choose_mood(main);
  choose_front(main);
  return main;
}

}  // namespace examples::grammar
