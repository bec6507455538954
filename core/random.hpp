#pragma once
#include <array>
#include <cstdint>
#include <tapeform/core/array.hpp>

namespace tapeform {

/// Philox 4×32 with ten rounds: 128 random bits from a 128-bit counter and a 64-bit key (Salmon et al., "Parallel Random Numbers: As
/// Easy as 1, 2, 3", 2011, section 4). Any number of a sequence is computed on its own, so no thread ever waits for another's.
std::array<std::uint32_t, 4> philox(std::uint64_t counter_low, std::uint64_t counter_high, std::uint64_t key) noexcept;

/// The program's one source of randomness. A number depends on seed, stream and position alone: never on threads, dtype or machine.
/// Every draw moves the position on, so draw once per statement: C++ leaves the order of `f(rng), g(rng)` inside one expression to
/// the compiler. Saved with model and optimizer, it makes a resumed run bit-identical.
class Rng {
 public:
  /// What has to be stored to go on from here.
  struct State {
    std::uint64_t seed = 0, stream = 0, position = 0;
    friend bool operator==(const State&, const State&) = default;
  };

  explicit Rng(std::uint64_t seed) noexcept : state_{seed, 0, 0} {}
  explicit Rng(const State& state) noexcept : state_(state) {}

  /// An independent sequence with the same seed, from its start; `stream(0)` is the one that `Rng(seed)` begins.
  Rng stream(std::uint64_t number) const noexcept { return Rng(State{state_.seed, number, 0}); }

  double uniform() noexcept;           ///< in [0, 1), 53 bits
  double normal() noexcept;            ///< mean 0, deviation 1 (Box and Muller, 1958)
  std::int64_t below(std::int64_t n);  ///< 0 … n − 1, each equally likely. @throws ValueError unless n > 0
  /// A random order of 0 … n − 1.
  std::vector<std::int64_t> permutation(std::int64_t n);

  const State& state() const noexcept { return state_; }
  void set_state(const State& state) noexcept { state_ = state; }

  /// Takes `blocks` blocks of 128 bits for a kernel and returns the first one's position; block i is
  /// `philox(first + i, stream, seed)`.
  std::uint64_t reserve(std::uint64_t blocks) noexcept {
    const std::uint64_t first = state_.position;
    state_.position += blocks;
    return first;
  }

 private:
  State state_;
};

/// Numbers drawn from U[low, high); float32 holds the rounded numbers of float64. @throws ValueError unless low ≤ high, both finite.
Array uniform(const Shape& shape, double low, double high, Rng& rng, DType dtype = DType::float32);
/// Numbers drawn from N(mean, deviation²); float32 holds the rounded numbers of float64.
/// @throws ValueError unless both are finite and deviation ≥ 0.
Array normal(const Shape& shape, double mean, double deviation, Rng& rng, DType dtype = DType::float32);

}  // namespace tapeform
