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

/// Logistic function: y = 1/(1 + e⁻ˣ).   dx = dy·σ(x)·σ(-x), from x: y·(1 - y) would lose the right tail.   0 at -inf, 1 at inf.
Tensor sigmoid(const Tensor& x);
/// y = ln σ(x) = min(x, 0) - ln(1 + e^-|x|).   dx = dy·σ(-x).   Linear on the left, -e⁻ˣ on the right, neither overflows; -inf at -inf.
Tensor log_sigmoid(const Tensor& x);
/// Sigmoid-weighted linear unit, also swish: y = x·σ(x).   dx = dy·σ(x)·(1 + x·σ(-x)).   0 at -inf, inf at inf.
/// Elfwing, Uchibe, Doya, "Sigmoid-Weighted Linear Units for Neural Network Function Approximation in Reinforcement Learning", 2018.
Tensor silu(const Tensor& x);

struct SoftplusOptions {
  double beta = 1;
};

/// y = ln(1 + e^(β·x))/β = (max(β·x, 0) + ln(1 + e^-|β·x|))/β.   dx = dy·σ(β·x).   Exact on both sides: there is no threshold from which on
/// x itself would be the result.   0 at -inf, inf at inf.
/// @throws ValueError unless beta is positive and finite.
Tensor softplus(const Tensor& x, SoftplusOptions options = {});

struct LeakyReluOptions {
  double negative_slope = 0.01;
};

/// y = x where x > 0, slope·x elsewhere.   dx = dy where x > 0, slope·dy elsewhere (at 0 too).   NaN stays NaN.
Tensor leaky_relu(const Tensor& x, LeakyReluOptions options = {});

struct EluOptions {
  double alpha = 1;
};

/// Exponential linear unit: y = x where x > 0, α·(eˣ - 1) elsewhere.   dx = dy where x > 0, dy·α·eˣ elsewhere (at 0 too).   -α at -inf.
/// Clevert, Unterthiner, Hochreiter, "Fast and Accurate Deep Network Learning by Exponential Linear Units", 2016.
Tensor elu(const Tensor& x, EluOptions options = {});

// ---- gated units: the last axis of x holds two halves, values a and then gates b ----
//
// The gate is the second half, as in torch's glu. Where a model packs gate and value the other way round, put the halves of its
// projection's rows the other way round as well. Every one @throws ShapeError unless x has a last axis of even size. Dauphin et al.,
// "Language Modeling with Gated Convolutional Networks", 2017; Shazeer, "GLU Variants Improve Transformer", 2020.

/// Gated linear unit: y = a·σ(b), [.., 2·D] -> [.., D].   da = dy·σ(b),   db = dy·a·σ'(b).
Tensor glu(const Tensor& x);
/// y = a·silu(b), [.., 2·D] -> [.., D].
Tensor swiglu(const Tensor& x);
/// y = a·gelu(b), [.., 2·D] -> [.., D].
Tensor geglu(const Tensor& x, GeluOptions options = {});

}  // namespace tapeform
