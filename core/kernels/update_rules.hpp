#pragma once
#include <tapeform/core/array.hpp>

namespace tapeform::kernels {

// What is the same for every element of an update; the formulas stand in core/update.hpp. The functions update all arrays but g in
// place; the caller has checked that they agree.

struct SgdFactors {
  double l2;                      // g + l2·w takes the place of g
  double keep, rate;              // b ← keep·b + rate·g
  double of_gradient, of_buffer;  // w ← w − lr·(of_gradient·g + of_buffer·b)
  double lr;
};
void sgd(Array& w, const Array& g, Array* b, const SgdFactors& factors);

struct AdamFactors {
  double l2;
  double keep;         // 1 − lr·weight_decay
  double m_rate;       // 1 − β₁
  double v_keep;       // β₂
  double v_rate;       // 1 − β₂
  double root_factor;  // 1/√(1 − β₂ᵗ)
  double eps;
  double step_size;  // lr/(1 − β₁ᵗ)
};
void adam(Array& w, const Array& g, Array& m, Array& v, Array* largest, const AdamFactors& factors);

struct RmspropFactors {
  double l2;
  double v_keep;  // α
  double v_rate;  // 1 − α
  double eps, momentum, lr;
};
void rmsprop(Array& w, const Array& g, Array& v, Array* mean, Array* b, const RmspropFactors& factors);

struct AdagradFactors {
  double l2, eps, lr;
};
void adagrad(Array& w, const Array& g, Array& sum, const AdagradFactors& factors);

struct LionFactors {
  double keep;            // 1 − lr·weight_decay
  double u_keep, u_rate;  // β₁, 1 − β₁
  double m_keep, m_rate;  // β₂, 1 − β₂
  double lr;
};
void lion(Array& w, const Array& g, Array& m, const LionFactors& factors);

/// The numbers of a piece of the arrays of an update: w, g, and up to three that it keeps (null when it has fewer).
template <class T>
struct UpdatePiece {
  T* w;
  const T* g;
  T *a, *b, *c;
  Dim n;
};

}  // namespace tapeform::kernels
