#pragma once
#include <cstdint>

namespace examples::text {

/// The generator behind numpy's `default_rng(seed)`, so that resampled scores have sacreBLEU's digits: PCG64 (O'Neill, "PCG: A Family of
/// Simple Fast Space-Efficient Statistically Good Algorithms for Random Number Generation", 2014), seeded through numpy's SeedSequence,
/// integers by Lemire, "Fast Random Integer Generation in an Interval", 2019.
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed);

  /// In 0 … n − 1, for 0 < n < 2³²: what `integers(0, n)` and `choice(n)` draw.
  std::uint32_t below(std::uint32_t n);

 private:
  std::uint64_t next64();
  std::uint32_t next32();

  std::uint64_t state_[2] = {0, 0}, increment_[2] = {0, 0};  // high, low
  std::uint32_t kept_ = 0;                                   // the other half of the last 64 bits
  bool has_kept_ = false;
};

}  // namespace examples::text
