#pragma once
#include <tapeform/core/array.hpp>

namespace tapeform::kernels {

/// What backward needs of a row: x̂ = ((x·scale − mean) − correction)·rstd. The mean is taken out twice; `scale` is 1, or a power of
/// two where squares of the row would overflow or vanish.
inline constexpr Dim layer_norm_stats = 4;

struct LayerNormResult {
  Array y;      ///< shape of x
  Array stats;  ///< [rows, 4]: scale, mean, correction, rstd
};

/// y = x̂·weight + bias over the last axis; weight and bias [D], or arrays that hold nothing.
LayerNormResult layer_norm(const Array& x, const Array& weight, const Array& bias, double eps);

struct LayerNormGradients {
  Array dx, dweight, dbias;  ///< those not asked for hold nothing
};

/// With g = dy·weight: dx = (g − mean g − x̂·mean(g·x̂))·rstd, dweight = Σ dy·x̂, dbias = Σ dy, in one pass over the rows. Rows are
/// summed in fixed chunks and the chunks in order, so the sums have the same bits on any number of threads.
LayerNormGradients layer_norm_backward(const Array& dy, const Array& x, const Array& weight, const Array& stats, bool need_x,
                                       bool need_weight, bool need_bias);

}  // namespace tapeform::kernels
