#include "detail/text.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace tapeform::pages::detail {

namespace {

constexpr char32_t replacement = 0xFFFD;

/// The code point at the front of `text`, which it is taken off; `replacement` for a byte that begins none.
char32_t take(std::string_view& text) {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  char32_t code = length == 1 ? first : length == 0 ? replacement : first & (0x7Fu >> length);
  std::size_t used = 1;
  for (; used < length; ++used) {
    if (used >= text.size() || (byte(used) & 0xC0) != 0x80) break;
    code = (code << 6) | (byte(used) & 0x3Fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool whole = length > 0 && used == length && code >= least[length] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  text.remove_prefix(whole ? length : 1);
  return whole ? code : replacement;
}

void put(std::string& out, char32_t code) {
  const auto byte = [&out](char32_t value) { out += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

struct Range {
  char32_t first, last;
};

template <std::size_t N>
bool among(const Range (&ranges)[N], char32_t code) {
  return std::ranges::any_of(ranges, [code](const Range& range) { return range.first <= code && code <= range.last; });
}

// C1 controls, spaces of other widths, joiners and direction marks, separators, variation selectors, noncharacters, tags.
constexpr Range without_glyph[] = {{0x80, 0xA0},     {0xAD, 0xAD},     {0x61C, 0x61C},   {0x115F, 0x1160},
                                   {0x1680, 0x1680}, {0x180B, 0x180F}, {0x2000, 0x200F}, {0x2028, 0x202F},
                                   {0x205F, 0x206F}, {0x3000, 0x3000}, {0xFDD0, 0xFDEF}, {0xFE00, 0xFE0F},
                                   {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE0FFF}};
constexpr Range wide[] = {{0x1100, 0x115E}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
                          {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
constexpr Range combining[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x64B, 0x65F},
                               {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE20, 0xFE2F}};

constexpr Range right_to_left[] = {{0x590, 0x8FF}, {0xFB1D, 0xFDFF}, {0xFE70, 0xFEFF}, {0x10800, 0x10FFF}, {0x1E800, 0x1EFFF}};

bool has_no_glyph(char32_t code) { return among(without_glyph, code) || (code & 0xFFFE) == 0xFFFE; }

}  // namespace

std::string visible(std::string_view token) {
  if (token.empty()) return "∅";
  std::string out;
  while (!token.empty()) {
    const char32_t code = take(token);
    if (out.empty() && among(combining, code)) out = "◌";
    if (code == ' ')
      out += "␣";
    else if (code < 0x20)
      put(out, 0x2400 + code);
    else if (code == 0x7F)
      out += "␡";
    else if (has_no_glyph(code))
      out += fmt::format("⟨U+{:04X}⟩", static_cast<std::uint32_t>(code));
    else
      put(out, code);
  }
  return out;
}

std::string isolated(std::string_view visible) {
  bool turns = false;
  for (std::string_view rest = visible; !rest.empty();) turns = among(right_to_left, take(rest)) || turns;
  return turns ? fmt::format("\u2068{}\u2069", visible) : std::string(visible);
}

std::string shortened(std::string_view visible, int most) {
  std::string out;
  int count = 0;
  while (!visible.empty()) {
    if (count == most - 1) {
      std::string_view rest = visible;
      take(rest);
      if (!rest.empty()) return out + "…";
    }
    put(out, take(visible));
    ++count;
  }
  return out;
}

int columns(std::string_view visible) {
  int sum = 0;
  while (!visible.empty()) {
    const char32_t code = take(visible);
    sum += among(wide, code) ? 2 : among(combining, code) ? 0 : 1;
  }
  return sum;
}

std::string markup(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const char32_t code = take(text);
    switch (code) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        put(safe, (code < 0x20 && code != '\n') || (code & 0xFFFE) == 0xFFFE ? replacement : code);
    }
  }
  return safe;
}

std::string json(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char32_t code = take(text);
    if (code == '"' || code == '\\') {
      out += '\\';
      put(out, code);
    } else if (code < 0x20 || code == '<' || code == '>' || code == '&' || code == 0x2028 || code == 0x2029) {
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
    } else {
      put(out, code);
    }
  }
  return out + '"';
}

}  // namespace tapeform::pages::detail
