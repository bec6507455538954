// The logistic function σ(x) = 1/(1 + e^-x), x·σ(x) and their derivatives on float lanes, right to the last bits far into the tails.
// Compiled once per vector level.
//
// With t = |x| and e = e^-t: σ(-t) = e/(1 + e) and σ(t) = 1/(1 + e), neither a difference. e is kept in parts until the last product, so
// that a denormal result is rounded once.

#if defined(TAPEFORM_CORE_KERNELS_LEVELS_SIGMOID_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORM_CORE_KERNELS_LEVELS_SIGMOID_INL_H_
#undef TAPEFORM_CORE_KERNELS_LEVELS_SIGMOID_INL_H_
#else
#define TAPEFORM_CORE_KERNELS_LEVELS_SIGMOID_INL_H_
#endif

#include "kernels/levels/gelu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

/// e^-t in parts, and 1/(1 + e^-t).
template <class D>
struct LogisticParts {
  ExpParts<D> e;
  hn::VFromD<D> inverse;

  /// v·e^-t.
  HWY_INLINE hn::VFromD<D> TimesTail(D d, hn::VFromD<D> v) const { return ScaleByPowerOf2(d, hn::MulAdd(v, e.growth, v), e.exponent); }
};

inline constexpr float logistic_end = 120.0f;  // t·e^-t rounds to 0

template <class D, class V>
HWY_INLINE LogisticParts<D> LogisticInParts(D d, V t) {
  const V one = hn::Set(d, 1.0f);
  const auto e = ExpInParts(d, hn::Neg(t), hn::Zero(d));
  return {e, hn::Div(one, hn::Add(one, ScaleByPowerOf2(d, hn::Add(e.growth, one), e.exponent)))};
}

template <class D, class V = hn::VFromD<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  const auto parts = LogisticInParts(d, AbsUpTo(d, x, logistic_end));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), parts.TimesTail(d, parts.inverse), parts.inverse);
}

/// σ(x)·σ(-x).
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V SigmoidDerivative(D d, V x) {
  const auto parts = LogisticInParts(d, AbsUpTo(d, x, logistic_end));
  return parts.TimesTail(d, hn::Mul(parts.inverse, parts.inverse));
}

/// x·σ(x); -0 at -inf.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V Silu(D d, V x) {
  const V t = AbsUpTo(d, x, logistic_end);
  const auto parts = LogisticInParts(d, t);
  const V left = hn::Neg(parts.TimesTail(d, hn::Mul(t, parts.inverse)));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), left, hn::Mul(x, parts.inverse));
}

/// σ(x)·(1 + x·σ(-x)).
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V SiluDerivative(D d, V x) {
  const V t = AbsUpTo(d, x, logistic_end);
  const auto parts = LogisticInParts(d, t);
  const V q = hn::Mul(parts.inverse, hn::NegMulAdd(t, parts.inverse, hn::Set(d, 1.0f)));
  return MirrorAtHalf(d, x, parts.TimesTail(d, q));
}

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#endif  // TAPEFORM_CORE_KERNELS_LEVELS_SIGMOID_INL_H_
