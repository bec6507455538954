#pragma once
#include <tapeform/core/tensor.hpp>

namespace tapeform {

struct MatmulOptions {
  bool transpose_a = false;  ///< a is given as [..., k, m]
  bool transpose_b = false;  ///< b is given as [..., n, k]
};

/// The matrix product of the last two axes: c[..., i, j] = Σ_p a[..., i, p]·b[..., p, j], a [..., m, k], b [..., k, n], c [..., m, n].
/// Leading axes broadcast: sizes agree or are 1, missing ones count as 1. Transposed operands are read in place, without a copy;
/// with k = 0 the result is zeros.
///
/// Derivative: da = dc·bᵀ, db = aᵀ·dc (with the options accounted for), added up over the axes that were broadcast.
/// @throws ShapeError when an operand has fewer than two axes, the inner sizes differ or leading axes do not broadcast; DTypeError.
Tensor matmul(const Tensor& a, const Tensor& b, MatmulOptions options = {});

/// An affine map of the last axis: y = x·Wᵀ + bias, x [..., in], weight W [out, in], bias [out] (`Tensor{}`: none), y [..., out].
///
/// Derivative: dx = dy·W, dW = dyᵀ·x, dbias = Σ dy over the leading axes.
/// @throws ShapeError when x does not end in W's `in`, W is not a matrix or the bias is not [out]; DTypeError.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tapeform
