// Sums over one row that softmax, attention and the losses share. Compiled once per vector level; see simd.hpp.

#if defined(TAPEFORM_CORE_KERNELS_LEVELS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORM_CORE_KERNELS_LEVELS_ROWS_INL_H_
#undef TAPEFORM_CORE_KERNELS_LEVELS_ROWS_INL_H_
#else
#define TAPEFORM_CORE_KERNELS_LEVELS_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>
#include <tapeform/core/shape.hpp>

#include "kernels/levels/math-inl.h"
#include "kernels/levels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

template <class T>
constexpr T lowest_v = -std::numeric_limits<T>::infinity();

/// The largest number of a row; −inf for an empty one. A NaN may go unseen here: it comes out of the sum of exp that follows.
template <class T>
HWY_INLINE T RowMax(const T* x, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  auto max = hn::Set(d, lowest_v<T>);
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) max = hn::Max(max, hn::LoadU(d, x + i));
  if (i < n) max = hn::Max(max, LoadPart(d, x + i, n - i, lowest_v<T>));
  return hn::GetLane(hn::MaxOfLanes(d, max));
}

/// True when a row whose largest number seems to be −inf is −inf throughout, rather than holding a NaN.
template <class T>
HWY_INLINE bool IsLowestThroughout(const T* x, Dim n) {
  for (Dim i = 0; i < n; ++i)
    if (!(x[i] == lowest_v<T>)) return false;
  return true;
}

template <class D>
HWY_INLINE hn::TFromD<D> Total(D d, hn::VFromD<D> sum) {
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// y = exp(x − shift) for a row; returns its sum. y may be x.
template <bool denormals, class T>
HWY_INLINE T RowExp(const T* x, T* y, Dim n, T shift) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto shifts = hn::Set(d, shift);
  auto sum = hn::Zero(d);
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto e = SoftmaxExp<denormals>(d, hn::Sub(hn::LoadU(d, x + i), shifts));
    hn::StoreU(e, d, y + i);
    sum = hn::Add(sum, e);
  }
  if (i < n) {
    const auto e = SoftmaxExp<denormals>(d, hn::Sub(LoadPart(d, x + i, n - i, lowest_v<T>), shifts));
    StorePart(e, d, y + i, n - i);
    sum = hn::Add(sum, e);
  }
  return Total(d, sum);
}

/// Σ exp(x − max) over a row.
template <class T>
HWY_INLINE T RowSumExp(const T* x, Dim n, T max) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto shift = hn::Set(d, max);
  auto sum = hn::Zero(d);
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) sum = hn::Add(sum, ExpOrZero(d, hn::Sub(hn::LoadU(d, x + i), shift)));
  if (i < n) sum = hn::Add(sum, ExpOrZero(d, hn::Sub(LoadPart(d, x + i, n - i, lowest_v<T>), shift)));
  return Total(d, sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#endif  // TAPEFORM_CORE_KERNELS_LEVELS_ROWS_INL_H_
