#pragma once
#include <tapeform/core/array.hpp>

namespace tapeform::kernels {

struct RmsNormResult {
  Array y;        ///< shape of x
  Array inverse;  ///< [rows], float64: 1/√(mean x² + eps)
};

/// y = x·inverse·weight over the last axis; weight is [D], or holds nothing. Computed in double.
RmsNormResult rms_norm(const Array& x, const Array& weight, double eps);

struct RmsNormGradients {
  Array dx, dweight;  ///< those not asked for hold nothing
};

/// With g = dy·weight, x̂ = x·inverse: dx = (g − x̂·mean(g·x̂))·inverse, dweight = Σ dy·x̂ over the rows, in fixed chunks and then over the
/// chunks in order.
RmsNormGradients rms_norm_backward(const Array& dy, const Array& x, const Array& weight, const Array& inverse, bool need_x,
                                   bool need_weight);

}  // namespace tapeform::kernels
