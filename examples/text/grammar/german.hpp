#pragma once
#include <string>

#include "text/grammar/lexicon.hpp"

namespace examples::grammar {

enum class Case { nominative, accusative, dative, genitive };
enum class Number { singular, plural };
enum class Person { first, second, third };

/// What an article, a noun or a relative pronoun agrees with.
struct Agreement {
  Gender gender = Gender::masculine;
  Number number = Number::singular;
  Case in = Case::nominative;
};

}  // namespace examples::grammar

/// The forms of German words.
namespace examples::grammar::german {

/// der, die, das …
std::string definite_article(const Agreement& agreement);
/// dieser, jede …: `stem` is dies or jed.
std::string der_word(const std::string& stem, const Agreement& agreement);
/// ein, keinem, unsere …: `stem` is ein, kein, mein, dein, sein, ihr or unser.
std::string ein_word(const std::string& stem, const Agreement& agreement);
/// der, die, das, denen, deren …
std::string relative_pronoun(const Agreement& agreement);

/// What stands before an adjective decides its endings.
enum class Declension {
  weak,   ///< after der, dieser, jeder
  mixed,  ///< after ein, kein, mein
  strong  ///< after nothing or a number (plural alone)
};
std::string adjective_form(const Adjective& adjective, Declension declension, const Agreement& agreement);

std::string noun_form(const Noun& noun, Number number, Case in);
/// -es for words of one syllable and those that hiss at their end, else -s.
std::string genitive_singular(const std::string& noun);

/// The present without the prefix that separates: rufe, rufst, ruft, rufen.
std::string present(const Verb& verb, Person person, Number number);

enum class Auxiliary { haben, sein, werden, war, können, müssen, sollen, wollen };
/// bist, hat, werden, war, kannst …
std::string auxiliary(Auxiliary verb, Person person, Number number);
/// haben, sein, …
const char* infinitive(Auxiliary verb);

/// In letters, 2 … 99: siebenundzwanzig.
std::string number_word(int number);

/// Küche, küche; ä, ö and ü too.
std::string lower_first(const std::string& word);
std::string upper_first(const std::string& word);

}  // namespace examples::grammar::german
