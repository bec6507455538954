#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <tapeform/core/error.hpp>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/random.hpp>

namespace tapeform {

std::array<std::uint32_t, 4> philox(std::uint64_t counter_low, std::uint64_t counter_high, std::uint64_t key) noexcept {
  std::array<std::uint32_t, 4> x{static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
                                 static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)};
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * x[0], p1 = std::uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ k0, static_cast<std::uint32_t>(p1), static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ k1,
         static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;  // the Weyl steps of the paper: golden ratio and √3 − 1
    k1 += 0xBB67AE85;
  }
  return x;
}

// 53 bits of two words, in [0, 1).
static double unit(std::uint32_t high, std::uint32_t low) noexcept {
  return static_cast<double>(((std::uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
}

static double uniform_of(const std::array<std::uint32_t, 4>& bits) noexcept { return unit(bits[0], bits[1]); }

static double normal_of(const std::array<std::uint32_t, 4>& bits) noexcept {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - unit(bits[0], bits[1])));  // 1 − u is never 0
  return radius * std::cos(2.0 * std::numbers::pi * unit(bits[2], bits[3]));
}

double Rng::uniform() noexcept { return uniform_of(philox(reserve(1), state_.stream, state_.seed)); }
double Rng::normal() noexcept { return normal_of(philox(reserve(1), state_.stream, state_.seed)); }

std::int64_t Rng::below(std::int64_t n) {
  if (n <= 0) throw ValueError(fmt::format("below: the bound must be positive; got {}", n));
  const auto bound = static_cast<std::uint64_t>(n);
  // 2⁶⁴ mod n numbers at the top would favour small results: they are drawn again.
  const std::uint64_t excess = (0 - bound) % bound;
  for (;;) {
    const auto bits = philox(reserve(1), state_.stream, state_.seed);
    const std::uint64_t word = (std::uint64_t{bits[0]} << 32) | bits[1];
    if (word >= excess) return static_cast<std::int64_t>(word % bound);
  }
}

std::vector<std::int64_t> Rng::permutation(std::int64_t n) {
  if (n < 0) throw ValueError(fmt::format("permutation: the number of elements must not be negative; got {}", n));
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = n - 1; i > 0; --i) std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(below(i + 1))]);
  return order;
}

template <class Draw>
static Array filled(const Shape& shape, Rng& rng, DType dtype, Draw draw) {
  Array array(shape, dtype);
  const Dim count = array.numel();
  const std::uint64_t first = rng.reserve(static_cast<std::uint64_t>(count)), stream = rng.state().stream, seed = rng.state().seed;
  dispatch(dtype, [&]<class T>(T) {
    T* const to = array.mutable_data<T>();
    parallel_for(count, 1 << 13, [=](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) to[i] = draw(T{}, philox(first + static_cast<std::uint64_t>(i), stream, seed));
    });
  });
  return array;
}

Array uniform(const Shape& shape, double low, double high, Rng& rng, DType dtype) {
  if (!(low <= high) || !std::isfinite(high - low))
    throw ValueError(fmt::format("uniform: low and high must be finite and in order; got low {}, high {}", low, high));
  return filled(shape, rng, dtype, [low, high]<class T>(T, const auto& bits) {
    const T number = static_cast<T>(low + (high - low) * uniform_of(bits));
    const T end = static_cast<T>(high);
    return number < end || !(low < high) ? number : std::nextafter(end, static_cast<T>(low));  // rounding must not reach the open end
  });
}

Array normal(const Shape& shape, double mean, double deviation, Rng& rng, DType dtype) {
  if (!std::isfinite(mean) || !(deviation >= 0) || !std::isfinite(deviation))
    throw ValueError(
        fmt::format("normal: mean and deviation must be finite, deviation at least 0; got mean {}, deviation {}", mean, deviation));
  return filled(shape, rng, dtype,
                [mean, deviation]<class T>(T, const auto& bits) { return static_cast<T>(mean + deviation * normal_of(bits)); });
}

}  // namespace tapeform
