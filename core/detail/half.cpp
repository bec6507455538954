#include "detail/half.hpp"

#include <bit>
#include <cmath>

namespace tapeform::detail {
namespace {

/// The bits of x as a double. A NaN is widened by hand: the processor would make it a quiet one.
std::uint64_t wide_bits(float x) noexcept {
  if (!std::isnan(x)) return std::bit_cast<std::uint64_t>(static_cast<double>(x));
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return (std::uint64_t{bits & 0x8000'0000u} << 32) | 0x7FF0'0000'0000'0000u | (std::uint64_t{bits & 0x007F'FFFFu} << 29);
}

/// A double's bits in a format of 16 with `exponent` and `fraction` bits.
template <int exponent, int fraction>
std::uint16_t narrow(std::uint64_t bits) noexcept {
  static_assert(1 + exponent + fraction == 16);
  constexpr int bias = (1 << (exponent - 1)) - 1;
  constexpr std::uint64_t infinity = ((std::uint64_t{1} << exponent) - 1) << fraction;
  const std::uint64_t sign = bits >> 63 << 15;
  const int biased = static_cast<int>(bits >> 52 & 0x7FF);
  const std::uint64_t low = bits & 0x000F'FFFF'FFFF'FFFFu;
  if (biased == 0x7FF) {
    if (low == 0) return static_cast<std::uint16_t>(sign | infinity);
    const std::uint64_t kept = low >> (52 - fraction);
    return static_cast<std::uint16_t>(sign | infinity | (kept != 0 ? kept : std::uint64_t{1} << (fraction - 1)));
  }
  const int power = biased - 1023;
  if (biased == 0 || power < -bias - fraction) return static_cast<std::uint16_t>(sign);  // below half of the smallest
  if (power > bias) return static_cast<std::uint16_t>(sign | infinity);
  const int below_normal = power < 1 - bias ? 1 - bias - power : 0;
  const int shift = 52 - fraction + below_normal;
  const std::uint64_t whole = low | std::uint64_t{1} << 52;
  std::uint64_t rounded = whole >> shift;
  const std::uint64_t rest = whole & ((std::uint64_t{1} << shift) - 1), half = std::uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  // The leading bit of a normal number adds 1 to the exponent's field; so does a carry.
  const std::uint64_t field = below_normal > 0 ? 0 : static_cast<std::uint64_t>(power + bias - 1);
  return static_cast<std::uint16_t>(sign | ((field << fraction) + rounded));
}

}  // namespace

float from_float16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, exponent = bits >> 10 & 0x1Fu, fraction = bits & 0x3FFu;
  if (exponent == 0) {
    const float size = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -size : size;
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13);
}

float from_bfloat16(std::uint16_t bits) noexcept { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

std::uint16_t to_float16(float x) noexcept { return narrow<5, 10>(wide_bits(x)); }
std::uint16_t to_float16(double x) noexcept { return narrow<5, 10>(std::bit_cast<std::uint64_t>(x)); }
std::uint16_t to_bfloat16(float x) noexcept { return narrow<8, 7>(wide_bits(x)); }
std::uint16_t to_bfloat16(double x) noexcept { return narrow<8, 7>(std::bit_cast<std::uint64_t>(x)); }

}  // namespace tapeform::detail
