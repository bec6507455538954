#include "text/grammar/german_phrases.hpp"

#include <array>

namespace examples::grammar::german {
namespace {

/// The word before the adjectives.
std::string determiner_word(const NounPhrase& phrase, const Agreement& agreement) {
  switch (phrase.determiner) {
    case Determiner::bare:
      return "";
    case Determiner::definite:
      return definite_article(agreement);
    case Determiner::indefinite:
      return ein_word("ein", agreement);
    case Determiner::no:
      return ein_word("kein", agreement);
    case Determiner::demonstrative:
      return der_word("dies", agreement);
    case Determiner::every:
      return der_word("jed", agreement);
    case Determiner::number:
      return number_word(phrase.count);
    case Determiner::my:
      return ein_word("mein", agreement);
    case Determiner::your:
      return ein_word("dein", agreement);
    case Determiner::his:
      return ein_word("sein", agreement);
    case Determiner::her:
      return ein_word("ihr", agreement);
    case Determiner::our:
      return ein_word("unser", agreement);
  }
  return "";
}

Declension declension_after(Determiner determiner) {
  switch (determiner) {
    case Determiner::bare:
    case Determiner::number:
      return Declension::strong;
    case Determiner::definite:
    case Determiner::demonstrative:
    case Determiner::every:
      return Declension::weak;
    default:
      return Declension::mixed;
  }
}

std::string pronoun(const NounPhrase& phrase, Case in) {
  // Nominative, accusative, dative.
  using Forms = std::array<const char*, 3>;
  constexpr Forms ich = {"ich", "mich", "mir"}, du = {"du", "dich", "dir"}, er = {"er", "ihn", "ihm"}, she = {"sie", "sie", "ihr"},
                  wir = {"wir", "uns", "uns"}, they = {"sie", "sie", "ihnen"};
  const bool plural = phrase.number == Number::plural;
  const Forms& forms = phrase.person == Person::first      ? (plural ? wir : ich)
                       : phrase.person == Person::second   ? du
                       : plural                            ? they
                       : phrase.gender == Gender::feminine ? she
                                                           : er;
  return forms[static_cast<std::size_t>(in)];
}

/// im for in dem; empty where nothing is drawn together.
std::string contraction(const std::string& preposition, const std::string& article) {
  constexpr std::array<std::array<const char*, 3>, 7> drawn_together = {{{"in", "dem", "im"},
                                                                         {"in", "das", "ins"},
                                                                         {"zu", "dem", "zum"},
                                                                         {"zu", "der", "zur"},
                                                                         {"von", "dem", "vom"},
                                                                         {"bei", "dem", "beim"},
                                                                         {"an", "dem", "am"}}};
  for (const auto& [first, second, both] : drawn_together)
    if (preposition == first && article == second) return both;
  return "";
}

/// Adjectives, noun and what follows it.
void after_determiner(Line& line, const NounPhrase& phrase, const Agreement& agreement) {
  int place = 0;
  for (const Adjective* adjective : phrase.adjectives)
    line.add(adjective_form(*adjective, declension_after(phrase.determiner), agreement),
             {part_of(phrase.id, Part::first_adjective, place++)});
  line.add(noun_form(*phrase.noun, phrase.number, agreement.in), {part_of(phrase.id, Part::noun)});
  for (const NounPhrase& owner : phrase.owner) noun_phrase(line, owner, Case::genitive);
  for (const Clause& clause : phrase.relative) {
    Agreement pronoun{phrase.noun->gender, phrase.number, clause.gap == Gap::object ? clause.object_case : Case::nominative};
    line.comma();
    line.add(relative_pronoun(pronoun), {part_of(clause.id, Part::relative_pronoun)});
    verb_final(line, clause);
    line.comma();
  }
}

Agreement agreement_of(const NounPhrase& phrase, Case in) { return {phrase.noun->gender, phrase.number, in}; }

}  // namespace

void noun_phrase(Line& line, const NounPhrase& phrase, Case in) {
  const std::vector<int> noun = {part_of(phrase.id, Part::noun)};
  switch (phrase.head) {
    case Head::name:
      line.add(phrase.name, noun);
      break;
    case Head::pronoun:
      line.add(pronoun(phrase, in), noun);
      break;
    case Head::who:
      line.add("wer", noun);
      break;
    case Head::it:
      line.add("es", noun);
      break;
    case Head::noun: {
      const Agreement agreement = agreement_of(phrase, in);
      std::vector<int> article = {part_of(phrase.id, Part::article)};
      if (in == Case::genitive) article.push_back(part_of(phrase.id, Part::of));
      if (const std::string word = determiner_word(phrase, agreement); !word.empty()) line.add(word, article);
      after_determiner(line, phrase, agreement);
    }
  }
  for (const NounPhrase& partner : phrase.partner) {
    line.add("und", {part_of(partner.id, Part::coordinator)});
    noun_phrase(line, partner, in);
  }
}

void place_phrase(Line& line, const PlacePhrase& place) {
  const int preposition = part_of(place.id, Part::preposition);
  if (place.phrase.empty()) {
    line.add(place.preposition->german, {preposition});
    line.add(place.german, {part_of(place.id, Part::noun)});
    return;
  }
  const NounPhrase& phrase = place.phrase.front();
  const Case in = place.preposition->governs;
  if (phrase.head == Head::noun && phrase.determiner == Determiner::definite) {
    const Agreement agreement = agreement_of(phrase, in);
    if (const std::string both = contraction(place.preposition->german, definite_article(agreement)); !both.empty()) {
      line.add(both, {preposition, part_of(phrase.id, Part::article)});
      after_determiner(line, phrase, agreement);
      return;
    }
  }
  line.add(place.preposition->german, {preposition});
  noun_phrase(line, phrase, in);
}

void time_phrase(Line& line, const TimePhrase& time, int clause_id) {
  Line words;
  words.add(time.german, {});
  for (int i = 0; i < static_cast<int>(words.words.size()); ++i) {
    std::vector<int> parts;
    for (std::size_t link = 0; link < time.links.size(); ++link)
      if (time.links[link].first == i) parts.push_back(part_of(clause_id, Part::time, static_cast<int>(link)));
    line.add(words.words[static_cast<std::size_t>(i)].text, parts);
  }
}

}  // namespace examples::grammar::german
