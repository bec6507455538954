#include "catch.hpp"
#include "text/grammar/grammar.hpp"
#include "text/grammar/say.hpp"
#include "text/grammar/time_phrases.hpp"

using namespace examples::grammar;

namespace {

constexpr auto singular = Number::singular;
constexpr auto plural = Number::plural;
constexpr Preposition in_it{"in", "in", Case::dative}, into{"in", "into", Case::accusative}, to{"zu", "to", Case::dative};
constexpr Preposition with{"mit", "with", Case::dative}, without{"ohne", "without", Case::accusative},
    before{"vor", "in_front_of", Case::dative};
constexpr Conjunction that{"dass", "that"}, because{"weil", "because"}, often{"oft", "often"};

/// Puts sentences together by hand; every part gets an id of its own.
struct Writer {
  int ids = 0;

  NounPhrase the(const std::string& noun, Number number = singular, Determiner determiner = Determiner::definite) {
    NounPhrase phrase;
    phrase.id = ++ids;
    phrase.noun = &lexicon().noun(noun);
    phrase.gender = phrase.noun->gender;
    phrase.number = number;
    phrase.determiner = determiner;
    return phrase;
  }
  NounPhrase a(const std::string& noun) { return the(noun, singular, Determiner::indefinite); }
  NounPhrase with_adjective(NounPhrase phrase, const std::string& adjective) {
    phrase.adjectives.push_back(&lexicon().adjective(adjective, phrase.noun->kind));
    return phrase;
  }
  NounPhrase pronoun(Person person, Number number = singular, Gender gender = Gender::masculine) {
    NounPhrase phrase;
    phrase.id = ++ids;
    phrase.head = Head::pronoun;
    phrase.person = person;
    phrase.number = number;
    phrase.gender = gender;
    return phrase;
  }
  Clause clause(const NounPhrase& subject, const std::string& verb, Frame frame) {
    Clause clause;
    clause.id = ++ids;
    clause.verb = &lexicon().verb(verb, frame);
    clause.subject = subject;
    if (frame == Frame::dative) clause.object_case = Case::dative;
    return clause;
  }
  Clause clause(const NounPhrase& subject, const std::string& verb, Frame frame, const NounPhrase& object) {
    Clause made = clause(subject, verb, frame);
    made.object.push_back(object);
    return made;
  }
  Clause be(const NounPhrase& subject, const std::string& adjective) {
    Clause clause;
    clause.id = ++ids;
    clause.predicate = &lexicon().adjective(adjective, subject.head == Head::noun ? subject.noun->kind : Kind::person);
    clause.subject = subject;
    return clause;
  }
  PlacePhrase place(const Preposition& preposition, const NounPhrase& phrase) {
    PlacePhrase place;
    place.id = ++ids;
    place.preposition = &preposition;
    place.phrase.push_back(phrase);
    return place;
  }
};

std::string pair(const Clause& clause) {
  const Example example = say(clause);
  return example.german + " | " + example.english;
}
std::string only_german(const Clause& clause) { return say(clause).german; }

const TimePhrase& time_of(Tense tense, const std::string& german) {
  for (const TimePhrase& time : time_phrases(tense))
    if (time.german == german) return time;
  FAIL("no such phrase: " << german);
  return time_phrases(tense).front();
}

std::string text(const std::vector<std::pair<int, int>>& links) {
  std::string joined;
  for (const auto& [i, j] : links) joined += (joined.empty() ? "" : " ") + std::to_string(i) + "-" + std::to_string(j);
  return joined;
}

}  // namespace

TEST_CASE("grammar: cases of subject, object and recipient") {
  Writer w;
  CHECK(pair(w.clause(w.the("Mann"), "sehen", Frame::perceive, w.the("Hund"))) == "Der Mann sieht den Hund . | The man sees the dog .");
  CHECK(pair(w.clause(w.the("Kind"), "helfen", Frame::dative, w.the("Frau"))) == "Das Kind hilft der Frau . | The child helps the woman .");
  Clause give = w.clause(w.the("Lehrerin", singular, Determiner::my), "geben", Frame::give, w.with_adjective(w.a("Buch"), "alt"));
  give.recipient.push_back(w.the("Junge"));
  CHECK(pair(give) == "Meine Lehrerin gibt dem Jungen ein altes Buch . | My teacher gives the boy an old book .");
  give.recipient = {w.the("Kind", plural)};
  CHECK(only_german(give) == "Meine Lehrerin gibt den Kindern ein altes Buch .");
}

TEST_CASE("grammar: the verb agrees with persons, plurals and partners") {
  Writer w;
  CHECK(pair(w.clause(w.the("Frau", plural), "lachen", Frame::persons_do)) == "Die Frauen lachen . | The women laugh .");
  CHECK(pair(w.clause(w.pronoun(Person::first), "schlafen", Frame::animals_do)) == "Ich schlafe . | I sleep .");
  CHECK(pair(w.clause(w.pronoun(Person::second), "schlafen", Frame::animals_do)) == "Du schläfst . | You sleep .");
  CHECK(pair(w.clause(w.pronoun(Person::third, singular, Gender::feminine), "schlafen", Frame::animals_do)) ==
        "Sie schläft . | She sleeps .");
  CHECK(pair(w.clause(w.pronoun(Person::third, plural), "schlafen", Frame::animals_do)) == "Sie schlafen . | They sleep .");
  NounPhrase both = w.the("Vater");
  both.partner.push_back(w.a("Arzt"));
  CHECK(pair(w.clause(both, "arbeiten", Frame::persons_do)) == "Der Vater und ein Arzt arbeiten . | The father and a doctor work .");
  CHECK(pair(w.be(w.pronoun(Person::first), "klug")) == "Ich bin klug . | I am clever .");
}

TEST_CASE("grammar: adjective endings after every kind of determiner") {
  Writer w;
  const auto object = [&w](Number number, Determiner determiner, const char* noun = "Tisch") {
    NounPhrase phrase = w.with_adjective(w.the(noun, number, determiner), "rot");
    phrase.count = 21;
    return say(w.clause(w.the("Mann"), "kaufen", Frame::treat_things, phrase)).german;
  };
  CHECK(object(singular, Determiner::definite) == "Der Mann kauft den roten Tisch .");
  CHECK(object(singular, Determiner::indefinite) == "Der Mann kauft einen roten Tisch .");
  CHECK(object(singular, Determiner::demonstrative) == "Der Mann kauft diesen roten Tisch .");
  CHECK(object(singular, Determiner::every) == "Der Mann kauft jeden roten Tisch .");
  CHECK(object(singular, Determiner::her) == "Der Mann kauft ihren roten Tisch .");
  CHECK(object(plural, Determiner::bare) == "Der Mann kauft rote Tische .");
  CHECK(object(plural, Determiner::number) == "Der Mann kauft einundzwanzig rote Tische .");
  CHECK(object(plural, Determiner::no) == "Der Mann kauft keine roten Tische .");
  CHECK(object(singular, Determiner::no, "Bett") == "Der Mann kauft kein rotes Bett .");
  CHECK(object(singular, Determiner::his, "Lampe") == "Der Mann kauft seine rote Lampe .");
}

TEST_CASE("grammar: main clauses have the verb second, whatever is first") {
  Writer w;
  Clause clause = w.clause(w.the("Mann"), "sehen", Frame::perceive, w.the("Hund"));
  clause.time = &time_of(Tense::present, "heute");
  CHECK(pair(clause) == "Der Mann sieht heute den Hund . | The man sees the dog today .");
  clause.front = Front::time;
  CHECK(pair(clause) == "Heute sieht der Mann den Hund . | Today the man sees the dog .");
  clause.front = Front::object;
  CHECK(pair(clause) == "Den Hund sieht der Mann heute . | The man sees the dog today .");
  Clause sleep = w.clause(w.the("Katze"), "schlafen", Frame::animals_do);
  sleep.places.push_back(w.place(in_it, w.the("Garten")));
  CHECK(pair(sleep) == "Die Katze schläft im Garten . | The cat sleeps in the garden .");
  sleep.front = Front::place;
  CHECK(pair(sleep) == "Im Garten schläft die Katze . | In the garden the cat sleeps .");
}

TEST_CASE("grammar: subordinate clauses have the verb last, and a fronted one is followed by the verb") {
  Writer w;
  Clause main = w.clause(w.the("Mann"), "lachen", Frame::persons_do);
  main.circumstance_word = &because;
  main.circumstance.push_back(w.clause(w.the("Hund"), "sehen", Frame::perceive, w.the("Katze")));
  CHECK(pair(main) == "Der Mann lacht , weil der Hund die Katze sieht . | The man laughs because the dog sees the cat .");
  main.front = Front::circumstance;
  CHECK(pair(main) == "Weil der Hund die Katze sieht , lacht der Mann . | Because the dog sees the cat , the man laughs .");
  main.circumstance.front().tense = Tense::past;
  CHECK(only_german(main) == "Weil der Hund die Katze gesehen hat , lacht der Mann .");
  main.circumstance.front().tense = Tense::must;
  CHECK(only_german(main) == "Weil der Hund die Katze sehen muss , lacht der Mann .");
  Clause say = w.clause(w.the("Frau"), "sagen", Frame::say);
  say.content_word = &that;
  say.content.push_back(w.be(w.the("Haus"), "alt"));
  CHECK(pair(say) == "Die Frau sagt , dass das Haus alt ist . | The woman says that the house is old .");
  say.tense = Tense::past;
  CHECK(pair(say) == "Die Frau hat gesagt , dass das Haus alt ist . | The woman said that the house is old .");
}

TEST_CASE("grammar: separable verbs part in main clauses and join elsewhere") {
  Writer w;
  Clause call = w.clause(w.the("Mann"), "anrufen", Frame::treat_persons, w.the("Arzt"));
  CHECK(pair(call) == "Der Mann ruft den Arzt an . | The man phones the doctor .");
  call.tense = Tense::past;
  CHECK(pair(call) == "Der Mann hat den Arzt angerufen . | The man phoned the doctor .");
  call.tense = Tense::can;
  CHECK(pair(call) == "Der Mann kann den Arzt anrufen . | The man can phone the doctor .");
  call.tense = Tense::present;
  call.mood = Mood::question;
  CHECK(pair(call) == "Ruft der Mann den Arzt an ? | Does the man phone the doctor ?");
  Clause main = w.clause(w.the("Frau"), "lachen", Frame::persons_do);
  main.circumstance_word = &because;
  call.mood = Mood::statement;
  main.circumstance.push_back(call);
  CHECK(only_german(main) == "Die Frau lacht , weil der Mann den Arzt anruft .");
  Clause get_up = w.clause(w.the("Kind"), "aufstehen", Frame::persons_do);
  get_up.time = &time_of(Tense::present, "um_sieben_Uhr");
  CHECK(pair(get_up) == "Das Kind steht um sieben Uhr auf . | The child gets up at seven o'clock .");
  get_up.tense = Tense::past;
  CHECK(pair(get_up) == "Das Kind ist um sieben Uhr aufgestanden . | The child got up at seven o'clock .");
  Clause pick_up = w.clause(w.the("Frau"), "abholen", Frame::treat_anything, w.the("Kind"));
  CHECK(pair(pick_up) == "Die Frau holt das Kind ab . | The woman picks up the child .");
  pick_up.object = {w.pronoun(Person::third)};
  CHECK(pair(pick_up) == "Die Frau holt ihn ab . | The woman picks him up .");
}

TEST_CASE("grammar: perfect with haben and sein, future and modals") {
  Writer w;
  Clause go = w.clause(w.the("Mann"), "gehen", Frame::move);
  go.places.push_back(w.place(into, w.the("Haus")));
  CHECK(pair(go) == "Der Mann geht ins Haus . | The man goes into the house .");
  go.tense = Tense::past;
  CHECK(pair(go) == "Der Mann ist ins Haus gegangen . | The man went into the house .");
  go.tense = Tense::future;
  CHECK(pair(go) == "Der Mann wird ins Haus gehen . | The man will go into the house .");
  go.tense = Tense::want;
  CHECK(pair(go) == "Der Mann will ins Haus gehen . | The man wants to go into the house .");
  go.subject = w.pronoun(Person::first, plural);
  CHECK(pair(go) == "Wir wollen ins Haus gehen . | We want to go into the house .");
  Clause be = w.be(w.pronoun(Person::second), "müde");
  be.tense = Tense::past;
  CHECK(pair(be) == "Du warst müde . | You were tired .");
  be.tense = Tense::future;
  CHECK(pair(be) == "Du wirst müde sein . | You will be tired .");
}

TEST_CASE("grammar: negation") {
  Writer w;
  Clause see = w.clause(w.the("Mann"), "sehen", Frame::perceive, w.the("Hund"));
  see.negated = true;
  CHECK(pair(see) == "Der Mann sieht den Hund nicht . | The man does not see the dog .");
  see.tense = Tense::past;
  CHECK(pair(see) == "Der Mann hat den Hund nicht gesehen . | The man did not see the dog .");
  see.tense = Tense::can;
  CHECK(pair(see) == "Der Mann kann den Hund nicht sehen . | The man cannot see the dog .");
  see.tense = Tense::want;
  CHECK(pair(see) == "Der Mann will den Hund nicht sehen . | The man does not want to see the dog .");
  Clause sleep = w.clause(w.the("Kind", plural), "schlafen", Frame::animals_do);
  sleep.negated = true;
  sleep.places.push_back(w.place(in_it, w.the("Schule")));
  CHECK(pair(sleep) == "Die Kinder schlafen nicht in der Schule . | The children do not sleep in the school .");
  Clause be = w.be(w.the("Haus"), "groß");
  be.negated = true;
  CHECK(pair(be) == "Das Haus ist nicht groß . | The house is not big .");
  CHECK(pair(w.clause(w.the("Mann"), "sehen", Frame::perceive, w.the("Hund", singular, Determiner::no))) ==
        "Der Mann sieht keinen Hund . | The man sees no dog .");
}

TEST_CASE("grammar: relative clauses") {
  Writer w;
  const auto related = [&w](NounPhrase phrase, Clause clause, Gap gap) {
    clause.gap = gap;
    (gap == Gap::subject ? clause.subject : clause.object.front()) = phrase;
    phrase.relative.push_back(clause);
    return say(w.clause(phrase, "lachen", Frame::persons_do));
  };
  const NounPhrase any = w.the("Hund");
  const Example who = related(w.the("Frau"), w.clause(any, "sehen", Frame::perceive, w.the("Hund")), Gap::subject);
  CHECK(who.german == "Die Frau , die den Hund sieht , lacht .");
  CHECK(who.english == "The woman who sees the dog laughs .");
  const Example whom = related(w.the("Junge"), w.clause(w.the("Frau"), "anrufen", Frame::treat_persons, any), Gap::object);
  CHECK(whom.german == "Der Junge , den die Frau anruft , lacht .");
  CHECK(whom.english == "The boy whom the woman phones laughs .");
  const Example dative = related(w.the("Frau"), w.clause(w.the("Mann"), "helfen", Frame::dative, any), Gap::object);
  CHECK(dative.german == "Die Frau , der der Mann hilft , lacht .");
  const Example plural_dative = related(w.the("Kind", plural), w.clause(w.the("Mann"), "danken", Frame::dative, any), Gap::object);
  CHECK(plural_dative.german == "Die Kinder , denen der Mann dankt , lachen .");
  Clause main = w.clause(w.the("Mann"), "kaufen", Frame::treat_things, w.the("Auto"));
  Clause past = w.clause(w.the("Frau"), "verkaufen", Frame::treat_things, main.object.front());
  past.tense = Tense::past;
  past.gap = Gap::object;
  main.object.front().relative.push_back(past);
  CHECK(pair(main) == "Der Mann kauft das Auto , das die Frau verkauft hat . | The man buys the car that the woman sold .");
  main.tense = Tense::past;
  CHECK(only_german(main) == "Der Mann hat das Auto , das die Frau verkauft hat , gekauft .");
}

TEST_CASE("grammar: questions") {
  Writer w;
  Clause see = w.clause(w.the("Frau"), "kennen", Frame::treat_anything, w.pronoun(Person::first));
  see.mood = Mood::question;
  CHECK(pair(see) == "Kennt die Frau mich ? | Does the woman know me ?");
  see.tense = Tense::past;
  CHECK(pair(see) == "Hat die Frau mich gekannt ? | Did the woman know me ?");
  see.mood = Mood::why;
  see.tense = Tense::should;
  CHECK(pair(see) == "Warum soll die Frau mich kennen ? | Why should the woman know me ?");
  Clause be = w.be(w.the("Stadt"), "schön");
  be.mood = Mood::question;
  CHECK(pair(be) == "Ist die Stadt schön ? | Is the city beautiful ?");
  Clause who = w.clause(w.pronoun(Person::third), "sehen", Frame::perceive, w.the("Hund"));
  who.subject.head = Head::who;
  CHECK(pair(who) == "Wer sieht den Hund ? | Who sees the dog ?");
}

TEST_CASE("grammar: prepositions govern cases and melt with articles") {
  Writer w;
  const auto placed = [&w](const Preposition& preposition, const NounPhrase& phrase) {
    Clause clause = w.clause(w.pronoun(Person::third), "warten", Frame::persons_do);
    clause.places.push_back(w.place(preposition, phrase));
    return pair(clause);
  };
  CHECK(placed(to, w.the("Arzt")) == "Er wartet zum Arzt . | He waits to the doctor .");
  CHECK(placed(to, w.the("Ärztin")) == "Er wartet zur Ärztin . | He waits to the doctor .");
  CHECK(placed(with, w.the("Freund", plural, Determiner::my)) == "Er wartet mit meinen Freunden . | He waits with my friends .");
  CHECK(placed(without, w.the("Freund", singular, Determiner::my)) == "Er wartet ohne meinen Freund . | He waits without my friend .");
  CHECK(placed(before, w.with_adjective(w.a("Hotel"), "neu")) == "Er wartet vor einem neuen Hotel . | He waits in front of a new hotel .");
  NounPhrase owned = w.the("Haus");
  owned.owner.push_back(w.the("Bürgermeister"));
  CHECK(placed(before, owned) == "Er wartet vor dem Haus des Bürgermeisters . | He waits in front of the house of the mayor .");
}

TEST_CASE("grammar: comparatives, adverbs and pronoun objects") {
  Writer w;
  Clause older = w.be(w.the("Hund"), "alt");
  older.compared.push_back(w.the("Katze"));
  CHECK(pair(older) == "Der Hund ist älter als die Katze . | The dog is older than the cat .");
  Clause see = w.clause(w.the("Mann"), "sehen", Frame::perceive, w.pronoun(Person::third, singular, Gender::feminine));
  see.often = &often;
  CHECK(pair(see) == "Der Mann sieht sie oft . | The man often sees her .");
  see.tense = Tense::can;
  CHECK(pair(see) == "Der Mann kann sie oft sehen . | The man can often see her .");
  older.often = &often;
  CHECK(pair(older) == "Der Hund ist oft älter als die Katze . | The dog is often older than the cat .");
}

TEST_CASE("grammar: words are aligned with what they translate") {
  Writer w;
  Clause call = w.clause(w.the("Mann"), "anrufen", Frame::treat_persons, w.the("Arzt"));
  Example example = say(call);  // Der Mann ruft den Arzt an . | The man phones the doctor .
  CHECK(text(example.alignment) == "0-0 1-1 2-2 3-3 4-4 6-5");
  CHECK(text(example.possible) == "0-0 1-1 2-2 3-3 4-4 5-2 6-5");
  call.tense = Tense::past;
  example = say(call);  // Der Mann hat den Arzt angerufen . | The man phoned the doctor .
  CHECK(text(example.alignment) == "0-0 1-1 3-3 4-4 5-2 6-5");
  CHECK(text(example.possible) == "0-0 1-1 2-2 3-3 4-4 5-2 6-5");
  call.tense = Tense::present;
  call.negated = true;
  example = say(call);  // Der Mann ruft den Arzt nicht an . | The man does not phone the doctor .
  CHECK(text(example.alignment) == "0-0 1-1 2-4 3-5 4-6 5-3 7-7");
  CHECK(text(example.possible) == "0-0 1-1 2-2 2-4 3-5 4-6 5-2 5-3 6-4 7-7");
  Clause sleep = w.clause(w.the("Katze"), "schlafen", Frame::animals_do);
  sleep.places.push_back(w.place(in_it, w.the("Garten")));
  CHECK(text(say(sleep).alignment) == "0-0 1-1 2-2 3-3 3-4 4-5 5-6");  // im: in the
  sleep.places.clear();
  sleep.tense = Tense::past;
  sleep.time = &time_of(Tense::past, "vor_zwei_Tagen");
  // Die Katze hat vor zwei Tagen geschlafen . | The cat slept two days ago .
  CHECK(text(say(sleep).alignment) == "0-0 1-1 3-5 4-3 5-4 6-2 7-6");
}
