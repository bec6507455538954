#pragma once
#include <tapeform/core/array.hpp>

namespace tapeform::kernels {

/// y = x·Wᵀ + bias, x [..., in], W [out, in], bias [out] or an array that holds nothing; y [..., out]. Shapes have been checked.
Array linear(const Array& x, const Array& weight, const Array& bias);
/// dx = dy·W, under `x_shape`.
Array linear_dx(const Array& dy, const Array& weight, const Shape& x_shape);
/// dW = dyᵀ·x. [out, in]
Array linear_dweight(const Array& dy, const Array& x);
/// Σ dy over all axes but the last. [out]
Array linear_dbias(const Array& dy);

}  // namespace tapeform::kernels
