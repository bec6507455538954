#pragma once
#include <tapeform/nn/module.hpp>

namespace tapeform::nn {

/// Each element is 0 with probability p and x/(1 − p) otherwise, under a `Tape tape(rng)`; the identity elsewhere.
struct Dropout : Module<Dropout> {
  double p;

  /// @throws ValueError unless 0 ≤ p ≤ 1.
  explicit Dropout(double p = 0.5);
  /// x [...] → [...]. @throws TapeError for p > 0 under a tape without randomness.
  Tensor forward(const Tensor& x) const;
  void visit(Fields&) {}
};

}  // namespace tapeform::nn
