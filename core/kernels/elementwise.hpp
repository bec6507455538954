#pragma once
#include <tapeform/core/array.hpp>

#include "kernels/elementwise_loops.hpp"

// Arithmetic element by element. Arrays in, a new array out; the caller has checked that dtypes agree and shapes fit. Large arrays are
// split over threads; no result depends on how.

namespace tapeform::kernels {

/// op(a, b) of one shape.
Array binary(Binary op, const Array& a, const Array& b);
/// op(a, b) broadcast to `shape`, which a and b broadcast to. Binary::add to Binary::div.
Array binary(Binary op, const Array& a, const Array& b, const Shape& shape);
/// op(a, b) with one number.
Array binary(Binary op, const Array& a, double b);
Array binary(Binary op, double a, const Array& b);

inline Array add(const Array& a, const Array& b) { return binary(Binary::add, a, b); }
inline Array sub(const Array& a, const Array& b) { return binary(Binary::sub, a, b); }
inline Array mul(const Array& a, const Array& b) { return binary(Binary::mul, a, b); }
inline Array div(const Array& a, const Array& b) { return binary(Binary::div, a, b); }
inline Array scale(const Array& x, double s) { return binary(Binary::mul, x, s); }

Array unary(Unary op, const Array& x);

/// y += s·x, of one shape.
void add_scaled_into(Array& y, double s, const Array& x);

/// x repeated along its axes of size 1, and along new leading ones, to `shape`.
Array broadcast_to(const Array& x, const Shape& shape);

}  // namespace tapeform::kernels
