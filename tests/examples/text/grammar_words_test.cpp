#include <set>
#include <tapeform/core/error.hpp>

#include "catch.hpp"
#include "message.hpp"
#include "text/grammar/english.hpp"
#include "text/grammar/german.hpp"
#include "text/grammar/lexicon.hpp"

using namespace examples::grammar;

namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : " ") + part;
  return joined;
}

constexpr Case cases[] = {Case::nominative, Case::accusative, Case::dative, Case::genitive};

/// Article, adjective and noun in all cases.
std::string declined(const std::string& noun, Number number, const std::string& ein_word, const Adjective& adjective) {
  const Noun& word = lexicon().noun(noun);
  std::vector<std::string> forms;
  for (const Case in : cases) {
    const Agreement agreement{word.gender, number, in};
    const bool definite = ein_word.empty(), bare = ein_word == "-";
    const std::string article = bare ? "" : (definite ? german::definite_article(agreement) : german::ein_word(ein_word, agreement)) + " ";
    const auto declension = bare ? german::Declension::strong : definite ? german::Declension::weak : german::Declension::mixed;
    forms.push_back(article + german::adjective_form(adjective, declension, agreement) + " " + german::noun_form(word, number, in));
  }
  std::string joined;
  for (const std::string& form : forms) joined += (joined.empty() ? "" : ", ") + form;
  return joined;
}

std::string singular(const std::string& noun) {
  const Noun& word = lexicon().noun(noun);
  std::vector<std::string> forms;
  for (const Case in : cases) forms.push_back(german::noun_form(word, Number::singular, in));
  forms.push_back(german::noun_form(word, Number::plural, Case::nominative));
  forms.push_back(german::noun_form(word, Number::plural, Case::dative));
  return join(forms);
}

/// ich, du, er, wir.
std::string conjugated(const std::string& infinitive, Frame frame) {
  const Verb& verb = lexicon().verb(infinitive, frame);
  return join({german::present(verb, Person::first, Number::singular), german::present(verb, Person::second, Number::singular),
               german::present(verb, Person::third, Number::singular), german::present(verb, Person::first, Number::plural)});
}

}  // namespace

TEST_CASE("grammar: article, adjective and noun agree in gender, case and number") {
  const Adjective& old = lexicon().adjective("alt", Kind::person);
  CHECK(declined("Mann", Number::singular, "", old) == "der alte Mann, den alten Mann, dem alten Mann, des alten Mannes");
  CHECK(declined("Frau", Number::singular, "", old) == "die alte Frau, die alte Frau, der alten Frau, der alten Frau");
  CHECK(declined("Kind", Number::singular, "", old) == "das alte Kind, das alte Kind, dem alten Kind, des alten Kindes");
  CHECK(declined("Mann", Number::plural, "", old) == "die alten Männer, die alten Männer, den alten Männern, der alten Männer");
  CHECK(declined("Mann", Number::singular, "ein", old) == "ein alter Mann, einen alten Mann, einem alten Mann, eines alten Mannes");
  CHECK(declined("Frau", Number::singular, "unser", old) == "unsere alte Frau, unsere alte Frau, unserer alten Frau, unserer alten Frau");
  CHECK(declined("Kind", Number::singular, "kein", old) == "kein altes Kind, kein altes Kind, keinem alten Kind, keines alten Kindes");
  CHECK(declined("Kind", Number::plural, "mein", old) ==
        "meine alten Kinder, meine alten Kinder, meinen alten Kindern, meiner alten Kinder");
  CHECK(declined("Frau", Number::plural, "-", old) == "alte Frauen, alte Frauen, alten Frauen, alter Frauen");
}

TEST_CASE("grammar: adjectives whose stem changes") {
  const Agreement nominative{Gender::masculine, Number::singular, Case::nominative};
  const auto form = [&nominative](const std::string& word, Kind kind) {
    return german::adjective_form(lexicon().adjective(word, kind), german::Declension::mixed, nominative);
  };
  CHECK(form("hoch", Kind::thing) == "hoher");
  CHECK(form("dunkel", Kind::place) == "dunkler");
  CHECK(form("teuer", Kind::clothing) == "teurer");
  CHECK(form("müde", Kind::animal) == "müder");
  CHECK(form("weise", Kind::person) == "weiser");
  CHECK(form("sauber", Kind::thing) == "sauberer");
}

TEST_CASE("grammar: nouns in every case, weak ones and genitives in -es") {
  CHECK(singular("Hund") == "Hund Hund Hund Hundes Hunde Hunden");
  CHECK(singular("Junge") == "Junge Jungen Jungen Jungen Jungen Jungen");
  CHECK(singular("Nachbar") == "Nachbar Nachbarn Nachbarn Nachbarn Nachbarn Nachbarn");
  CHECK(singular("Lehrer") == "Lehrer Lehrer Lehrer Lehrers Lehrer Lehrern");
  CHECK(singular("Lehrerin") == "Lehrerin Lehrerin Lehrerin Lehrerin Lehrerinnen Lehrerinnen");
  CHECK(singular("Kollegin") == "Kollegin Kollegin Kollegin Kollegin Kolleginnen Kolleginnen");
  CHECK(singular("Ärztin") == "Ärztin Ärztin Ärztin Ärztin Ärztinnen Ärztinnen");
  CHECK(singular("Auto") == "Auto Auto Auto Autos Autos Autos");
  CHECK(singular("Bus") == "Bus Bus Bus Busses Busse Bussen");
  CHECK(singular("Haus") == "Haus Haus Haus Hauses Häuser Häusern");
  CHECK(singular("Lexikon") == "Lexikon Lexikon Lexikon Lexikons Lexika Lexika");
  CHECK(singular("Küchentisch") == "Küchentisch Küchentisch Küchentisch Küchentisches Küchentische Küchentischen");
  CHECK(lexicon().noun("Küchentisch").english == "kitchen_table");
  CHECK(lexicon().noun("Lederschuh").english_plural == "leather_shoes");
  CHECK(message<tapeform::ValueError>([] { lexicon().noun("Quark"); }) == "lexicon: every word must be in it; got 'Quark'");
}

TEST_CASE("grammar: verbs agree with their subject") {
  CHECK(conjugated("sehen", Frame::perceive) == "sehe siehst sieht sehen");
  CHECK(conjugated("arbeiten", Frame::persons_do) == "arbeite arbeitest arbeitet arbeiten");
  CHECK(conjugated("lesen", Frame::treat_texts) == "lese liest liest lesen");
  CHECK(conjugated("schützen", Frame::treat_anything) == "schütze schützt schützt schützen");
  CHECK(conjugated("essen", Frame::treat_food) == "esse isst isst essen");
  CHECK(conjugated("einladen", Frame::treat_persons) == "lade lädst lädt laden");
  CHECK(conjugated("lächeln", Frame::persons_do) == "lächle lächelst lächelt lächeln");
  CHECK(conjugated("wandern", Frame::persons_do) == "wandere wanderst wandert wandern");
  CHECK(conjugated("waschen", Frame::treat_things) == "wasche wäschst wäscht waschen");
  CHECK(conjugated("zeichnen", Frame::treat_anything) == "zeichne zeichnest zeichnet zeichnen");
  CHECK(german::auxiliary(german::Auxiliary::sein, Person::second, Number::singular) == "bist");
  CHECK(german::auxiliary(german::Auxiliary::müssen, Person::third, Number::plural) == "müssen");
}

TEST_CASE("grammar: numbers in letters") {
  for (const auto& [number, de, en] :
       {std::tuple{2, "zwei", "two"}, std::tuple{12, "zwölf", "twelve"}, std::tuple{16, "sechzehn", "sixteen"},
        std::tuple{21, "einundzwanzig", "twenty-one"}, std::tuple{30, "dreißig", "thirty"},
        std::tuple{77, "siebenundsiebzig", "seventy-seven"}, std::tuple{99, "neunundneunzig", "ninety-nine"}}) {
    CHECK(german::number_word(number) == de);
    CHECK(examples::grammar::english::number_word(number) == en);
  }
}

TEST_CASE("grammar: English plurals, pasts and third persons") {
  namespace english = examples::grammar::english;
  CHECK(join({english::plural("dog"), english::plural("box"), english::plural("baby"), english::plural("toy"), english::plural("torch")}) ==
        "dogs boxes babies toys torches");
  CHECK(join({english::past("walk"), english::past("love"), english::past("cry"), english::past("obey"), english::past("die")}) ==
        "walked loved cried obeyed died");
  CHECK(join({english::third("walk"), english::third("watch"), english::third("cry"), english::third("go"), english::third("die")}) ==
        "walks watches cries goes dies");
}

TEST_CASE("grammar: the lexicon names every noun once, and its words are words") {
  std::set<std::string> seen;
  for (const Noun& noun : lexicon().nouns) {
    INFO(noun.singular);
    CHECK(seen.insert(noun.singular).second);
    for (const std::string& form : {noun.singular, noun.plural, noun.genitive, noun.english, noun.english_plural}) {
      CHECK(form.size() > 1);
      CHECK(form.find_first_of(" >/+;|") == std::string::npos);
    }
    CHECK(german::upper_first(noun.singular) == noun.singular);
  }
  CHECK(lexicon().nouns.size() > 700);
  for (int frame = 0; frame < frames; ++frame) {
    std::set<std::string> verbs;
    for (const Verb& verb : lexicon().verbs_of(static_cast<Frame>(frame))) {
      INFO(verb.infinitive);
      CHECK(verbs.insert(verb.infinitive).second);
      CHECK(verb.third.ends_with("t"));
      CHECK(verb.infinitive.ends_with("n"));
      CHECK(verb.infinitive.starts_with(verb.prefix));
      CHECK(verb.participle.starts_with(verb.prefix));
      CHECK_FALSE(verb.english_past.empty());
    }
  }
}
