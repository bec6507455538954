// Vector functions on Highway lanes: Exp, Log, Tanh, Erf, Erfc and what the activations build on. Compiled once per vector level.
//
// float: own approximations, fitted by weighted minimax. Largest error over all floats, denormal results included: exp and log 1 ULP, tanh
// and erf 1.5, erfc 3 (3.5 on levels without FMA); infinities go to the limits, NaN passes. double: libm, lane by lane, since float64 is
// there to check with.

#if defined(TAPEFORM_CORE_KERNELS_LEVELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORM_CORE_KERNELS_LEVELS_MATH_INL_H_
#undef TAPEFORM_CORE_KERNELS_LEVELS_MATH_INL_H_
#else
#define TAPEFORM_CORE_KERNELS_LEVELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/levels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

/// f on every lane, in scalar code.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V PerLane(D d, V x, double (*f)(double)) {
  HWY_ALIGN hn::TFromD<D> lane[hn::MaxLanes(d)];
  hn::Store(x, d, lane);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) lane[i] = static_cast<hn::TFromD<D>>(f(lane[i]));
  return hn::Load(d, lane);
}

/// c0 + c1·x + c2·x² + …, by Horner's rule.
template <class D, class V>
HWY_INLINE V Polynomial(D d, V, float c) {
  return hn::Set(d, c);
}
template <class D, class V, class... C>
HWY_INLINE V Polynomial(D d, V x, float c, C... rest) {
  return hn::MulAdd(Polynomial(d, x, rest...), x, hn::Set(d, c));
}

/// e^x = mantissa · 2^exponent with the mantissa in about [0.7, 1.42]. Callers multiply into the mantissa first and scale once, so a
/// denormal result is rounded once.
template <class D>
struct ExpParts {
  hn::VFromD<D> growth;
  hn::VFromD<hn::RebindToSigned<D>> exponent;
};

/// (e^r - 1 - r) / r² for |r| <= ln 2 / 2.
template <class D, class V>
HWY_INLINE V ExpTail(D d, V r) {
  return Polynomial(d, r, 4.999999404e-01f, 1.666651964e-01f, 4.166840017e-02f, 8.368851617e-03f, 1.381431823e-03f);
}

/// e^(x + low), |low| small against 1, -174 <= x <= 89: `low` carries the bits that a rounded x would lose.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE ExpParts<D> ExpInParts(D d, V x, V low) {
  const auto exponent = hn::NearestInt(hn::Mul(x, hn::Set(d, 1.44269504088896341f)));
  const V n = hn::ConvertTo(d, exponent);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);  // ln 2 in two parts: n times the first is exact
  r = hn::Add(hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r), low);
  return {hn::MulAdd(hn::Mul(r, r), ExpTail(d, r), r), exponent};
}

/// x · 2^exponent, -252 <= exponent <= 254, rounded once: in two steps, because 2^exponent alone may be no float.
template <class D, class V, class VI>
HWY_INLINE V ScaleByPowerOf2(D d, V x, VI exponent) {
  const hn::RebindToSigned<D> di;
  const VI bias = hn::Set(di, 127);
  const VI half = hn::ShiftRight<1>(exponent);
  const V first = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(exponent, half), bias)));
  return hn::Mul(hn::Mul(x, first), second);
}

/// e^x. Denormal results are exact to the last bit or the one beside it; 0 under -103.98, inf over 88.7228.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V Exp(D d, V x) {
  if constexpr (is_float_v<D>) {
    const V clamped = hn::Min(hn::Max(x, hn::Set(d, -105.0f)), hn::Set(d, 89.0f));
    const auto parts = ExpInParts(d, clamped, hn::Zero(d));
    return hn::IfThenElse(hn::IsNaN(x), x, ScaleByPowerOf2(d, hn::Add(parts.growth, hn::Set(d, 1.0f)), parts.exponent));
  } else {
    return PerLane(d, x, [](double v) { return std::exp(v); });
  }
}

/// e^x for x <= 88, with 0 for what is smaller than the smallest normal float, in half as many instructions as Exp: what a softmax asks
/// for, where x is a distance from the row's maximum and a weight of 1e-38 is worth nothing.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V ExpOrZero(D d, V x) {
  if constexpr (is_float_v<D>) {
    const hn::RebindToSigned<D> di;
    const V magic = hn::Set(d, 12582912.0f);  // 1.5 · 2^23: adding it rounds to an integer, which the lowest bits then hold
    const V moved = hn::MulAdd(x, hn::Set(d, 1.44269504088896341f), magic);
    const V n = hn::Sub(moved, magic);
    V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
    r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
    const V growth = hn::MulAdd(hn::Mul(r, r), ExpTail(d, r), r);
    const V power = hn::BitCast(d, hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, moved)), hn::Set(di, 127 << 23)));
    const V y = hn::Mul(hn::Add(growth, hn::Set(d, 1.0f)), power);
    return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3365f)), y);  // NaN is not less
  } else {
    return PerLane(d, x, [](double v) { return std::exp(v); });
  }
}

/// The one or the other: what a user is given keeps denormals, whose logarithm is finite.
template <bool denormals, class D, class V = hn::VFromD<D>>
HWY_INLINE V SoftmaxExp(D d, V x) {
  if constexpr (denormals)
    return Exp(d, x);
  else
    return ExpOrZero(d, x);
}

/// ln x. -inf at ±0, NaN under 0.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V Log(D d, V x) {
  if constexpr (is_float_v<D>) {
    const hn::RebindToSigned<D> di;
    const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    const auto denormal = hn::Lt(x, hn::Set(d, std::numeric_limits<float>::min()));
    const auto bits = hn::BitCast(di, hn::IfThenElse(denormal, hn::Mul(x, hn::Set(d, 0x1p23f)), x));
    // x = 2^k · m with m in [√½, √2): the offset moves the cut from 1 to √½.
    const auto moved = hn::Add(bits, hn::Set(di, 0x3f800000 - 0x3f3504f3));
    const V shift = hn::IfThenElseZero(denormal, hn::Set(d, 23.0f));
    const V k = hn::Sub(hn::ConvertTo(d, hn::Sub(hn::ShiftRight<23>(moved), hn::Set(di, 127))), shift);
    const V m = hn::BitCast(d, hn::Add(hn::And(moved, hn::Set(di, 0x007fffff)), hn::Set(di, 0x3f3504f3)));
    const V f = hn::Sub(m, hn::Set(d, 1.0f));  // exact
    const V f2 = hn::Mul(f, f);
    const V p = Polynomial(d, f, 3.333331347e-01f, -2.500000894e-01f, 2.000213414e-01f, -1.666800678e-01f, 1.421922296e-01f,
                           -1.240513772e-01f, 1.189033613e-01f, -1.167964339e-01f, 6.746559590e-02f);
    V y = hn::Mul(hn::Mul(f2, f), p);
    y = hn::MulAdd(k, hn::Set(d, -2.12194440e-4f), y);
    y = hn::NegMulAdd(hn::Set(d, 0.5f), f2, y);
    y = hn::MulAdd(k, hn::Set(d, 0.693359375f), hn::Add(f, y));
    y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), y);
    y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), y);
    return hn::IfThenElse(hn::Lt(x, infinity), y, x);  // inf and NaN pass
  } else {
    return PerLane(d, x, [](double v) { return std::log(v); });
  }
}

/// tanh x = x + x³·P(x²) near 0, 1 - 2/(e^2|x| + 1) with the sign of x elsewhere.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V Tanh(D d, V x) {
  if constexpr (is_float_v<D>) {
    const V one = hn::Set(d, 1.0f);
    const V t = hn::Min(hn::Abs(x), hn::Set(d, 10.0f));  // tanh 10 rounds to 1
    const V s = hn::Mul(t, t);
    const V p = Polynomial(d, s, -3.333331645e-01f, 1.333258599e-01f, -5.385230854e-02f, 2.107167430e-02f, -6.274233107e-03f);
    const V near = hn::MulAdd(hn::Mul(s, t), p, t);
    const auto e = ExpInParts(d, hn::Add(t, t), hn::Zero(d));
    const V far = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(ScaleByPowerOf2(d, hn::Add(e.growth, one), e.exponent), one)));
    const V y = hn::CopySignToAbs(hn::IfThenElse(hn::Lt(t, hn::Set(d, 0.55f)), near, far), x);
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  } else {
    return PerLane(d, x, [](double v) { return std::tanh(v); });
  }
}

/// A number in two parts, high + low with high the rounded sum: twice the bits of one.
template <class D>
struct Pair {
  hn::VFromD<D> high, low;
};

/// The upper 12 bits of a's mantissa: products of two such halves are exact.
template <class D, class V>
HWY_INLINE V UpperHalf(D d, V a) {
  return hn::And(a, hn::BitCast(d, hn::Set(hn::RebindToSigned<D>(), ~0xfff)));
}

/// a·b exactly (T. J. Dekker, A floating-point technique for extending the available precision, 1971, where there is no FMA).
template <class D, class V>
HWY_INLINE Pair<D> TwoProduct(D d, V a, V b) {
  const V high = hn::Mul(a, b);
#if HWY_NATIVE_FMA
  (void)d;
  return {high, hn::MulSub(a, b, high)};
#else
  const V a1 = UpperHalf(d, a), a2 = hn::Sub(a, a1);
  const V b1 = UpperHalf(d, b), b2 = hn::Sub(b, b1);
  const V cross = hn::Add(hn::Sub(hn::Mul(a1, b1), high), hn::Add(hn::Mul(a1, b2), hn::Mul(a2, b1)));
  return {high, hn::Add(cross, hn::Mul(a2, b2))};
#endif
}

/// Mills' ratio of the normal distribution over √(2π): Φ(-t)·e^(t²/2) for 0 <= t <= 14.6. It falls from 1/2 like 1/t: the variable
/// u = (t - c)/(t + c) and the factor 1/(t + c) leave a nearly flat polynomial.
template <class D, class V>
HWY_INLINE V MillsRatio(D d, V t) {
  const V c = hn::Set(d, 2.75f);
  const V sum = hn::Add(t, c);
  const V u = hn::Div(hn::Sub(t, c), sum);
  const V p = Polynomial(d, u, 7.189860344e-01f, -4.743541181e-01f, 1.823344231e-01f, -1.656605862e-02f, -1.644538902e-02f,
                         3.211088246e-03f, 2.504167147e-03f, -3.047966748e-04f, -4.558975052e-04f, -2.181309901e-05f, 4.097255078e-05f);
  return hn::Div(p, sum);
}

/// erfc t = e^(-t²) · erfcx t for 0 <= t <= 11, with t² in two parts: rounded, it would cost 100 ULP at t = 10.
/// erfcx falls from 1 like 1/(√π·t): the variable u = (t - c)/(t + c) and the factor 1/(t + c) leave a nearly flat polynomial.
template <class D, class V>
HWY_INLINE V ErfcOfPositive(D d, V t) {
  const auto square = TwoProduct(d, t, t);
  const auto e = ExpInParts(d, hn::Neg(square.high), hn::Neg(square.low));
  const V c = hn::Set(d, 2.25f);
  const V sum = hn::Add(t, c);
  const V u = hn::Div(hn::Sub(t, c), sum);
  const V p = Polynomial(d, u, 1.039892673e+00f, -7.519590259e-01f, 3.715170026e-01f, -1.012101322e-01f, -3.607493592e-03f,
                         1.165715884e-02f, -8.012818289e-04f, -1.628555823e-03f, 6.556977314e-05f, 2.538851986e-04f, 4.683979932e-05f);
  const V erfcx = hn::Div(p, sum);
  return ScaleByPowerOf2(d, hn::MulAdd(erfcx, e.growth, erfcx), e.exponent);
}

/// erf x for |x| < 0.9: x + x·P(x²).
template <class D, class V>
HWY_INLINE V ErfNearZero(D d, V x) {
  const V p = Polynomial(d, hn::Mul(x, x), 1.283791661e-01f, -3.761263490e-01f, 1.128371432e-01f, -2.686046623e-02f, 5.203772336e-03f,
                         -8.174790419e-04f, 8.509905456e-05f);
  return hn::MulAdd(x, p, x);
}

/// erf x = 2/√π · ∫₀ˣ e^(-t²) dt.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V Erf(D d, V x) {
  if constexpr (is_float_v<D>) {
    const V t = hn::Min(hn::Abs(x), hn::Set(d, 11.0f));
    const V far = hn::CopySignToAbs(hn::Sub(hn::Set(d, 1.0f), ErfcOfPositive(d, t)), x);
    return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Lt(t, hn::Set(d, 0.9f)), ErfNearZero(d, x), far));
  } else {
    return PerLane(d, x, [](double v) { return std::erf(v); });
  }
}

/// erfc x = 1 - erf x, right to the last bits where that difference would leave none.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V Erfc(D d, V x) {
  if constexpr (is_float_v<D>) {
    const V t = hn::Min(hn::Abs(x), hn::Set(d, 11.0f));
    const V right = ErfcOfPositive(d, t);
    const V far = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 2.0f), right), right);
    const V near = hn::Sub(hn::Set(d, 1.0f), ErfNearZero(d, x));
    return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Lt(t, hn::Set(d, 0.8f)), near, far));
  } else {
    return PerLane(d, x, [](double v) { return std::erfc(v); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#endif  // TAPEFORM_CORE_KERNELS_LEVELS_MATH_INL_H_
