#pragma once
#include <cstdint>
#include <tapeform/core/tensor.hpp>

namespace tapeform {

/// y = max(x, 0).   dx = dy where x > 0, otherwise 0 (at 0 too).   NaN stays NaN.
Tensor relu(const Tensor& x);

enum class GeluForm : std::uint8_t {
  none,  ///< x·Φ(x), Φ the normal distribution function, by erf
  tanh,  ///< ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))
};

struct GeluOptions {
  GeluForm approximate = GeluForm::none;
};

/// Gaussian error linear unit (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016): x·Φ(x), or its tanh form.
///
/// dx = dy·(Φ(x) + x·φ(x)), φ the normal density; for the tanh form with σ(v), v = 2·√(2/π)·(x + 0.044715·x³), for Φ:
/// dx = dy·(σ(v) + x·v'·σ(v)·σ(-v)). Both keep their last bits in the tails, where 1 + erf would cancel; at -inf they are 0, at inf inf.
Tensor gelu(const Tensor& x, GeluOptions options = {});

}  // namespace tapeform
