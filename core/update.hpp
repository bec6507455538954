#pragma once
#include <cstdint>
#include <tapeform/core/array.hpp>

namespace tapeform {

/// The numbers of one AdamW update; `step` counts from 1.
struct AdamWStep {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  std::int64_t step = 1;
};

/// One AdamW update of w by its gradient g, in place and in one pass; all of one shape and dtype, m and v being 0 before step 1:
///
///     w ← w·(1 − lr·weight_decay)
///     m ← m + (1 − β₁)(g − m)             v ← β₂·v + (1 − β₂)·g²
///     w ← w − lr·m̂ / (√v̂ + eps)           m̂ = m/(1 − β₁ᵗ),  v̂ = v/(1 − β₂ᵗ),  t = step
///
/// eps stands outside of the root and beside the corrected v̂; decay does not pass through the moments.
/// @throws ShapeError, DTypeError unless w, g, m and v agree, before anything changes.
/// Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 2.
void adamw_update(Array& w, const Array& g, Array& m, Array& v, const AdamWStep& step);

/// √(Σ x²), added up in float64 in a fixed order; neither overflows nor underflows on the way. NaN when an element is, else infinite
/// when one is.
double l2_norm(const Array& x);

/// x ← x·factor, each product rounded once.
void multiply_in_place(Array& x, double factor);

}  // namespace tapeform
