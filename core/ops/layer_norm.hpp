#pragma once
#include <tapeform/core/tensor.hpp>

namespace tapeform {

struct LayerNormOptions {
  double eps = 1e-5;  ///< added to the variance, inside the root
};

/// y = (x − mean) / √(var + eps) · weight + bias over the last axis (Ba, Kiros, Hinton, "Layer Normalization", 2016, section 3); var
/// is the mean of squared deviations. `weight` and `bias` are [D], or hold nothing: 1 and 0 then.
///
/// With x̂ = (x − mean)/σ, σ = √(var + eps), g = dy·weight: dx = (g − mean g − x̂ · mean(g·x̂)) / σ, dweight = Σ dy·x̂ and dbias = Σ dy
/// over all rows. The mean is taken out twice, so a row far from 0 loses nothing; squares of any finite number are summed without
/// overflow. A row of width 1 gives exactly `bias`.
/// @throws ShapeError for a scalar x or a weight or bias that is not [D], DTypeError, ValueError unless eps is finite and ≥ 0.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, const LayerNormOptions& options = {});

}  // namespace tapeform
