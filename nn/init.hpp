#pragma once
#include <cstdint>
#include <tapeform/core/array.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/nn/module.hpp>
#include <vector>

namespace tapeform::nn {

enum class Distribution : std::uint8_t { uniform, normal };

struct XavierOptions {
  Distribution distribution = Distribution::uniform;
  double gain = 1.0;  ///< factor of the deviation
};

enum class Fan : std::uint8_t { in, out };

struct KaimingOptions {
  Distribution distribution = Distribution::uniform;
  Fan fan = Fan::in;   ///< which width keeps its variance: in forward, out backward
  double slope = 0.0;  ///< of the leaky relu that follows, on the left; 1 when nothing follows
};

struct NormalOptions {
  double mean = 0.0;
  double deviation = 1.0;
};

struct TruncatedNormalOptions {
  double mean = 0.0;
  double deviation = 1.0;  ///< before what lies beyond the limit is left out
  double limit = 2.0;      ///< in deviations, on both sides of the mean
};

struct OrthogonalOptions {
  double gain = 1.0;
};

// ---- numbers for one weight, float32 ----
//
// A weight is [out, in]. @throws ShapeError unless it has two axes, ValueError for an option that is not finite or out of range.

/// U(−1/√fan_in, 1/√fan_in): what torch gives the weight and the bias of a Linear (He et al., "Delving Deep into Rectifiers", 2015,
/// section 2.2, with its a = √5); any shape. @throws ValueError unless fan_in ≥ 1.
Array fan_in_uniform(const Shape& shape, Dim fan_in, Rng& rng);

/// Variance gain²·2/(in + out), from U(−a, a) with a = gain·√(6/(in + out)) or from a normal distribution (Glorot, Bengio, "Understanding
/// the Difficulty of Training Deep Feedforward Neural Networks", 2010, equations 12 and 16).
Array xavier(const Shape& shape, Rng& rng, const XavierOptions& options = {});

/// Variance 2/((1 + slope²)·fan), from a uniform or a normal distribution (He et al., 2015, equations 10, 14 and 15).
Array kaiming(const Shape& shape, Rng& rng, const KaimingOptions& options = {});

/// N(mean, deviation²) without what lies more than `limit` deviations from the mean; any shape.
Array truncated_normal(const Shape& shape, Rng& rng, const TruncatedNormalOptions& options = {});

/// gain times a matrix with orthonormal rows, or columns where there are fewer of them, each such matrix equally likely: the Q of a normal
/// matrix (Saxe, McClelland, Ganguli, "Exact Solutions to the Nonlinear Dynamics of Learning in Deep Linear Neural Networks", 2014).
Array orthogonal(const Shape& shape, Rng& rng, const OrthogonalOptions& options = {});

// ---- over a module ----
//
// Each draws every matrix of a model (weights of two axes, tables of embeddings among them) and leaves its vectors (biases, norms). With
// `named_parameters(model, pattern)` instead of a model, only some: `init_orthogonal(nn::named_parameters(model, "*.linear?.weight"),
// rng)`. Values are written in place, in the dtype that is there: handles and ties stay.

void init_xavier(const std::vector<NamedParameter>& parameters, Rng& rng, const XavierOptions& options = {});
void init_kaiming(const std::vector<NamedParameter>& parameters, Rng& rng, const KaimingOptions& options = {});
void init_normal(const std::vector<NamedParameter>& parameters, Rng& rng, const NormalOptions& options = {});
void init_truncated_normal(const std::vector<NamedParameter>& parameters, Rng& rng, const TruncatedNormalOptions& options = {});
void init_orthogonal(const std::vector<NamedParameter>& parameters, Rng& rng, const OrthogonalOptions& options = {});
void init_gpt2(const std::vector<NamedParameter>& parameters, Rng& rng);

/// By `xavier`: what torch does to a whole nn.Transformer.
template <Visitable M>
void init_xavier(const M& model, Rng& rng, const XavierOptions& options = {}) {
  init_xavier(named_parameters(model), rng, options);
}

/// By `kaiming`.
template <Visitable M>
void init_kaiming(const M& model, Rng& rng, const KaimingOptions& options = {}) {
  init_kaiming(named_parameters(model), rng, options);
}

/// From N(mean, deviation²).
template <Visitable M>
void init_normal(const M& model, Rng& rng, const NormalOptions& options = {}) {
  init_normal(named_parameters(model), rng, options);
}

/// By `truncated_normal`.
template <Visitable M>
void init_truncated_normal(const M& model, Rng& rng, const TruncatedNormalOptions& options = {}) {
  init_truncated_normal(named_parameters(model), rng, options);
}

/// By `orthogonal`.
template <Visitable M>
void init_orthogonal(const M& model, Rng& rng, const OrthogonalOptions& options = {}) {
  init_orthogonal(named_parameters(model), rng, options);
}

/// Draws every matrix from N(0, 0.02²), those that write into the residual stream (`out_proj.weight`, `linear2.weight`) from
/// N(0, 0.02²/n), n their number in the model, 2 a layer; biases become 0 and norms stay (Radford et al., "Language Models are
/// Unsupervised Multitask Learners", 2019, section 2.3).
template <Visitable M>
void init_gpt2(const M& model, Rng& rng) {
  init_gpt2(named_parameters(model), rng);
}

namespace detail {
struct TorchInit final : Fields {
  explicit TorchInit(Rng& numbers) : rng(numbers) {}
  Rng& rng;
  void on_parameter(const char*, Parameter&) override {}
  bool enter(const char* name, const void* self, const void* type) override;
};
}  // namespace detail

/// Gives every layer of this library in a model the first values of torch's layer of that name, in the order of its fields: `reset` of each
/// Linear, Embedding, LearnedPositions, MultiHeadAttention, LayerNorm and RMSNorm. Parameters of your own modules stay as they are.
template <Visitable M>
void init_torch(M& model, Rng& rng) {
  detail::TorchInit fields(rng);
  fields("", model);
}

}  // namespace tapeform::nn
