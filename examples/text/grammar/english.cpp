#include "text/grammar/english.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace examples::grammar::english {
namespace {

bool consonant_y(const std::string& word) {
  return word.size() > 1 && word.back() == 'y' && std::string_view("aeiou").find(word[word.size() - 2]) == std::string_view::npos;
}
bool hissing(const std::string& word) {
  constexpr std::array<std::string_view, 5> endings = {"s", "x", "z", "ch", "sh"};
  return std::ranges::any_of(endings, [&word](std::string_view ending) { return word.ends_with(ending); });
}
std::string without_last(const std::string& word) { return word.substr(0, word.size() - 1); }

}  // namespace

std::string plural(const std::string& noun) { return consonant_y(noun) ? without_last(noun) + "ies" : noun + (hissing(noun) ? "es" : "s"); }

std::string past(const std::string& verb) {
  if (consonant_y(verb)) return without_last(verb) + "ied";
  return verb + (verb.ends_with("e") ? "d" : "ed");
}

std::string third(const std::string& verb) {
  if (consonant_y(verb)) return without_last(verb) + "ies";
  return verb + (hissing(verb) || verb.ends_with("o") ? "es" : "s");
}

std::string number_word(int number) {
  constexpr std::array<const char*, 20> small = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                                                 "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                                                 "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
  constexpr std::array<const char*, 10> tens = {"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
  const auto ten = static_cast<std::size_t>(number / 10), one = static_cast<std::size_t>(number % 10);
  if (number < 20) return small[static_cast<std::size_t>(number)];
  return one == 0 ? tens[ten] : std::string(tens[ten]) + "-" + small[one];
}

}  // namespace examples::grammar::english
