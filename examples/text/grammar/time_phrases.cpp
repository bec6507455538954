#include "text/grammar/time_phrases.hpp"

#include <array>
#include <string>

#include "text/grammar/english.hpp"

namespace examples::grammar {
namespace {

using Phrases = std::vector<TimePhrase>;
using Pair = std::pair<const char*, const char*>;

TimePhrase word_by_word(const std::string& german, const std::string& english) {
  TimePhrase phrase{german, english, {{0, 0}}};
  for (int at = 1; const char c : german)
    if (c == '_') {
      phrase.links.emplace_back(at, at);
      ++at;
    }
  return phrase;
}

/// At any time.
void add_times_of_day(Phrases& phrases) {
  for (const auto& [de, en] : {Pair{"am_Morgen", "in_the_morning"}, {"am_Nachmittag", "in_the_afternoon"}, {"am_Abend", "in_the_evening"}})
    phrases.push_back({de, en, {{0, 0}, {0, 1}, {1, 2}}});
  phrases.push_back(word_by_word("in_der_Nacht", "in_the_night"));
  for (int hour = 1; hour <= 12; ++hour)
    phrases.push_back(word_by_word("um_" + german::number_word(hour) + "_Uhr", "at_" + english::number_word(hour) + "_o'clock"));
  for (const auto& [de, en] :
       {Pair{"im_Frühling", "in_spring"}, {"im_Sommer", "in_summer"}, {"im_Herbst", "in_autumn"}, {"im_Winter", "in_winter"}})
    phrases.push_back(word_by_word(de, en));
}

/// Once.
void add_days(Phrases& phrases) {
  constexpr std::array<Pair, 7> days = {{{"Montag", "Monday"},
                                         {"Dienstag", "Tuesday"},
                                         {"Mittwoch", "Wednesday"},
                                         {"Donnerstag", "Thursday"},
                                         {"Freitag", "Friday"},
                                         {"Samstag", "Saturday"},
                                         {"Sonntag", "Sunday"}}};
  for (const auto& [de, en] : days) phrases.push_back(word_by_word(std::string("am_") + de, std::string("on_") + en));
  constexpr std::array<Pair, 12> months = {{{"Januar", "January"},
                                            {"Februar", "February"},
                                            {"März", "March"},
                                            {"April", "April"},
                                            {"Mai", "May"},
                                            {"Juni", "June"},
                                            {"Juli", "July"},
                                            {"August", "August"},
                                            {"September", "September"},
                                            {"Oktober", "October"},
                                            {"November", "November"},
                                            {"Dezember", "December"}}};
  for (const auto& [de, en] : months) phrases.push_back(word_by_word(std::string("im_") + de, std::string("in_") + en));
}

constexpr std::array<Pair, 4> spans = {{{"Tagen", "days"}, {"Wochen", "weeks"}, {"Monaten", "months"}, {"Jahren", "years"}}};

Phrases present_phrases() {
  Phrases phrases = {word_by_word("heute", "today"), word_by_word("jetzt", "now")};
  for (const auto& [de, en] :
       {Pair{"jeden_Tag", "every_day"}, {"jede_Woche", "every_week"}, {"jeden_Monat", "every_month"}, {"jedes_Jahr", "every_year"}})
    phrases.push_back(word_by_word(de, en));
  add_times_of_day(phrases);
  return phrases;
}

Phrases past_phrases() {
  Phrases phrases = {word_by_word("heute", "today"), word_by_word("gestern", "yesterday"), word_by_word("letzte_Woche", "last_week"),
                     word_by_word("letztes_Jahr", "last_year"), word_by_word("letzten_Sommer", "last_summer")};
  add_times_of_day(phrases);
  add_days(phrases);
  for (const auto& [de, en] : spans)
    for (int count = 2; count <= 12; ++count)
      phrases.push_back(
          {"vor_" + german::number_word(count) + "_" + de, english::number_word(count) + "_" + en + "_ago", {{0, 2}, {1, 0}, {2, 1}}});
  return phrases;
}

Phrases future_phrases() {
  Phrases phrases = {word_by_word("heute", "today"), word_by_word("morgen", "tomorrow"), word_by_word("bald", "soon"),
                     word_by_word("nächste_Woche", "next_week"), word_by_word("nächstes_Jahr", "next_year")};
  add_times_of_day(phrases);
  add_days(phrases);
  for (const auto& [de, en] : spans)
    for (int count = 2; count <= 12; ++count)
      phrases.push_back(word_by_word("in_" + german::number_word(count) + "_" + de, "in_" + english::number_word(count) + "_" + en));
  return phrases;
}

}  // namespace

const std::vector<TimePhrase>& time_phrases(Tense tense) {
  static const Phrases present = present_phrases(), past = past_phrases(), future = future_phrases();
  return tense == Tense::present ? present : tense == Tense::past ? past : future;
}

const std::vector<Conjunction>& frequencies() {
  static const std::vector<Conjunction> words = {{"oft", "often"},          {"immer", "always"},  {"nie", "never"},
                                                 {"manchmal", "sometimes"}, {"selten", "rarely"}, {"meistens", "usually"}};
  return words;
}

const std::vector<Conjunction>& circumstance_words() {
  static const std::vector<Conjunction> words = {{"weil", "because"}, {"wenn", "when"}, {"obwohl", "although"}, {"während", "while"},
                                                 {"bevor", "before"}, {"falls", "if"},  {"bis", "until"},       {"sobald", "as_soon_as"}};
  return words;
}

}  // namespace examples::grammar
