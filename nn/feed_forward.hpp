#pragma once
#include <cstdint>
#include <tapeform/nn/linear.hpp>

namespace tapeform::nn {

enum class Activation : std::uint8_t {
  relu,
  gelu,       ///< x·Φ(x), by erf
  gelu_tanh,  ///< its approximation by tanh
  silu,       ///< x·σ(x)
};

/// `x` through the activation.
Tensor activate(const Tensor& x, Activation activation);

/// A gated unit: x [..., 2F] holds values a and then gates b; y = a·activation(b) [..., F] (Shazeer, "GLU Variants Improve Transformer",
/// 2020). @throws ShapeError unless x has a last axis of even size.
Tensor activate_gated(const Tensor& x, Activation activation);

struct FeedForwardOptions {
  Activation activation = Activation::relu;
  double dropout = 0.0;  ///< between activation and second map
  bool bias = true;
  bool gated = false;  ///< `activate_gated` for the activation: linear1 is [2F, D], rows of values and then of gates
};

/// The position-wise feed-forward network (Vaswani et al., "Attention Is All You Need", 2017, section 3.3):
/// y = W₂·dropout(activation(W₁·x + b₁)) + b₂. Gated: ReGLU, GEGLU and SwiGLU for relu, gelu and silu.
struct FeedForward : Module<FeedForward> {
  using Options = FeedForwardOptions;

  Linear linear1;  ///< [F, D]; [2F, D] when gated
  Linear linear2;  ///< [D, F]

  /// @throws ValueError unless both widths are at least 1 and dropout is a probability.
  FeedForward(Dim num_hiddens, Dim ffn_num_hiddens, Rng& rng, const Options& options = {});
  /// x [..., D] → [..., D]. @throws ShapeError, DTypeError when x does not fit.
  Tensor forward(const Tensor& x) const;
  void visit(Fields& field) {
    field("linear1", linear1);
    field("linear2", linear2);
  }

 private:
  Options options_;
};

}  // namespace tapeform::nn
