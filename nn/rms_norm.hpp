#pragma once
#include <tapeform/nn/module.hpp>

namespace tapeform::nn {

struct RmsNormOptions {
  double eps = 0x1p-23;            ///< torch's default, float32's rounding step
  bool elementwise_affine = true;  ///< false: no weight
};

/// Norm by the root mean square over the last axis with a trained weight (ones at the start); no mean is taken out and there is no bias
/// (Zhang, Sennrich, "Root Mean Square Layer Normalization", 2019).
struct RMSNorm : Module<RMSNorm> {
  using Options = RmsNormOptions;

  Parameter weight;  ///< [D], or nothing

  /// @throws ValueError unless num_hiddens ≥ 1 and eps is finite and ≥ 0.
  explicit RMSNorm(Dim num_hiddens, const Options& options = {});
  /// x [..., D] → [..., D]. @throws ShapeError, DTypeError when x does not fit.
  Tensor forward(const Tensor& x) const;
  /// Ones again.
  void reset();
  void visit(Fields& field) { field("weight", weight); }

 private:
  Dim num_hiddens_;
  double eps_;
};

}  // namespace tapeform::nn
