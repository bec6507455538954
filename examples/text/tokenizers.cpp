#include "text/tokenizers.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <initializer_list>
#include <unordered_map>
#include <utility>

#include "common/utf8_text.hpp"

namespace examples::text {
namespace {

constexpr std::pair<Tokenizer, const char*> names[] = {
    {Tokenizer::v13a, "13a"}, {Tokenizer::intl, "intl"}, {Tokenizer::character, "char"}, {Tokenizer::none, "none"}};

bool digit(char32_t c) noexcept { return c >= U'0' && c <= U'9'; }
bool stop(char32_t c) noexcept { return c == U'.' || c == U','; }
/// ASCII punctuation and symbols but `'`, `,`, `-`, `.`, which stand inside words and numbers.
bool mark(char32_t c) noexcept {
  return (c >= U'!' && c <= U'/' && c != U'\'' && c != U',' && c != U'-' && c != U'.') || (c >= U':' && c <= U'@') ||
         (c >= U'[' && c <= U'`') || (c >= U'{' && c <= U'~');
}

bool of_class(char32_t c, std::uint32_t classes) { return (U_GET_GC_MASK(static_cast<UChar32>(c)) & classes) != 0; }
bool number(char32_t c) { return of_class(c, U_GC_N_MASK); }
bool punctuation(char32_t c) { return of_class(c, U_GC_P_MASK); }
bool symbol(char32_t c) { return of_class(c, U_GC_S_MASK); }

enum class Apart { first, second };

/// Puts a space between two neighbours that meet the conditions, and one on the other side of the one that comes apart. Pairs do not
/// overlap: a character that ended one begins no other.
template <class First, class Second>
std::u32string part(std::u32string_view text, First first, Second second, Apart apart) {
  std::u32string parted;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      parted += text[i];
      continue;
    }
    if (apart == Apart::first) parted += U' ';
    parted += text[i];
    parted += U' ';
    parted += text[++i];
    if (apart == Apart::second) parted += U' ';
  }
  return parted;
}

template <class Condition>
std::u32string isolate(std::u32string_view text, Condition condition) {
  std::u32string isolated;
  for (const char32_t c : text) isolated += condition(c) ? std::u32string{U' ', c, U' '} : std::u32string{c};
  return isolated;
}

using Replacement = std::pair<std::u32string_view, std::u32string_view>;

std::u32string replaced(std::u32string text, std::initializer_list<Replacement> replacements) {
  for (const auto& [old, fresh] : replacements)
    for (std::size_t at = text.find(old); at != std::u32string::npos; at = text.find(old, at + fresh.size()))
      text.replace(at, old.size(), fresh);
  return text;
}

/// Stops and commas that touch anything but digits on both sides, and hyphens behind digits.
std::u32string part_stops(std::u32string text) {
  const auto no_digit = [](char32_t c) { return !digit(c); };
  text = part(text, no_digit, stop, Apart::second);
  text = part(text, stop, no_digit, Apart::first);
  return part(
      text, digit, [](char32_t c) { return c == U'-'; }, Apart::second);
}

std::u32string tokenized_13a(const std::u32string& text) {
  const std::u32string plain = replaced(
      text, {{U"<skipped>", U""}, {U"-\n", U""}, {U"\n", U" "}, {U"&quot;", U"\""}, {U"&amp;", U"&"}, {U"&lt;", U"<"}, {U"&gt;", U">"}});
  return part_stops(isolate(U' ' + plain + U' ', mark));
}

std::u32string tokenized_intl(std::u32string_view text) {
  const auto no_number = [](char32_t c) { return !number(c); };
  const std::u32string parted = part(part(text, no_number, punctuation, Apart::second), punctuation, no_number, Apart::first);
  return isolate(parted, symbol);
}

}  // namespace

const char* name_of(Tokenizer tokenizer) { return std::ranges::find(names, tokenizer, &std::pair<Tokenizer, const char*>::first)->second; }

Tokenizer tokenizer_named(const std::string& name) {
  for (const auto& [tokenizer, its_name] : names)
    if (name == its_name) return tokenizer;
  throw tapeform::ValueError(fmt::format("tokenizer: there are 13a, intl, char and none; got '{}'", name));
}

bool is_space(char32_t c) noexcept {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

std::vector<std::u32string> split(std::u32string_view text) {
  std::vector<std::u32string> parts;
  bool inside = false;
  for (const char32_t c : text) {
    const bool space = is_space(c);
    if (!space && !inside) parts.emplace_back();
    if (!space) parts.back() += c;
    inside = !space;
  }
  return parts;
}

std::u32string without_trailing_space(std::u32string text) {
  while (!text.empty() && is_space(text.back())) text.pop_back();
  return text;
}

std::vector<std::string> words(std::string_view sentence, Tokenizer tokenizer) {
  std::u32string text = without_trailing_space(decode_utf8(sentence, "a sentence to score"));
  switch (tokenizer) {
    case Tokenizer::v13a:
      text = tokenized_13a(std::move(text));
      break;
    case Tokenizer::intl:
      text = tokenized_intl(text);
      break;
    case Tokenizer::character:
      text = isolate(text, [](char32_t) { return true; });
      break;
    case Tokenizer::none:
      break;
  }
  std::vector<std::string> encoded;
  for (const std::u32string& word : split(text)) encoded.push_back(encode_utf8(word));
  return encoded;
}

std::string lower_case(std::string_view text) {
  check_utf8(text, "a sentence to score");  // ICU would replace what is wrong
  std::string lower;
  icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())))
      .toLower(icu::Locale::getRoot())
      .toUTF8String(lower);
  return lower;
}

std::string parted_for_ter(std::string_view sentence) {
  std::u32string text = U' ' + decode_utf8(sentence, "a sentence to score") + U' ';
  text = replaced(text, {{U"\n-", U""}, {U"\n", U" "}, {U"&quot;", U"\""}, {U"&amp;", U"&"}, {U"&lt;", U"<"}, {U"&gt;", U">"}});
  return encode_utf8(part_stops(replaced(isolate(text, mark), {{U"'s ", U" 's "}})));
}

struct WordIds::Table {
  std::unordered_map<std::string, std::int64_t> ids;
};
WordIds::WordIds() : table_(new Table) {}
WordIds::~WordIds() { delete table_; }

std::vector<std::int64_t> WordIds::of(const std::vector<std::string>& words) {
  std::vector<std::int64_t> ids;
  for (const std::string& word : words)
    ids.push_back(table_->ids.try_emplace(word, static_cast<std::int64_t>(table_->ids.size())).first->second);
  return ids;
}

}  // namespace examples::text
