#include "text/grammar/lexicon.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "text/grammar/english.hpp"
#include "text/grammar/german.hpp"
#include "text/grammar/lexicon_tables.hpp"

namespace examples::grammar {
namespace {

using Fields = std::vector<std::string>;

Fields split(std::string_view text, std::string_view separators) {
  Fields parts;
  for (std::size_t at = text.find_first_not_of(separators); at != std::string_view::npos; at = text.find_first_not_of(separators, at)) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}

std::vector<Fields> entries(const char* table) {
  std::vector<Fields> rows;
  for (const std::string& entry : split(table, ";\n"))
    if (Fields fields = split(entry, " "); !fields.empty()) rows.push_back(std::move(fields));
  return rows;
}

/// `a/b` as a and b; b empty where there is no mark.
std::pair<std::string, std::string> halves(const std::string& text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

Noun noun_of(const Fields& fields, Kind kind) {
  Noun noun;
  const auto [singular, genitive] = halves(fields.at(1), '>');
  const auto [word, plural] = halves(fields.at(3), '/');
  noun.singular = noun.oblique = noun.genitive = singular;
  noun.plural = fields.at(2);
  noun.kind = kind;
  noun.english = word;
  noun.english_plural = plural.empty() ? english::plural(word) : plural;
  switch (fields[0].at(0)) {
    case 'f':
      noun.gender = Gender::feminine;
      break;
    case 'M':
      noun.oblique = noun.genitive = noun.plural;
      break;
    default:
      if (fields[0] == "n") noun.gender = Gender::neuter;
      noun.genitive = genitive.empty() ? german::genitive_singular(singular) : genitive;
  }
  return noun;
}

/// The woman's noun: Lehrerin, Kundin.
Noun feminine_of(const Noun& man, const std::string& given) {
  Noun woman = man;
  const std::string stem = man.singular.ends_with("e") ? man.singular.substr(0, man.singular.size() - 1) : man.singular;
  woman.singular = woman.oblique = woman.genitive = given.empty() ? stem + "in" : given;
  woman.plural = woman.singular + "nen";
  woman.gender = Gender::feminine;
  return woman;
}

void read_nouns(std::vector<Noun>& nouns, const char* table, Kind kind) {
  for (const Fields& fields : entries(table)) {
    nouns.push_back(noun_of(fields, kind));
    if (fields.size() == 5) nouns.push_back(feminine_of(nouns.back(), fields[4].substr(1)));
  }
}

void read_compounds(Lexicon& words) {
  for (const Fields& fields : entries(tables::compounds)) {
    const Kind kind = fields.at(2) == "t" ? Kind::thing : fields[2] == "c" ? Kind::clothing : Kind::food;
    for (std::size_t i = 3; i < fields.size(); ++i) {
      Noun noun = words.noun(fields[i]);
      for (std::string* form : {&noun.singular, &noun.oblique, &noun.genitive, &noun.plural})
        *form = fields[0] + german::lower_first(*form);
      for (std::string* form : {&noun.english, &noun.english_plural}) *form = fields[1] + "_" + *form;
      noun.kind = kind;
      words.nouns.push_back(noun);
    }
  }
}

std::vector<Adjective> read_adjectives(const char* table) {
  std::vector<Adjective> adjectives;
  for (const Fields& fields : entries(table)) {
    Adjective adjective;
    const auto [german, stem] = halves(fields.at(0), '>');
    adjective.german = german;
    adjective.stem = stem.empty() ? german : stem;
    adjective.english = fields.at(1);
    if (fields.size() == 4) {
      adjective.comparative = fields[2];
      adjective.english_comparative = fields[3];
    }
    adjectives.push_back(adjective);
  }
  return adjectives;
}

std::vector<Verb> read_verbs(const char* table) {
  std::vector<Verb> verbs;
  for (const Fields& fields : entries(table)) {
    Verb verb;
    const auto [prefix, base] = halves(fields.at(0), '|');
    verb.prefix = base.empty() ? "" : prefix;
    verb.infinitive = prefix + base;
    verb.third = fields.at(1);
    verb.with_sein = fields.at(2).starts_with('+');
    verb.participle = fields[2].substr(verb.with_sein ? 1 : 0);
    const auto [words, past] = halves(fields.at(3), '/');
    std::tie(verb.english, verb.english_particle) = halves(words, '_');
    verb.english_past = past.empty() ? english::past(verb.english) : past;
    verbs.push_back(verb);
  }
  return verbs;
}

Lexicon read() {
  Lexicon words;
  using namespace tables;
  read_nouns(words.nouns, people, Kind::person);
  read_nouns(words.nouns, animals, Kind::animal);
  read_nouns(words.nouns, things, Kind::thing);
  read_nouns(words.nouns, clothes, Kind::clothing);
  read_nouns(words.nouns, food, Kind::food);
  read_nouns(words.nouns, texts, Kind::text);
  read_nouns(words.nouns, places, Kind::place);
  read_nouns(words.nouns, grounds, Kind::ground);
  read_compounds(words);
  words.first_names = split(first_names, " \n");
  for (const Fields& fields : entries(cities)) words.cities.emplace_back(fields.at(0), fields.at(1));
  for (const char* table : {of_anything, of_living, of_persons, of_things, of_food, of_texts, of_places, of_colour})
    words.adjectives.push_back(read_adjectives(table));
  for (const char* table : {persons_do, animals_do, perceive, treat_anything, treat_things, treat_persons, treat_food, treat_texts, dative,
                            give, move, tables::say, weather})
    words.verbs.push_back(read_verbs(table));
  // Which of the eight tables of adjectives fit which kind.
  const std::vector<std::size_t> of_kind[] = {{0, 1, 2}, {0, 7, 1}, {0, 7, 3}, {0, 7, 3}, {4}, {0, 5}, {0, 7, 6}, {0}};
  for (const auto& lists : of_kind) {
    words.fitting.emplace_back();
    for (const std::size_t list : lists)
      for (const Adjective& adjective : words.adjectives[list]) words.fitting.back().push_back(&adjective);
  }
  return words;
}

template <class List, class Same>
const auto& look_up(const List& list, const std::string& word, Same same) {
  const auto found = std::ranges::find_if(list, same);
  if (found == list.end()) throw tapeform::ValueError(fmt::format("lexicon: every word must be in it; got '{}'", word));
  return *found;
}

}  // namespace

const Lexicon& lexicon() {
  static const Lexicon words = read();
  return words;
}

std::vector<const Noun*> Lexicon::nouns_of(Kind kind) const {
  std::vector<const Noun*> found;
  for (const Noun& noun : nouns)
    if (noun.kind == kind) found.push_back(&noun);
  return found;
}

const Noun& Lexicon::noun(const std::string& singular) const {
  return look_up(nouns, singular, [&singular](const Noun& noun) { return noun.singular == singular; });
}
const Adjective& Lexicon::adjective(const std::string& german, Kind kind) const {
  return *look_up(adjectives_for(kind), german, [&german](const Adjective* adjective) { return adjective->german == german; });
}
const Verb& Lexicon::verb(const std::string& infinitive, Frame frame) const {
  return look_up(verbs_of(frame), infinitive, [&infinitive](const Verb& verb) { return verb.infinitive == infinitive; });
}

}  // namespace examples::grammar
