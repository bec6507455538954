#pragma once
#include <cstdint>
#include <tapeform/core/array.hpp>

namespace tapeform {

// One update of a parameter w by its gradient g, in place and in one pass: what optimizers are made of. All arrays have one shape and
// dtype; those that an update keeps are 0 before the first one, and a null pointer leaves out what it stands for. `step` counts from 1.
// Every function throws ShapeError or DTypeError unless all arrays agree, before anything changes.

/// The numbers of one update of stochastic gradient descent.
struct SgdStep {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
  std::int64_t step = 1;
};

/// Gradient descent, with momentum when it is given a `buffer` b:
///
///     g ← g + weight_decay·w
///     b ← momentum·b + (1 − dampening)·g            b ← g at step 1
///     w ← w − lr·b                                  Nesterov: w ← w − lr·(g + momentum·b);  without b: w ← w − lr·g
///
/// Source: Sutskever, Martens, Dahl and Hinton, "On the importance of initialization and momentum in deep learning", 2013, with the
/// rate outside of b, as torch has it: a new rate acts at once.
void sgd_update(Array& w, const Array& g, Array* buffer, const SgdStep& step);

/// The numbers of one update of Adam or AdamW.
struct AdamStep {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0;  ///< of the weights themselves: AdamW's
  double l2 = 0;            ///< added to the gradient: Adam's
  std::int64_t step = 1;
};

/// Adam and AdamW:
///
///     g ← g + l2·w                        w ← w·(1 − lr·weight_decay)
///     m ← m + (1 − β₁)(g − m)             v ← β₂·v + (1 − β₂)·g²
///     w ← w − lr·m̂ / (√v̂ + eps)           m̂ = m/(1 − β₁ᵗ),  v̂ = v/(1 − β₂ᵗ),  t = step
///
/// eps stands outside of the root and beside the corrected v̂; `weight_decay` does not pass through the moments. With `largest` (AMSGrad)
/// the largest v so far takes the place of v in v̂.
/// Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1; Loshchilov and Hutter, "Decoupled Weight Decay
/// Regularization", 2019, algorithm 2; Reddi, Kale and Kumar, "On the Convergence of Adam and Beyond", 2018, algorithm 2.
void adam_update(Array& w, const Array& g, Array& m, Array& v, Array* largest, const AdamStep& step);

/// The numbers of one update of RMSprop.
struct RmspropStep {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
};

/// RMSprop; centred when it is given the `mean` m of the gradients, with momentum when it is given a `buffer` b:
///
///     g ← g + weight_decay·w
///     v ← α·v + (1 − α)·g²                m ← m + (1 − α)(g − m)
///     u = g / (√v + eps)                  centred: g / (√max(v − m², 0) + eps)
///     w ← w − lr·u                        with b: b ← momentum·b + u,  w ← w − lr·b
///
/// v − m² is a variance, which rounding may make negative: it counts as 0, so no root is NaN.
/// Source: Tieleman and Hinton, "Lecture 6.5: rmsprop", 2012; centred: Graves, "Generating Sequences With Recurrent Neural Networks",
/// 2013, equations 38 to 40, with eps outside of the root.
void rmsprop_update(Array& w, const Array& g, Array& v, Array* mean, Array* buffer, const RmspropStep& step);

/// The numbers of one update of Adagrad.
struct AdagradStep {
  double lr = 1e-2, eps = 1e-10, weight_decay = 0;
};

/// Adagrad: g ← g + weight_decay·w,  sum ← sum + g²,  w ← w − lr·g / (√sum + eps).
/// Source: Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", 2011, figure 1, with
/// the diagonal alone.
void adagrad_update(Array& w, const Array& g, Array& sum, const AdagradStep& step);

/// The numbers of one update of Lion.
struct LionStep {
  double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
};

/// Lion:
///
///     u = sign(β₁·m + (1 − β₁)·g)         sign(0) = 0; NaN stays NaN
///     w ← w·(1 − lr·weight_decay) − lr·u
///     m ← β₂·m + (1 − β₂)·g
///
/// Source: Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023, algorithm 2.
void lion_update(Array& w, const Array& g, Array& m, const LionStep& step);

/// √(Σ x²), added up in float64 in a fixed order; neither overflows nor underflows on the way. NaN when an element is, else infinite
/// when one is.
double l2_norm(const Array& x);

/// max |x|; NaN when an element is; 0 when there is none.
double largest_size(const Array& x);

/// x ← x·factor, each product rounded once.
void multiply_in_place(Array& x, double factor);

/// x ← min(max(x, −limit), limit); NaN stays NaN.
void clamp_in_place(Array& x, double limit);

/// x ← x + rate·(y − x), in float64, rounded once: a step of a running average. With rate 1 it is y.
/// @throws ShapeError, DTypeError unless both agree.
void blend_in_place(Array& x, const Array& y, double rate);

}  // namespace tapeform
