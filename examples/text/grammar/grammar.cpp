#include "text/grammar/grammar.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>

#include <algorithm>
#include <unordered_set>

#include "text/grammar/draw.hpp"
#include "text/grammar/say.hpp"

namespace examples::grammar {

Example say(const Clause& clause) {
  const Line german = in_german(clause), english = in_english(clause);
  Links found = links(german, english);
  return {german.text(), english.text(), std::move(found.sure), std::move(found.possible)};
}

bool held_out_combination(const std::string& word, const std::string& noun) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : word + " " + noun) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (hash >> 32) % 12 == 0;
}

namespace {

bool held_out_in(const std::vector<NounPhrase>& phrases, const std::string& verb);
bool held_out_in(const NounPhrase& phrase, const std::string& verb) {
  const auto combined = [&phrase](const std::string& word) { return held_out_combination(word, phrase.noun->singular); };
  if (phrase.head == Head::noun && !verb.empty() && combined(verb)) return true;
  for (const Adjective* adjective : phrase.adjectives)
    if (combined(adjective->german)) return true;
  return held_out_in(phrase.owner, "") || held_out_in(phrase.partner, verb) || std::ranges::any_of(phrase.relative, held_out);
}

bool held_out_in(const std::vector<NounPhrase>& phrases, const std::string& verb) {
  return std::ranges::any_of(phrases, [&verb](const NounPhrase& phrase) { return held_out_in(phrase, verb); });
}

}  // namespace

bool held_out(const Clause& clause) {
  const std::string& word = clause.verb != nullptr ? clause.verb->infinitive : clause.predicate->german;
  const auto in_place = [](const PlacePhrase& place) { return held_out_in(place.phrase, ""); };
  return held_out_in(clause.subject, word) || held_out_in(clause.object, word) || held_out_in(clause.recipient, "") ||
         held_out_in(clause.compared, "") || std::ranges::any_of(clause.places, in_place) ||
         std::ranges::any_of(clause.content, held_out) || std::ranges::any_of(clause.circumstance, held_out);
}

Generator::Generator(std::uint64_t seed) : rng_(seed) {}

Clause Generator::draw() { return Draft(rng_).main_clause(); }

Example Generator::next() {
  const Clause clause = draw();
  Example example = say(clause);
  example.held_out = held_out(clause);
  return example;
}

Corpus corpus(std::uint64_t seed, std::int64_t train, std::int64_t valid, std::int64_t test) {
  Generator generator(seed);
  Corpus made;
  const auto wanted = [](std::int64_t count) { return static_cast<std::size_t>(count < 0 ? 0 : count); };
  const std::size_t total = wanted(train) + wanted(valid) + wanted(test);
  std::unordered_set<std::string> german, in_train, in_valid, in_test;  // the last three: English
  for (std::size_t draws = 0; made.train.size() + made.valid.size() + made.test.size() < total; ++draws) {
    if (draws > 100 * total + 10'000)
      throw tapeform::ValueError(
          fmt::format("grammar: so many different sentences take too long to find; got {} of {}", german.size(), total));
    Example example = generator.next();
    if (german.contains(example.german)) continue;
    const auto keep = [&](std::vector<Example>& part, std::int64_t size, std::unordered_set<std::string>& own, const auto& other,
                          const auto& third) {
      if (part.size() >= wanted(size) || other.contains(example.english) || third.contains(example.english)) return;
      german.insert(example.german);
      own.insert(example.english);
      part.push_back(example);
    };
    if (!example.held_out)
      keep(made.train, train, in_train, in_valid, in_test);
    else if (made.valid.size() < wanted(valid))
      keep(made.valid, valid, in_valid, in_train, in_test);
    else
      keep(made.test, test, in_test, in_train, in_valid);
  }
  return made;
}

}  // namespace examples::grammar
