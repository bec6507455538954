#pragma once
#include <tapeform/core/array.hpp>

namespace tapeform::kernels {

/// What is the same for every element of an AdamW update; see `adamw_update`.
struct AdamWFactors {
  double keep;         // 1 − lr·weight_decay
  double m_rate;       // 1 − β₁
  double v_keep;       // β₂
  double v_rate;       // 1 − β₂
  double root_factor;  // 1/√(1 − β₂ᵗ)
  double eps;
  double step_size;  // lr/(1 − β₁ᵗ)
};

/// Updates w, m and v in place; the caller has checked that all agree.
void adamw(Array& w, const Array& g, Array& m, Array& v, const AdamWFactors& factors);

/// Σ (x/divisor)², in float64; pieces of a fixed size are added in order.
double sum_squares(const Array& x, double divisor);

/// max |x|; NaN when an element is; 0 for an empty array.
double largest_size(const Array& x);

/// x ← x·factor, in float64, rounded once.
void scale(Array& x, double factor);

}  // namespace tapeform::kernels
