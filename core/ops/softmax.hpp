#pragma once
#include <tapeform/core/tensor.hpp>

namespace tapeform {

class Mask;

/// y = exp(x − max) / Σ exp(x − max) along `axis`: positive numbers that sum to 1.
///
/// dx = y · (dy − Σ dy·y). A slice that is −inf throughout has nothing to choose from: y = 0 and dx = 0 there. A NaN makes its slice NaN.
/// @throws ShapeError when there is no such axis.
Tensor softmax(const Tensor& x, int axis = -1);

/// y = (x − max) − log Σ exp(x − max) along `axis`: finite where the logarithm of `softmax` would be log 0.
///
/// dx = dy − exp(y) · Σ dy. A slice that is −inf throughout gives −inf, and dx = 0 there. A NaN makes its slice NaN.
/// @throws ShapeError when there is no such axis.
Tensor log_softmax(const Tensor& x, int axis = -1);

/// softmax over the last axis among the keys that `mask` lets a query attend to; hidden keys get exactly 0.
///
/// `scores` is [B, Tq, Tk] or [B, H, Tq, Tk]; the result has its shape. dx = y · (dy − Σ dy·y) among the visible, 0 among the hidden.
/// A hidden score is never read into a result: NaN or inf under the mask changes no bit. A query that may attend to nothing has y = 0
/// and dx = 0.
/// @throws ShapeError for another rank, or when the mask does not fit.
Tensor masked_softmax(const Tensor& scores, const Mask& mask);

}  // namespace tapeform
