#include "text/grammar/german.hpp"

#include <array>
#include <string_view>

namespace examples::grammar::german {
namespace {

template <class T>
std::size_t index(T value) {
  return static_cast<std::size_t>(value);
}

/// By case; masculine, feminine, neuter, plural.
using Table = std::array<std::array<const char*, 4>, 4>;

const char* of_table(const Table& table, const Agreement& agreement) {
  return table[index(agreement.in)][agreement.number == Number::plural ? 3 : index(agreement.gender)];
}

constexpr Table articles = {
    {{"der", "die", "das", "die"}, {"den", "die", "das", "die"}, {"dem", "der", "dem", "den"}, {"des", "der", "des", "der"}}};
constexpr Table der_endings = {{{"er", "e", "es", "e"}, {"en", "e", "es", "e"}, {"em", "er", "em", "en"}, {"es", "er", "es", "er"}}};
constexpr Table ein_endings = {{{"", "e", "", "e"}, {"en", "e", "", "e"}, {"em", "er", "em", "en"}, {"es", "er", "es", "er"}}};
constexpr Table weak = {{{"e", "e", "e", "en"}, {"en", "e", "e", "en"}, {"en", "en", "en", "en"}, {"en", "en", "en", "en"}}};
constexpr Table mixed = {{{"er", "e", "es", "en"}, {"en", "e", "es", "en"}, {"en", "en", "en", "en"}, {"en", "en", "en", "en"}}};
constexpr Table strong = {{{"er", "e", "es", "e"}, {"en", "e", "es", "e"}, {"em", "er", "em", "en"}, {"en", "er", "en", "er"}}};

/// Runs of vowels.
int syllables(std::string_view word) {
  int count = 0;
  bool inside = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool umlaut = i + 1 < word.size() && word[i] == '\xC3' && word[i + 1] != '\x9F';  // all but ß are vowels
    const bool vowel = umlaut || std::string_view("aeiouyAEIOU").find(word[i]) != std::string_view::npos;
    if (vowel && !inside) ++count;
    inside = vowel;
    if (umlaut) ++i;
  }
  return count;
}

std::string change_first(const std::string& word, char low, char high, int shift, unsigned char umlaut_low, unsigned char umlaut_high) {
  std::string changed = word;
  const auto second = changed.size() > 1 ? static_cast<unsigned char>(changed[1]) : 0;
  if (!changed.empty() && changed[0] >= low && changed[0] <= high) changed[0] = static_cast<char>(changed[0] + shift);
  if (second >= umlaut_low && second <= umlaut_high && changed[0] == '\xC3') changed[1] = static_cast<char>(second + shift);
  return changed;
}

}  // namespace

std::string definite_article(const Agreement& agreement) { return of_table(articles, agreement); }
std::string der_word(const std::string& stem, const Agreement& agreement) { return stem + of_table(der_endings, agreement); }
std::string ein_word(const std::string& stem, const Agreement& agreement) { return stem + of_table(ein_endings, agreement); }

std::string relative_pronoun(const Agreement& agreement) {
  const bool plural = agreement.number == Number::plural;
  if (plural && agreement.in == Case::dative) return "denen";
  if (agreement.in == Case::genitive) return plural || agreement.gender == Gender::feminine ? "deren" : "dessen";
  return definite_article(agreement);
}

std::string adjective_form(const Adjective& adjective, Declension declension, const Agreement& agreement) {
  const Table& endings = declension == Declension::weak ? weak : declension == Declension::mixed ? mixed : strong;
  return adjective.stem + of_table(endings, agreement);
}

std::string noun_form(const Noun& noun, Number number, Case in) {
  if (number == Number::singular) return in == Case::nominative ? noun.singular : in == Case::genitive ? noun.genitive : noun.oblique;
  const char last = noun.plural.back();
  const bool takes_n = in == Case::dative && last != 'n' && last != 's' && last != 'a';
  return takes_n ? noun.plural + "n" : noun.plural;
}

std::string genitive_singular(const std::string& noun) {
  for (const char* hiss : {"s", "ß", "x", "z"})
    if (noun.ends_with(hiss)) return noun + "es";
  const bool ends_in_vowel = std::string_view("aeiouy").find(noun.back()) != std::string_view::npos;
  return noun + (syllables(noun) == 1 && !ends_in_vowel ? "es" : "s");
}

std::string present(const Verb& verb, Person person, Number number) {
  const std::string base = verb.infinitive.substr(verb.prefix.size());
  if (number == Number::plural && person != Person::second) return base;
  const std::string root = verb.third.substr(0, verb.third.size() - 1);  // without -t
  if (person == Person::third) return verb.third;
  if (person == Person::second) {
    for (const char* hiss : {"s", "ß", "x", "z"})
      if (root.ends_with(hiss)) return root + "t";
    return root + "st";
  }
  if (base.ends_with("eln")) return base.substr(0, base.size() - 3) + "le";
  if (base.ends_with("ern")) return base.substr(0, base.size() - 1) + "e";
  return base.substr(0, base.size() - 2) + "e";
}

std::string auxiliary(Auxiliary verb, Person person, Number number) {
  // ich, du, er, wir and sie
  constexpr std::array<std::array<const char*, 4>, 8> forms = {{{"habe", "hast", "hat", "haben"},
                                                                {"bin", "bist", "ist", "sind"},
                                                                {"werde", "wirst", "wird", "werden"},
                                                                {"war", "warst", "war", "waren"},
                                                                {"kann", "kannst", "kann", "können"},
                                                                {"muss", "musst", "muss", "müssen"},
                                                                {"soll", "sollst", "soll", "sollen"},
                                                                {"will", "willst", "will", "wollen"}}};
  return forms[index(verb)][number == Number::plural ? 3 : index(person)];
}

const char* infinitive(Auxiliary verb) {
  constexpr std::array<const char*, 8> forms = {"haben", "sein", "werden", "sein", "können", "müssen", "sollen", "wollen"};
  return forms[index(verb)];
}

std::string number_word(int number) {
  constexpr std::array<const char*, 20> small = {"null",     "ein",      "zwei",     "drei",     "vier",     "fünf",    "sechs",
                                                 "sieben",   "acht",     "neun",     "zehn",     "elf",      "zwölf",   "dreizehn",
                                                 "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
  constexpr std::array<const char*, 10> tens = {"",        "",        "zwanzig", "dreißig", "vierzig",
                                                "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"};
  const auto ten = static_cast<std::size_t>(number / 10), one = static_cast<std::size_t>(number % 10);
  if (number < 20) return small[static_cast<std::size_t>(number)];
  return one == 0 ? tens[ten] : std::string(small[one]) + "und" + tens[ten];
}

std::string lower_first(const std::string& word) { return change_first(word, 'A', 'Z', 'a' - 'A', 0x80, 0x9E); }
std::string upper_first(const std::string& word) { return change_first(word, 'a', 'z', 'A' - 'a', 0xA0, 0xBE); }

}  // namespace examples::grammar::german
