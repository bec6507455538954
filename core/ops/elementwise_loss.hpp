#pragma once
#include <tapeform/core/ops/loss.hpp>

namespace tapeform {

// Losses of one number against another, element by element. `target` has x's shape and dtype: nothing broadcasts, since [N] against [N, 1]
// would make a table of N² losses. With `Reduction::none` the result has x's shape; a mean divides by the number of elements, and of
// nothing is 0. Gradients go to both, divided by that number for a mean; float32 is computed in double.
//
// Every loss @throws ShapeError unless target has x's shape, DTypeError unless it has x's dtype, ValueError when one holds nothing.

struct LossOptions {
  Reduction reduction = Reduction::mean;
};

/// (x - t)².   dx = 2·(x - t)·dloss,   dt = -dx.
Tensor mse_loss(const Tensor& x, const Tensor& target, const LossOptions& options = {});
/// |x - t|.   dx = sign(x - t)·dloss, 0 where they are equal,   dt = -dx.
Tensor l1_loss(const Tensor& x, const Tensor& target, const LossOptions& options = {});

struct HuberLossOptions {
  double delta = 1;  ///< where the parabola ends
  Reduction reduction = Reduction::mean;
};

/// With d = x - t: ½·d² where |d| ≤ δ, δ·(|d| - ½·δ) beyond.   dx = d·dloss cut to [-δ, δ],   dt = -dx.
/// Huber, "Robust Estimation of a Location Parameter", 1964. @throws ValueError also unless δ is positive and finite.
Tensor huber_loss(const Tensor& x, const Tensor& target, const HuberLossOptions& options = {});

struct SmoothL1LossOptions {
  double beta = 1;  ///< where the parabola ends; 0: |d|
  Reduction reduction = Reduction::mean;
};

/// With d = x - t: ½·d²/β where |d| < β, |d| - ½·β beyond; Huber's loss over its δ.   dx = dloss·d/β, cut to [-1, 1],   dt = -dx.
/// @throws ValueError also unless β is finite and not negative.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, const SmoothL1LossOptions& options = {});

struct BceWithLogitsOptions {
  Array pos_weight = {};  ///< weight of the part of target 1, broadcast to x; 1 when it holds nothing
  Reduction reduction = Reduction::mean;
};

/// Binary cross-entropy of σ(x) with the probability t: -(w·t·ln σ(x) + (1 - t)·ln σ(-x)), w the `pos_weight`; no sigmoid is rounded to 0
/// or 1 on the way, and a part of weight 0 takes no part.
/// dx = ((1 - t)·σ(x) - w·t·σ(-x))·dloss,   dt = (ln σ(-x) - w·ln σ(x))·dloss.
/// @throws ShapeError, DTypeError also when pos_weight does not fit.
Tensor bce_with_logits(const Tensor& x, const Tensor& target, const BceWithLogitsOptions& options = {});

struct KlDivOptions {
  bool log_target = false;  ///< the target holds log-probabilities
  Reduction reduction = Reduction::mean;
};

/// Terms of the Kullback-Leibler divergence of the distribution x from the target t, where x holds log-probabilities: t·(ln t - x), 0 where
/// t = 0; with `log_target` eᵗ·(t - x).   dx = -t·dloss (-eᵗ·dloss),   dt = (ln t + 1 - x)·dloss (eᵗ·(t - x + 1)·dloss).
///
/// The divergence of a distribution is the sum over its axis, so over a batch [B, V] it is the sum divided by B: a mean divides by B·V, as
/// torch's does.
Tensor kl_div(const Tensor& x, const Tensor& target, const KlDivOptions& options = {});

}  // namespace tapeform
