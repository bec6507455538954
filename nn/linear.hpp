#pragma once
#include <tapeform/core/random.hpp>
#include <tapeform/nn/module.hpp>

namespace tapeform::nn {

struct LinearOptions {
  bool bias = true;
};

/// An affine map of the last axis: y = x·Wᵀ + bias. Both start as U(±1/√in).
struct Linear : Module<Linear> {
  using Options = LinearOptions;

  Parameter weight;  ///< [out, in]
  Parameter bias;    ///< [out], or nothing

  /// @throws ValueError unless both widths are at least 1.
  Linear(Dim in, Dim out, Rng& rng, const Options& options = {});
  /// x [..., in] → [..., out]. @throws ShapeError, DTypeError when x does not fit the weight.
  Tensor forward(const Tensor& x) const;
  /// Draws weight and bias again.
  void reset(Rng& rng);
  void visit(Fields& field) {
    field("weight", weight);
    field("bias", bias);
  }
};

}  // namespace tapeform::nn
