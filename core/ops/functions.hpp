#pragma once
#include <tapeform/core/tensor.hpp>

namespace tapeform {

// Functions element by element. float32 is computed in double precision and rounded once.
//
// Where a derivative has a pole (ln and its like at 0, a root at 0), a gradient of 0 that comes in stays 0 there, so a branch that
// `where` did not select reaches nothing.
// Every function @throws ValueError when an input holds nothing.

/// y = xᵖ.   dx = dy·p·xᵖ⁻¹, and 0 for p = 0, at x = 0 too.   0⁰ is 1. NaN where x < 0 and p is not whole.
Tensor pow(const Tensor& x, double p);
/// c = aᵇ, broadcasting.   da = dc·b·aᵇ⁻¹ → a (0 where b = 0),   db = dc·c·ln a → b (0 where a = 0 and b ≥ 0; NaN where a < 0).
/// @throws ShapeError when the shapes do not broadcast, DTypeError when the dtypes differ.
Tensor pow(const Tensor& a, const Tensor& b);
/// c = aᵇ.   db = dc·c·ln a (0 where a = 0 and b ≥ 0; NaN for a < 0).
Tensor pow(double a, const Tensor& b);

/// y = ln(1 + x), right where x is tiny.   dx = dy/(1 + x).   -inf at -1, NaN under it.
Tensor log1p(const Tensor& x);
/// y = eˣ - 1, right where x is tiny.   dx = dy·eˣ.   -1 at -inf.
Tensor expm1(const Tensor& x);
/// y = log₂ x.   dx = dy/(x·ln 2).   -inf at 0, NaN under it.
Tensor log2(const Tensor& x);
/// y = 1/√x.   dx = -dy·y/(2·x).   inf at 0, NaN under it, 0 at inf.
Tensor rsqrt(const Tensor& x);
/// y = |x|.   dx = dy where x > 0, -dy where x < 0, 0 at 0.   NaN stays NaN, in the gradient too.
Tensor abs(const Tensor& x);
/// y = sin x, x in radians.   dx = dy·cos x.   NaN at ±inf.
Tensor sin(const Tensor& x);
/// y = cos x, x in radians.   dx = -dy·sin x.   NaN at ±inf.
Tensor cos(const Tensor& x);

}  // namespace tapeform
