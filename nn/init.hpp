#pragma once
#include <tapeform/core/array.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/nn/module.hpp>
#include <vector>

namespace tapeform::nn {

/// U(−1/√fan_in, 1/√fan_in): what torch gives the weight and the bias of a Linear (He et al., "Delving Deep into Rectifiers", 2015,
/// section 2.2, with its a = √5). @throws ValueError unless fan_in ≥ 1.
Array fan_in_uniform(const Shape& shape, Dim fan_in, Rng& rng);

/// U(−a, a) with a = √(6/(in + out)) for a weight [out, in] (Glorot, Bengio, "Understanding the Difficulty of Training Deep Feedforward
/// Neural Networks", 2010, equation 16). @throws ShapeError unless `shape` has two axes.
Array xavier_uniform(const Shape& shape, Rng& rng);

void init_xavier(const std::vector<NamedParameter>& parameters, Rng& rng);
void init_gpt2(const std::vector<NamedParameter>& parameters, Rng& rng);

/// Draws every matrix of a model by `xavier_uniform` and leaves its vectors: what torch does to a whole nn.Transformer.
template <class M>
void init_xavier(const M& model, Rng& rng) {
  init_xavier(named_parameters(model), rng);
}

/// Draws every matrix from N(0, 0.02²), those that write into the residual stream (`out_proj.weight`, `linear2.weight`) from
/// N(0, 0.02²/n), n their number in the model, 2 a layer; biases become 0 and norms stay (Radford et al., "Language Models are
/// Unsupervised Multitask Learners", 2019, section 2.3).
template <class M>
void init_gpt2(const M& model, Rng& rng) {
  init_gpt2(named_parameters(model), rng);
}

}  // namespace tapeform::nn
