#include "text/grammar/english.hpp"
#include "text/grammar/say.hpp"

namespace examples::grammar {
namespace {

std::string determiner_word(const NounPhrase& phrase) {
  switch (phrase.determiner) {
    case Determiner::bare:
      return "";
    case Determiner::definite:
      return "the";
    case Determiner::indefinite:
      return "a";  // or an: the end of the sentence decides
    case Determiner::no:
      return "no";
    case Determiner::demonstrative:
      return phrase.number == Number::plural ? "these" : "this";
    case Determiner::every:
      return "every";
    case Determiner::number:
      return english::number_word(phrase.count);
    case Determiner::my:
      return "my";
    case Determiner::your:
      return "your";
    case Determiner::his:
      return "his";
    case Determiner::her:
      return "her";
    case Determiner::our:
      return "our";
  }
  return "";
}

std::string pronoun(const NounPhrase& phrase, bool subject) {
  const bool plural = phrase.number == Number::plural;
  if (phrase.person == Person::second) return "you";
  if (phrase.person == Person::first) return plural ? (subject ? "we" : "us") : (subject ? "I" : "me");
  if (plural) return subject ? "they" : "them";
  if (phrase.gender == Gender::feminine) return subject ? "she" : "her";
  return subject ? "he" : "him";
}

void statement(Line& line, const Clause& clause);

void noun_phrase(Line& line, const NounPhrase& phrase, bool subject) {
  const std::vector<int> noun = {part_of(phrase.id, Part::noun)};
  switch (phrase.head) {
    case Head::name:
      line.add(phrase.name, noun);
      break;
    case Head::pronoun:
      line.add(pronoun(phrase, subject), noun);
      break;
    case Head::who:
      line.add("who", noun);
      break;
    case Head::it:
      line.add("it", noun);
      break;
    case Head::noun: {
      if (const std::string word = determiner_word(phrase); !word.empty()) line.add(word, {part_of(phrase.id, Part::article)});
      int place = 0;
      for (const Adjective* adjective : phrase.adjectives)
        line.add(adjective->english, {part_of(phrase.id, Part::first_adjective, place++)});
      line.add(phrase.number == Number::plural ? phrase.noun->english_plural : phrase.noun->english, noun);
    }
  }
  for (const NounPhrase& owner : phrase.owner) {
    line.add("of", {part_of(owner.id, Part::of)});
    noun_phrase(line, owner, false);
  }
  for (const Clause& clause : phrase.relative) {
    const bool person = phrase.noun->kind == Kind::person;
    line.add(!person ? "that" : clause.gap == Gap::subject ? "who" : "whom", {part_of(clause.id, Part::relative_pronoun)});
    statement(line, clause);
  }
  for (const NounPhrase& partner : phrase.partner) {
    line.add("and", {part_of(partner.id, Part::coordinator)});
    noun_phrase(line, partner, subject);
  }
}

void place_phrase(Line& line, const PlacePhrase& place) {
  line.add(place.preposition->english, {part_of(place.id, Part::preposition)});
  if (place.phrase.empty()) line.add(place.english, {part_of(place.id, Part::noun)});
  for (const NounPhrase& phrase : place.phrase) noun_phrase(line, phrase, false);
}

void time_phrase(Line& line, const Clause& clause) {
  Line words;
  words.add(clause.time->english, {});
  for (int i = 0; i < static_cast<int>(words.words.size()); ++i) {
    std::vector<int> parts;
    for (std::size_t link = 0; link < clause.time->links.size(); ++link)
      if (clause.time->links[link].second == i) parts.push_back(part_of(clause.id, Part::time, static_cast<int>(link)));
    line.add(words.words[static_cast<std::size_t>(i)].text, parts);
  }
}

std::string be(const Clause& clause) {
  const bool plural = clause.number() == Number::plural, past = clause.tense == Tense::past;
  const bool you = clause.person() == Person::second, i = clause.person() == Person::first;
  if (plural || you) return past ? "were" : "are";
  return past ? "was" : i ? "am" : "is";
}

/// The verb's words: what goes before the subject in a question, `not`, and the rest.
struct Predicate {
  Line auxiliary, adverb, rest;
};

Predicate predicate_of(const Clause& clause, bool question) {
  const int verb = part_of(clause.id, Part::verb), helper = part_of(clause.id, Part::auxiliary),
            negation = part_of(clause.id, Part::negation);
  const bool third = clause.person() == Person::third && clause.number() == Number::singular;
  const bool lexical = clause.verb != nullptr, past = clause.tense == Tense::past, want = clause.tense == Tense::want;
  const std::string base = lexical ? clause.verb->english : "be";
  Predicate predicate;
  const auto helped = [&](const std::string& word) { predicate.auxiliary.add(word, {helper}); };
  const bool simple = clause.tense == Tense::present || past || want;  // no auxiliary of its own
  const bool with_do = simple && (lexical || want) && (clause.negated || question);
  if (clause.tense == Tense::future) helped("will");
  if (clause.tense == Tense::can)
    predicate.auxiliary.add(clause.negated && !question ? "cannot" : "can",
                            clause.negated && !question ? std::vector{helper, negation} : std::vector{helper});
  if (clause.tense == Tense::must) helped("must");
  if (clause.tense == Tense::should) helped("should");
  if (with_do) {
    // Where German has no auxiliary either, do has the verb's place.
    const std::string word = past ? "did" : third ? "does" : "do";
    if (past)
      helped(word);
    else
      predicate.auxiliary.add(word, {}, {want ? helper : verb, negation});
  }
  if (simple && !lexical && !want) predicate.auxiliary.add(be(clause), {verb});
  if (clause.negated && !(clause.tense == Tense::can && !question)) predicate.adverb.add("not", {negation});
  if (clause.often != nullptr) predicate.adverb.add(clause.often->english, {part_of(clause.id, Part::often)});
  if (want) {
    predicate.rest.add(third && !with_do ? "wants" : "want", {helper});
    predicate.rest.add("to", {}, {helper, verb});
    predicate.rest.add(base, {verb});
  } else if (!simple || with_do) {
    predicate.rest.add(base, {verb});
  } else if (lexical && past) {
    predicate.rest.add(clause.verb->english_past, {verb}, {helper});
  } else if (lexical) {
    predicate.rest.add(third ? english::third(base) : base, {verb});
  }
  return predicate;
}

void append(Line& line, const Line& more) { line.words.insert(line.words.end(), more.words.begin(), more.words.end()); }

/// From behind the verb to the end.
void complements(Line& line, const Clause& clause) {
  const bool particle = clause.verb != nullptr && !clause.verb->english_particle.empty();
  const auto say_particle = [&] {
    line.add(clause.verb->english_particle, {part_of(clause.id, Part::particle)}, {part_of(clause.id, Part::verb)});
  };
  const bool pronoun_object = clause.gap != Gap::object && !clause.object.empty() && clause.object.front().head == Head::pronoun;
  for (const NounPhrase& recipient : clause.recipient) noun_phrase(line, recipient, false);
  if (particle && !pronoun_object) say_particle();
  if (clause.gap != Gap::object)
    for (const NounPhrase& object : clause.object) noun_phrase(line, object, false);
  if (particle && pronoun_object) say_particle();
  if (clause.predicate != nullptr)
    line.add(clause.compared.empty() ? clause.predicate->english : clause.predicate->english_comparative,
             {part_of(clause.id, Part::predicate)});
  for (const NounPhrase& other : clause.compared) {
    line.add("than", {part_of(clause.id, Part::than)});
    noun_phrase(line, other, true);
  }
  for (std::size_t i = clause.front == Front::place ? 1 : 0; i < clause.places.size(); ++i) place_phrase(line, clause.places[i]);
  if (clause.time != nullptr && clause.front != Front::time) time_phrase(line, clause);
  for (const Clause& content : clause.content) {
    line.add(clause.content_word->english, {part_of(clause.id, Part::link)});
    statement(line, content);
  }
  if (clause.front == Front::circumstance) return;
  for (const Clause& circumstance : clause.circumstance) {
    line.add(clause.circumstance_word->english, {part_of(clause.id, Part::circumstance_link)});
    statement(line, circumstance);
  }
}

/// What is put in front, the subject, and all that follows it.
void statement(Line& line, const Clause& clause) {
  if (clause.front == Front::time) time_phrase(line, clause);
  if (clause.front == Front::place) place_phrase(line, clause.places.front());
  if (clause.front == Front::circumstance) {
    line.add(clause.circumstance_word->english, {part_of(clause.id, Part::circumstance_link)});
    statement(line, clause.circumstance.front());
    line.comma({part_of(clause.id, Part::comma)});
  }
  if (clause.gap != Gap::subject) noun_phrase(line, clause.subject, true);
  const Predicate predicate = predicate_of(clause, false);
  append(line, predicate.auxiliary);
  append(line, predicate.adverb);
  append(line, predicate.rest);
  complements(line, clause);
}

void question(Line& line, const Clause& clause) {
  const char* const word = clause.mood == Mood::where  ? "where"
                           : clause.mood == Mood::when ? "when"
                           : clause.mood == Mood::why  ? "why"
                                                       : nullptr;
  if (word != nullptr) line.add(word, {part_of(clause.id, Part::question_word)});
  const Predicate predicate = predicate_of(clause, true);
  append(line, predicate.auxiliary);
  noun_phrase(line, clause.subject, true);
  append(line, predicate.adverb);
  append(line, predicate.rest);
  complements(line, clause);
}

/// an before a vowel's sound.
void choose_articles(Line& line) {
  for (std::size_t i = 0; i + 1 < line.words.size(); ++i) {
    const std::string& next = line.words[i + 1].text;
    const bool silent = next.starts_with("honest") || next.starts_with("hour");
    const bool consonant = next.starts_with("uni") || next.starts_with("use") || next.starts_with("eu") || next.starts_with("one");
    const bool vowel = std::string("aeiou").find(next[0]) != std::string::npos;
    if (line.words[i].text == "a" && (silent || (vowel && !consonant))) line.words[i].text = "an";
  }
}

}  // namespace

Line in_english(const Clause& clause) {
  Line line;
  const bool asks = clause.mood != Mood::statement;
  if (asks)
    question(line, clause);
  else
    statement(line, clause);
  choose_articles(line);
  line.finish(asks || clause.subject.head == Head::who ? "?" : ".", clause.id);
  return line;
}

}  // namespace examples::grammar
