#pragma once
#include <tapeform/nn/module.hpp>

namespace tapeform::nn {

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;  ///< false: neither weight nor bias
  bool bias = true;
};

/// Layer norm over the last axis with a trained weight (ones at the start) and bias (zeros).
struct LayerNorm : Module<LayerNorm> {
  using Options = LayerNormOptions;

  Parameter weight;  ///< [D], or nothing
  Parameter bias;    ///< [D], or nothing

  /// @throws ValueError unless num_hiddens ≥ 1 and eps is finite and ≥ 0.
  explicit LayerNorm(Dim num_hiddens, const Options& options = {});
  /// x [..., D] → [..., D]. @throws ShapeError, DTypeError when x does not fit.
  Tensor forward(const Tensor& x) const;
  /// Ones and zeros again.
  void reset();
  void visit(Fields& field) {
    field("weight", weight);
    field("bias", bias);
  }

 private:
  Dim num_hiddens_;
  double eps_;
};

}  // namespace tapeform::nn
