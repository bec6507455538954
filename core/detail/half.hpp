#pragma once
#include <cstdint>

namespace tapeform::detail {

/// The 16-bit formats of weights: IEEE 754 binary16 (5 bits of exponent, 10 of fraction) and bfloat16 (8 and 7, the upper half of a
/// float). Read exactly; written to the nearest, ties to even, once from the number's own type. NaN stays NaN; over the largest is
/// infinity.
float from_float16(std::uint16_t bits) noexcept;
float from_bfloat16(std::uint16_t bits) noexcept;
std::uint16_t to_float16(float x) noexcept;
std::uint16_t to_float16(double x) noexcept;
std::uint16_t to_bfloat16(float x) noexcept;
std::uint16_t to_bfloat16(double x) noexcept;

}  // namespace tapeform::detail
