#pragma once
#include <tapeform/core/array.hpp>
#include <tapeform/core/ids.hpp>

// Choosing between elements. What is not chosen is not read into the result: nothing is multiplied. All of one shape.

namespace tapeform::kernels {

/// a where `condition` is not 0, b elsewhere.
Array select(const Ids& condition, const Array& a, const Array& b);
Array select(const Ids& condition, const Array& a, double b);
Array select(const Ids& condition, double a, const Array& b);

/// x repeated along its axes of size 1, and along new leading ones, to `shape`.
Ids broadcast_to(const Ids& x, const Shape& shape);

}  // namespace tapeform::kernels
