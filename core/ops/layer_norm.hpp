#pragma once
#include <tapeform/core/tensor.hpp>

namespace tapeform {

struct LayerNormOptions {
  double eps = 1e-5;  ///< added to the variance, inside the root
  int axes = 1;       ///< number of trailing axes that one mean and one variance are taken over
};

/// y = (x − mean) / √(var + eps) · weight + bias over the last axis, or over the last `axes` together (Ba, Kiros, Hinton, "Layer
/// Normalization", 2016, section 3); var is the mean of squared deviations. `weight` and `bias` have the shape of those axes, [D] for the
/// last alone, or hold nothing: 1 and 0 then.
///
/// With x̂ = (x − mean)/σ, σ = √(var + eps), g = dy·weight: dx = (g − mean g − x̂ · mean(g·x̂)) / σ, dweight = Σ dy·x̂ and dbias = Σ dy
/// over all rows. The mean is taken out twice, so a row far from 0 loses nothing; squares of any finite number are summed without
/// overflow. A row of width 1 gives exactly `bias`.
/// @throws ShapeError for a scalar x, axes that x does not have, or a weight or bias that does not fit, DTypeError, ValueError unless eps
/// is finite and ≥ 0.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, const LayerNormOptions& options = {});

struct RmsNormOptions {
  double eps = 0x1p-23;  ///< added to the mean of squares, inside the root: torch's default, float32's rounding step
  int axes = 1;          ///< number of trailing axes that one mean of squares is taken over
};

/// y = x / √(mean x² + eps) · weight over the last axis, or over the last `axes` together; no mean is taken out. `weight` has the shape of
/// those axes, or holds nothing: 1 then.
///
/// With σ = √(mean x² + eps), x̂ = x/σ, g = dy·weight: dx = (g − x̂ · mean(g·x̂)) / σ, dweight = Σ dy·x̂ over all rows. Sums are taken in
/// double precision; squares of any finite number are summed without overflow. A row of zeros gives zeros.
/// Zhang, Sennrich, "Root Mean Square Layer Normalization", 2019.
/// @throws ShapeError, DTypeError, ValueError as `layer_norm`.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, const RmsNormOptions& options = {});

}  // namespace tapeform
