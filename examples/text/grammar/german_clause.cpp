#include "text/grammar/german_phrases.hpp"
#include "text/grammar/say.hpp"

namespace examples::grammar {
namespace german {
namespace {

/// A clause's verb in its two places: what agrees with the subject, and what ends the clause.
struct Predicate {
  Line finite, end;
};

Auxiliary auxiliary_of(const Clause& clause) {
  switch (clause.tense) {
    case Tense::future:
      return Auxiliary::werden;
    case Tense::can:
      return Auxiliary::können;
    case Tense::must:
      return Auxiliary::müssen;
    case Tense::should:
      return Auxiliary::sollen;
    case Tense::want:
      return Auxiliary::wollen;
    case Tense::past:
      return clause.verb == nullptr ? Auxiliary::war : clause.verb->with_sein ? Auxiliary::sein : Auxiliary::haben;
    case Tense::present:
      break;
  }
  return Auxiliary::sein;  // of be alone
}

Predicate predicate_of(const Clause& clause, bool last) {
  const Person person = clause.person();
  const Number number = clause.number();
  const int verb = part_of(clause.id, Part::verb), particle = part_of(clause.id, Part::particle),
            helper = part_of(clause.id, Part::auxiliary);
  Predicate predicate;
  const bool one_word = clause.tense == Tense::present || (clause.verb == nullptr && clause.tense == Tense::past);
  if (!one_word) {
    predicate.finite.add(auxiliary(auxiliary_of(clause), person, number), {helper});
    if (clause.verb == nullptr) {
      predicate.end.add("sein", {verb});
    } else {
      const bool parted = !clause.verb->prefix.empty();
      predicate.end.add(clause.tense == Tense::past ? clause.verb->participle : clause.verb->infinitive,
                        parted ? std::vector{verb, particle} : std::vector{verb});
    }
  } else if (clause.verb == nullptr) {
    predicate.finite.add(auxiliary(auxiliary_of(clause), person, number), {verb});
  } else {
    const std::string word = present(*clause.verb, person, number);
    if (clause.verb->prefix.empty()) {
      predicate.finite.add(word, {verb});
    } else if (last) {
      predicate.finite.add(clause.verb->prefix + word, {verb, particle});
    } else {
      predicate.finite.add(word, {verb});
      predicate.end.add(clause.verb->prefix, {particle}, {verb});
    }
  }
  return predicate;
}

void append(Line& line, const Line& more) { line.words.insert(line.words.end(), more.words.begin(), more.words.end()); }

bool is_pronoun(const NounPhrase& phrase) { return phrase.head == Head::pronoun; }

/// Between the two places of the verb: pronouns, time, nouns, negation, places.
void middle(Line& line, const Clause& clause, bool with_subject) {
  if (with_subject && clause.gap != Gap::subject) noun_phrase(line, clause.subject, Case::nominative);
  const bool object_here = clause.gap != Gap::object && clause.front != Front::object;
  const auto objects = [&](bool pronouns) {
    const auto say = [&](const std::vector<NounPhrase>& phrases, Case in) {
      for (const NounPhrase& phrase : phrases)
        if (is_pronoun(phrase) == pronouns) noun_phrase(line, phrase, in);
    };
    say(clause.recipient, Case::dative);
    if (object_here) say(clause.object, clause.object_case);
  };
  objects(true);
  if (clause.time != nullptr && clause.front != Front::time) time_phrase(line, *clause.time, clause.id);
  if (clause.often != nullptr) line.add(clause.often->german, {part_of(clause.id, Part::often)});
  objects(false);
  if (clause.negated) line.add("nicht", {part_of(clause.id, Part::negation)});
  if (clause.predicate != nullptr) {
    const bool comparing = !clause.compared.empty();
    line.add(comparing ? clause.predicate->comparative : clause.predicate->german, {part_of(clause.id, Part::predicate)});
    for (const NounPhrase& other : clause.compared) {
      line.add("als", {part_of(clause.id, Part::than)});
      noun_phrase(line, other, Case::nominative);
    }
  }
  for (std::size_t i = clause.front == Front::place ? 1 : 0; i < clause.places.size(); ++i) place_phrase(line, clause.places[i]);
}

/// dass …, weil …
void subordinate(Line& line, const Conjunction& word, const Clause& clause, int part) {
  line.add(word.german, {part});
  verb_final(line, clause);
}

void following_clauses(Line& line, const Clause& clause) {
  for (const Clause& content : clause.content) {
    line.comma();
    subordinate(line, *clause.content_word, content, part_of(clause.id, Part::link));
  }
  if (clause.front == Front::circumstance) return;
  for (const Clause& circumstance : clause.circumstance) {
    line.comma();
    subordinate(line, *clause.circumstance_word, circumstance, part_of(clause.id, Part::circumstance_link));
  }
}

/// What stands before the verb. Tells whether that was the subject.
bool front(Line& line, const Clause& clause) {
  const auto ask = [&](const char* word) { line.add(word, {part_of(clause.id, Part::question_word)}); };
  switch (clause.mood) {
    case Mood::question:
      return false;
    case Mood::where:
      return ask("wo"), false;
    case Mood::when:
      return ask("wann"), false;
    case Mood::why:
      return ask("warum"), false;
    case Mood::statement:
      break;
  }
  switch (clause.front) {
    case Front::subject:
      return noun_phrase(line, clause.subject, Case::nominative), true;
    case Front::object:
      return noun_phrase(line, clause.object.front(), clause.object_case), false;
    case Front::time:
      return time_phrase(line, *clause.time, clause.id), false;
    case Front::place:
      return place_phrase(line, clause.places.front()), false;
    case Front::circumstance:
      break;
  }
  subordinate(line, *clause.circumstance_word, clause.circumstance.front(), part_of(clause.id, Part::circumstance_link));
  line.comma({part_of(clause.id, Part::comma)});
  return false;
}

}  // namespace

void verb_final(Line& line, const Clause& clause) {
  const Predicate predicate = predicate_of(clause, true);
  middle(line, clause, true);
  append(line, predicate.end);
  append(line, predicate.finite);
  following_clauses(line, clause);
}

}  // namespace german

Line in_german(const Clause& clause) {
  Line line;
  const german::Predicate predicate = german::predicate_of(clause, false);
  const bool subject_first = german::front(line, clause);
  german::append(line, predicate.finite);
  german::middle(line, clause, !subject_first);
  german::append(line, predicate.end);
  german::following_clauses(line, clause);
  const bool asks = clause.mood != Mood::statement || clause.subject.head == Head::who;
  line.finish(asks ? "?" : ".", clause.id);
  return line;
}

}  // namespace examples::grammar
