#include "text/numpy_random.hpp"

#include <array>
#include <bit>

namespace examples::text {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr Wide wide(std::uint64_t high, std::uint64_t low) { return Wide{high} << 64 | low; }
constexpr Wide multiplier = wide(0x2360ED051FC65DA4, 0x4385DF649FCCF645);

std::uint64_t high(Wide value) { return static_cast<std::uint64_t>(value >> 64); }
std::uint64_t low(Wide value) { return static_cast<std::uint64_t>(value); }

/// Hashes words with a constant that changes from word to word.
struct Hash {
  std::uint32_t constant, factor;
  std::uint32_t operator()(std::uint32_t value) {
    value ^= constant;
    constant *= factor;
    value *= constant;
    return value ^ value >> 16;
  }
};

std::uint32_t mix(std::uint32_t x, std::uint32_t y) {
  const std::uint32_t mixed = 0xca01f9ddU * x - 0x4973f715U * y;
  return mixed ^ mixed >> 16;
}

/// SeedSequence(seed).generate_state(4, uint64).
std::array<std::uint64_t, 4> seed_words(std::uint32_t seed) {
  std::array<std::uint32_t, 4> pool{};
  Hash in{0x43b0d7e5U, 0x931e8875U}, out{0x8b51f9ddU, 0x58f38dedU};
  for (std::size_t i = 0; i < 4; ++i) pool[i] = in(i == 0 ? seed : 0);
  for (std::size_t from = 0; from < 4; ++from)
    for (std::size_t to = 0; to < 4; ++to)
      if (from != to) pool[to] = mix(pool[to], in(pool[from]));
  std::array<std::uint64_t, 4> words{};
  for (std::size_t i = 0; i < 8; ++i) words[i / 2] |= std::uint64_t{out(pool[i % 4])} << (i % 2 * 32);
  return words;
}

}  // namespace

NumpyRandom::NumpyRandom(std::uint32_t seed) {
  const std::array<std::uint64_t, 4> words = seed_words(seed);
  const Wide increment = wide(words[2], words[3]) << 1 | 1;
  const Wide state = (increment + wide(words[0], words[1])) * multiplier + increment;
  increment_[0] = high(increment);
  increment_[1] = low(increment);
  state_[0] = high(state);
  state_[1] = low(state);
}

std::uint64_t NumpyRandom::next64() {
  const Wide state = wide(state_[0], state_[1]) * multiplier + wide(increment_[0], increment_[1]);
  state_[0] = high(state);
  state_[1] = low(state);
  return std::rotr(state_[0] ^ state_[1], static_cast<int>(state_[0] >> 58));
}

std::uint32_t NumpyRandom::next32() {
  has_kept_ = !has_kept_;
  if (!has_kept_) return kept_;
  const std::uint64_t bits = next64();
  kept_ = static_cast<std::uint32_t>(bits >> 32);
  return static_cast<std::uint32_t>(bits);
}

std::uint32_t NumpyRandom::below(std::uint32_t n) {
  if (n < 2) return 0;
  std::uint64_t product = std::uint64_t{next32()} * n;
  if (static_cast<std::uint32_t>(product) < n) {
    const std::uint32_t threshold = (0U - n) % n;
    while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{next32()} * n;
  }
  return static_cast<std::uint32_t>(product >> 32);
}

}  // namespace examples::text
