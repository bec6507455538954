// The two forms of GELU and their derivatives on float lanes, right to the last bits far into the tails. Compiled once per vector level.
//
// Both are x·F(x) with F a distribution function, F(x) = 1 - F(-x). With t = |x| and p = F(-t), which is never a difference,
//   gelu(x)  = max(x, 0) - t·p
//   gelu'(x) = q for x < 0, 1 - q otherwise,   q = p - t·F'(t)
// D. Hendrycks, K. Gimpel, Gaussian Error Linear Units, 2016.

#if defined(TAPEFORM_CORE_KERNELS_LEVELS_GELU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORM_CORE_KERNELS_LEVELS_GELU_INL_H_
#undef TAPEFORM_CORE_KERNELS_LEVELS_GELU_INL_H_
#else
#define TAPEFORM_CORE_KERNELS_LEVELS_GELU_INL_H_
#endif

#include "kernels/levels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

inline constexpr double normal_density_at_0 = 0.39894228040143267794;  // 1/√(2π)
// The tanh form is x·σ(v) with v = x·(a + b·x²): a = 2·√(2/π), b = 0.044715·a.
inline constexpr double gelu_tanh_a = 1.59576912160573071176;
inline constexpr double gelu_tanh_b = 0.07135481627260025;

/// |x|, no more than limit; NaN stays NaN, which min would not promise.
template <class D, class V>
HWY_INLINE V AbsUpTo(D d, V x, float limit) {
  const V t = hn::Abs(x);
  return hn::IfThenElse(hn::Gt(t, hn::Set(d, limit)), hn::Set(d, limit), t);
}

/// max(x, 0) with NaN kept.
template <class D, class V>
HWY_INLINE V Relu(D d, V x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
}

/// q where x < 0, 1 - q elsewhere.
template <class D, class V>
HWY_INLINE V MirrorAtHalf(D d, V x, V q) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), q, hn::Sub(hn::Set(d, 1.0f), q));
}

/// e^(-t²/2), in parts.
template <class D, class V>
HWY_INLINE ExpParts<D> BellInParts(D d, V t) {
  const V minus_half = hn::Set(d, -0.5f);
  const auto square = TwoProduct(d, t, t);
  return ExpInParts(d, hn::Mul(minus_half, square.high), hn::Mul(minus_half, square.low));
}

/// x·Φ(x) = ½·x·erfc(-x/√2).
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V GeluErf(D d, V x) {
  const V t = AbsUpTo(d, x, 14.6f);  // Φ(-14.6) rounds to 0
  const auto e = BellInParts(d, t);
  const V q = hn::Mul(t, MillsRatio(d, t));
  return hn::Sub(Relu(d, x), ScaleByPowerOf2(d, hn::MulAdd(q, e.growth, q), e.exponent));
}

/// Φ(x) + x·φ(x).
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V GeluErfDerivative(D d, V x) {
  const V t = AbsUpTo(d, x, 14.6f);
  const auto e = BellInParts(d, t);
  const V q = hn::NegMulAdd(t, hn::Set(d, static_cast<float>(normal_density_at_0)), MillsRatio(d, t));
  return MirrorAtHalf(d, x, ScaleByPowerOf2(d, hn::MulAdd(q, e.growth, q), e.exponent));
}

/// e^-v, v = t·(a + b·t²), in parts. v goes up to 118 and is kept in two parts: an error of its last bit would be one of 100 ULP here.
template <class D, class V>
HWY_INLINE ExpParts<D> LogisticTailInParts(D d, V t) {
  constexpr float a = static_cast<float>(gelu_tanh_a), b = static_cast<float>(gelu_tanh_b);
  const V a_low = hn::Set(d, static_cast<float>(gelu_tanh_a - a)), b_low = hn::Set(d, static_cast<float>(gelu_tanh_b - b));
  const auto square = TwoProduct(d, t, t);
  const auto cubic = TwoProduct(d, hn::Set(d, b), square.high);
  const V cubic_low = hn::MulAdd(hn::Set(d, b), square.low, hn::MulAdd(b_low, square.high, cubic.low));
  const V sum = hn::Add(hn::Set(d, a), cubic.high);  // and what it lost (D. E. Knuth's two-sum)
  const V part = hn::Sub(sum, hn::Set(d, a));
  const V lost = hn::Add(hn::Sub(hn::Set(d, a), hn::Sub(sum, part)), hn::Sub(cubic.high, part));
  const V sum_low = hn::Add(hn::Add(lost, a_low), cubic_low);
  const auto v = TwoProduct(d, t, sum);
  return ExpInParts(d, hn::Neg(v.high), hn::Neg(hn::MulAdd(t, sum_low, v.low)));
}

/// ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))).
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V GeluTanh(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V t = AbsUpTo(d, x, 11.2f);  // e^-v rounds to 0
  const auto e = LogisticTailInParts(d, t);
  const V tail = ScaleByPowerOf2(d, hn::Add(e.growth, one), e.exponent);
  const V q = hn::Div(t, hn::Add(one, tail));
  return hn::Sub(Relu(d, x), ScaleByPowerOf2(d, hn::MulAdd(q, e.growth, q), e.exponent));
}

/// σ(v) + x·v'·σ(v)·σ(-v), v' = a + 3·b·x².
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V GeluTanhDerivative(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V t = AbsUpTo(d, x, 11.2f);
  const auto e = LogisticTailInParts(d, t);
  const V tail = ScaleByPowerOf2(d, hn::Add(e.growth, one), e.exponent);
  const V inverse = hn::Div(one, hn::Add(one, tail));
  const V slope = hn::MulAdd(hn::Mul(t, t), hn::Set(d, static_cast<float>(3.0 * gelu_tanh_b)), hn::Set(d, static_cast<float>(gelu_tanh_a)));
  const V q = hn::Mul(inverse, hn::NegMulAdd(hn::Mul(t, slope), inverse, one));
  return MirrorAtHalf(d, x, ScaleByPowerOf2(d, hn::MulAdd(q, e.growth, q), e.exponent));
}

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#endif  // TAPEFORM_CORE_KERNELS_LEVELS_GELU_INL_H_
