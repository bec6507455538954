#pragma once
#include <cmath>

// The logistic function and its integral in double, for `map`: neither overflows, and neither loses a tail.

namespace tapeform::kernels {

/// 1/(1 + e⁻ˣ).
inline double logistic(double x) {
  const double e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}

/// ln(1 + eˣ).
inline double log1p_exp(double x) { return (x < 0 ? 0.0 : x) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace tapeform::kernels
