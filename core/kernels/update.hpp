#pragma once
#include <tapeform/core/array.hpp>

namespace tapeform::kernels {

/// Σ (x/divisor)², in float64; pieces of a fixed size are added in order.
double sum_squares(const Array& x, double divisor);

/// max |x|; NaN when an element is; 0 for an empty array.
double largest_size(const Array& x);

/// x ← x·factor, in float64, rounded once.
void scale(Array& x, double factor);

/// x ← min(max(x, −limit), limit); NaN stays.
void clamp(Array& x, double limit);

/// x ← x + rate·(y − x), in float64, rounded once; y itself when rate is 1.
void blend(Array& x, const Array& y, double rate);

}  // namespace tapeform::kernels
