#include "kernels/attention_rows.hpp"

#include <algorithm>

#include "kernels/levels/shared.hpp"

#undef TAPEFORM_KERNEL_FILE
#define TAPEFORM_KERNEL_FILE "kernels/levels/attention_rows.cpp"
#include "kernels/levels/each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

template <class T>
void Hide(T* s, const std::uint8_t* allowed, Dim n) {
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const Dim lanes = LaneCount(d);
  const auto lowest = hn::Set(d, lowest_v<T>);
  Dim j = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4)
    for (; j + lanes <= n; j += lanes) {
      const auto hidden = hn::Eq(hn::PromoteTo(du, hn::LoadU(d8, allowed + j)), hn::Zero(du));
      hn::StoreU(hn::IfThenElse(hn::RebindMask(d, hidden), lowest, hn::LoadU(d, s + j)), d, s + j);
    }
#else
  (void)du, (void)d8, (void)lanes, (void)lowest;
#endif
  for (; j < n; ++j) s[j] = allowed[j] ? s[j] : lowest_v<T>;
}

template <class T>
void AddBias(T* s, const T* bias, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto lowest = hn::Set(d, lowest_v<T>);
  Dim j = 0;
  for (; j + lanes <= n; j += lanes) {
    const auto b = hn::LoadU(d, bias + j);
    hn::StoreU(hn::IfThenElse(hn::Eq(b, lowest), lowest, hn::Add(hn::LoadU(d, s + j), b)), d, s + j);
  }
  for (; j < n; ++j) s[j] = bias[j] == lowest_v<T> ? lowest_v<T> : s[j] + bias[j];
}

template <class T>
T Exponentials(T* s, Dim n, T& max, T& sum) {
  const hn::ScalableTag<T> d;
  const T old = max, here = RowMax(s, n);
  if (here > old) max = here;
  const T total = RowExp<false>(s, s, n, max == lowest_v<T> ? T{0} : max);  // −inf − −inf would be NaN
  const T factor = max == old || old == lowest_v<T> ? T{1} : hn::GetLane(ExpOrZero(d, hn::Set(d, old - max)));
  sum = sum * factor + total;
  return factor;
}

template <class T>
void Weights(T* s, Dim n, T shift, T inverse) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto shifts = hn::Set(d, shift), factors = hn::Set(d, inverse);
  Dim j = 0;
  for (; j + lanes <= n; j += lanes) hn::StoreU(hn::Mul(ExpOrZero(d, hn::Sub(hn::LoadU(d, s + j), shifts)), factors), d, s + j);
  if (j < n) StorePart(hn::Mul(ExpOrZero(d, hn::Sub(LoadPart(d, s + j, n - j), shifts)), factors), d, s + j, n - j);
}

template <class T>
void ScoreGradient(const T* p, T* ds, T dot, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto dots = hn::Set(d, dot), zero = hn::Zero(d);
  Dim j = 0;
  for (; j + lanes <= n; j += lanes) {
    const auto weight = hn::LoadU(d, p + j);
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(weight, zero), hn::Mul(weight, hn::Sub(hn::LoadU(d, ds + j), dots))), d, ds + j);
  }
  for (; j < n; ++j) ds[j] = p[j] == T{0} ? T{0} : p[j] * (ds[j] - dot);
}

template <class T>
void DroppedScoreGradient(const T* p, const T* dropped, T* ds, T factor, T dot, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto dots = hn::Set(d, dot), factors = hn::Set(d, factor), zero = hn::Zero(d);
  Dim j = 0;
  for (; j + lanes <= n; j += lanes) {
    const auto weight = hn::LoadU(d, p + j);
    const auto gone = hn::Eq(hn::LoadU(d, dropped + j), zero);
    const auto dp = hn::IfThenZeroElse(gone, hn::Mul(hn::LoadU(d, ds + j), factors));
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(weight, zero), hn::Mul(weight, hn::Sub(dp, dots))), d, ds + j);
  }
  for (; j < n; ++j) ds[j] = p[j] == T{0} ? T{0} : p[j] * ((dropped[j] == T{0} ? T{0} : ds[j] * factor) - dot);
}

template <class T>
void Scale(const T* from, T* to, T factor, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto factors = hn::Set(d, factor);
  Dim j = 0;
  for (; j + lanes <= n; j += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, from + j), factors), d, to + j);
  for (; j < n; ++j) to[j] = from[j] * factor;
}

template <class T>
void AddScaled(const T* from, T* to, T factor, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto factors = hn::Set(d, factor);
  Dim j = 0;
  for (; j + lanes <= n; j += lanes) hn::StoreU(hn::MulAdd(hn::LoadU(d, from + j), factors, hn::LoadU(d, to + j)), d, to + j);
  if (j < n) StorePart(hn::MulAdd(LoadPart(d, from + j, n - j), factors, LoadPart(d, to + j, n - j)), d, to + j, n - j);
}

template <class T>
T Dot(const T* a, const T* b, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  auto sum = hn::Zero(d);
  Dim j = 0;
  for (; j + lanes <= n; j += lanes) sum = hn::MulAdd(hn::LoadU(d, a + j), hn::LoadU(d, b + j), sum);
  if (j < n) sum = hn::MulAdd(LoadPart(d, a + j, n - j), LoadPart(d, b + j, n - j), sum);
  return Total(d, sum);
}

template <class T>
bool IsFinite(const T* x, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto zero = hn::Zero(d);
  auto a = zero, b = zero, c = zero, e = zero;  // sums of 0 · x: NaN as soon as one x is not finite
  Dim j = 0;
  for (; j + 4 * lanes <= n; j += 4 * lanes) {
    a = hn::MulAdd(hn::LoadU(d, x + j), zero, a);
    b = hn::MulAdd(hn::LoadU(d, x + j + lanes), zero, b);
    c = hn::MulAdd(hn::LoadU(d, x + j + 2 * lanes), zero, c);
    e = hn::MulAdd(hn::LoadU(d, x + j + 3 * lanes), zero, e);
  }
  for (; j + lanes <= n; j += lanes) a = hn::MulAdd(hn::LoadU(d, x + j), zero, a);
  if (j < n) b = hn::MulAdd(LoadPart(d, x + j, n - j), zero, b);
  return Total(d, hn::Add(hn::Add(a, b), hn::Add(c, e))) == T{0};
}

template <class T>
void FillTable(AttentionRows<T>& rows) {
  rows = {Hide<T>,  AddBias<T>,   Exponentials<T>, Weights<T>, Drop<T>, ScoreGradient<T>, DroppedScoreGradient<T>,
          Scale<T>, AddScaled<T>, Dot<T>,          IsFinite<T>};
}
static void FloatRows(AttentionRows<float>& rows) { FillTable(rows); }
static void DoubleRows(AttentionRows<double>& rows) { FillTable(rows); }

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tapeform::kernels {

HWY_EXPORT(FloatRows);
HWY_EXPORT(DoubleRows);

template <>
AttentionRows<float> attention_rows() {
  AttentionRows<float> rows;
  TAPEFORM_DISPATCH(FloatRows)(rows);
  return rows;
}

template <>
AttentionRows<double> attention_rows() {
  AttentionRows<double> rows;
  TAPEFORM_DISPATCH(DoubleRows)(rows);
  return rows;
}

}  // namespace tapeform::kernels

#endif
