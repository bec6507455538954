#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace examples::text {

/// What stands at the start of some bytes: a whole character of UTF-8, a byte that begins none, or a start that more bytes may finish.
struct Utf8Step {
  enum class Kind : std::uint8_t { whole, wrong, unfinished } kind;
  std::size_t length;  ///< of the character; of what is wrong: 1
};

/// Looks at the start of `bytes`, which are not empty (The Unicode Standard, table 3-7).
constexpr Utf8Step utf8_step(std::string_view bytes) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {Utf8Step::Kind::whole, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Utf8Step::Kind::wrong, 1};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {Utf8Step::Kind::unfinished, i};
    // The second byte also rules out longer forms than needed, surrogates, and what lies over U+10FFFF.
    const std::uint8_t low = i > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t high = i > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(i) < low || byte(i) > high) return {Utf8Step::Kind::wrong, 1};
  }
  return {Utf8Step::Kind::whole, length};
}

}  // namespace examples::text
