#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace examples::grammar {

enum class Gender { masculine, feminine, neuter };
enum class Kind { person, animal, thing, clothing, food, text, place, ground };

struct Noun {
  std::string singular, oblique, genitive, plural;  ///< `oblique`: accusative and dative of the singular
  Gender gender = Gender::masculine;
  Kind kind = Kind::thing;
  std::string english, english_plural;  ///< a `_` parts words
};

struct Adjective {
  std::string german, stem;  ///< `stem` takes the endings: dunkel, dunkl-
  std::string english;
  std::string comparative, english_comparative;  ///< empty where the lexicon has none
};

struct Verb {
  std::string infinitive, prefix;  ///< anrufen, an: the prefix that separates
  std::string third;               ///< the er-form without the prefix: ruft
  std::string participle;
  bool with_sein = false;
  std::string english, english_past, english_particle;  ///< pick, picked, up
};

/// What is around a verb.
enum class Frame {
  persons_do,      ///< somebody
  animals_do,      ///< somebody or an animal
  perceive,        ///< somebody or an animal; anything
  treat_anything,  ///< somebody; anything
  treat_things,
  treat_persons,
  treat_food,
  treat_texts,
  dative,  ///< somebody; to somebody
  give,    ///< somebody; to somebody; a thing
  move,    ///< somebody; somewhere
  say,     ///< somebody; that something is so
  weather  ///< it
};
constexpr int frames = 13;

struct Lexicon {
  std::vector<Noun> nouns;
  std::vector<std::string> first_names;
  std::vector<std::pair<std::string, std::string>> cities;  ///< German, English; lands too

  std::vector<const Noun*> nouns_of(Kind kind) const;
  /// Those that fit nouns of a kind.
  const std::vector<const Adjective*>& adjectives_for(Kind kind) const { return fitting[static_cast<std::size_t>(kind)]; }
  const std::vector<Verb>& verbs_of(Frame frame) const { return verbs[static_cast<std::size_t>(frame)]; }
  /// By the dictionary's form. @throws tapeform::ValueError for one that is not there.
  const Noun& noun(const std::string& singular) const;
  const Adjective& adjective(const std::string& german, Kind kind) const;
  const Verb& verb(const std::string& infinitive, Frame frame) const;

  std::vector<std::vector<Adjective>> adjectives;      // one list a table
  std::vector<std::vector<const Adjective*>> fitting;  // by kind
  std::vector<std::vector<Verb>> verbs;                // by frame
};

/// All words that the generator knows. Made once.
const Lexicon& lexicon();

}  // namespace examples::grammar
