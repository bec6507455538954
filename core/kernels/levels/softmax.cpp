#include "kernels/softmax.hpp"

#include <algorithm>
#include <tapeform/core/mask.hpp>
#include <tapeform/core/parallel.hpp>

#include "kernels/levels/shared.hpp"

#undef TAPEFORM_KERNEL_FILE
#define TAPEFORM_KERNEL_FILE "kernels/levels/softmax.cpp"
#include "kernels/levels/each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

// ---- the last axis: rows of contiguous numbers --------------------------------------------------------------------------------

template <class T>
HWY_INLINE void SoftmaxRow(const T* x, T* y, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const T max = RowMax(x, n);
  if (max == lowest_v<T> && IsLowestThroughout(x, n)) return std::fill(y, y + n, T{0});
  const T factor = T{1} / RowExp<true>(x, y, n, max);
  const auto factors = hn::Set(d, factor);
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), factors), d, y + i);
  for (; i < n; ++i) y[i] *= factor;
}

template <class T>
HWY_INLINE void LogSoftmaxRow(const T* x, T* y, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const T max = RowMax(x, n);
  if (max == lowest_v<T> && IsLowestThroughout(x, n)) return std::fill(y, y + n, lowest_v<T>);
  const T log_sum = hn::GetLane(Log(d, hn::Set(d, RowSumExp(x, n, max))));
  const auto shift = hn::Set(d, max), logs = hn::Set(d, log_sum);
  Dim i = 0;
  // Two subtractions: max + log_sum in one number would lose log_sum beside a large max.
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i), shift), logs), d, y + i);
  for (; i < n; ++i) y[i] = (x[i] - max) - log_sum;
}

template <class D, class V>
HWY_INLINE V SoftmaxDerivative(D d, V dy, V y, V dot) {
  return hn::IfThenZeroElse(hn::Eq(y, hn::Zero(d)), hn::Mul(y, hn::Sub(dy, dot)));
}

template <class T>
HWY_INLINE void SoftmaxBackwardRow(const T* dy, const T* y, T* dx, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto zero = hn::Zero(d);
  auto sum = zero;
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto p = hn::LoadU(d, y + i);
    sum = hn::Add(sum, hn::IfThenZeroElse(hn::Eq(p, zero), hn::Mul(p, hn::LoadU(d, dy + i))));
  }
  if (i < n) {
    const auto p = LoadPart(d, y + i, n - i);
    sum = hn::Add(sum, hn::IfThenZeroElse(hn::Eq(p, zero), hn::Mul(p, LoadPart(d, dy + i, n - i))));
  }
  const T total = Total(d, sum);
  const auto dot = hn::Set(d, total);
  for (i = 0; i + lanes <= n; i += lanes) hn::StoreU(SoftmaxDerivative(d, hn::LoadU(d, dy + i), hn::LoadU(d, y + i), dot), d, dx + i);
  for (; i < n; ++i) dx[i] = y[i] == T{0} ? T{0} : y[i] * (dy[i] - total);
}

template <class T>
HWY_INLINE void LogSoftmaxBackwardRow(const T* dy, const T* y, T* dx, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  if (n > 0 && y[0] == lowest_v<T> && IsLowestThroughout(y, n)) return std::fill(dx, dx + n, T{0});
  auto sum = hn::Zero(d);
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) sum = hn::Add(sum, hn::LoadU(d, dy + i));
  if (i < n) sum = hn::Add(sum, LoadPart(d, dy + i, n - i));
  const auto total = hn::Set(d, Total(d, sum));
  for (i = 0; i + lanes <= n; i += lanes)
    hn::StoreU(hn::NegMulAdd(ExpOrZero(d, hn::LoadU(d, y + i)), total, hn::LoadU(d, dy + i)), d, dx + i);
  if (i < n) StorePart(hn::NegMulAdd(ExpOrZero(d, LoadPart(d, y + i, n - i)), total, LoadPart(d, dy + i, n - i)), d, dx + i, n - i);
}

// ---- any other axis: slices side by side, one a lane, `stride` from row to row ----------------------------------------------------

/// So many slices go along the axis together: their rows are read in runs that are long enough for the processor to fetch ahead.
constexpr Dim columns_together = 1024;

/// Lanes [0, count) of a row; a whole vector when count is the number of lanes or more.
template <class D, class T>
HWY_INLINE hn::VFromD<D> LoadLanes(D d, const T* p, Dim count) {
  return count >= LaneCount(d) ? hn::LoadU(d, p) : LoadPart(d, p, count);
}
template <class D, class V, class T>
HWY_INLINE void StoreLanes(V v, D d, T* p, Dim count) {
  if (count >= LaneCount(d))
    hn::StoreU(v, d, p);
  else
    StorePart(v, d, p, count);
}

/// Both maximum and sum of exp are taken over slices one a lane; a lane of −inf throughout gets `empty`.
template <bool log, class T>
HWY_INLINE void SoftmaxColumns(const T* x, T* y, Dim n, Dim stride, Dim count) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto lowest = hn::Set(d, lowest_v<T>);
  alignas(64) T maxima[columns_together], nans[columns_together], sums[columns_together];
  for (Dim c = 0; c < count; c += lanes) {
    hn::Store(lowest, d, maxima + c);
    hn::Store(hn::Zero(d), d, nans + c);
    hn::Store(hn::Zero(d), d, sums + c);
  }
  for (Dim j = 0; j < n; ++j)
    for (Dim c = 0; c < count; c += lanes) {
      const auto v = LoadLanes(d, x + j * stride + c, count - c);
      hn::Store(hn::Max(hn::Load(d, maxima + c), v), d, maxima + c);
      hn::Store(hn::IfThenElse(hn::IsNaN(v), v, hn::Load(d, nans + c)), d, nans + c);
    }
  for (Dim j = 0; j < n; ++j)
    for (Dim c = 0; c < count; c += lanes) {
      const auto e = SoftmaxExp<!log>(d, hn::Sub(LoadLanes(d, x + j * stride + c, count - c), hn::Load(d, maxima + c)));
      if constexpr (!log) StoreLanes(e, d, y + j * stride + c, count - c);
      hn::Store(hn::Add(hn::Load(d, sums + c), e), d, sums + c);
    }
  for (Dim c = 0; c < count; c += lanes) {  // what every row needs of its sum
    const auto sum = hn::Load(d, sums + c);
    hn::Store(log ? Log(d, sum) : hn::Div(hn::Set(d, T{1}), sum), d, sums + c);
  }
  for (Dim j = 0; j < n; ++j)
    for (Dim c = 0; c < count; c += lanes) {
      const auto max = hn::Load(d, maxima + c), sum = hn::Load(d, sums + c);
      const auto empty = hn::And(hn::Eq(max, lowest), hn::Not(hn::IsNaN(hn::Load(d, nans + c))));
      if constexpr (log) {
        const auto v = hn::Sub(hn::Sub(LoadLanes(d, x + j * stride + c, count - c), max), sum);
        StoreLanes(hn::IfThenElse(empty, lowest, v), d, y + j * stride + c, count - c);
      } else {
        StoreLanes(hn::IfThenZeroElse(empty, hn::Mul(LoadLanes(d, y + j * stride + c, count - c), sum)), d, y + j * stride + c, count - c);
      }
    }
}

template <class T>
HWY_INLINE void SoftmaxBackwardColumns(const T* dy, const T* y, T* dx, Dim n, Dim stride, Dim count) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto zero = hn::Zero(d);
  alignas(64) T dots[columns_together];
  for (Dim c = 0; c < count; c += lanes) hn::Store(zero, d, dots + c);
  for (Dim j = 0; j < n; ++j)
    for (Dim c = 0; c < count; c += lanes) {
      const auto p = LoadLanes(d, y + j * stride + c, count - c), u = LoadLanes(d, dy + j * stride + c, count - c);
      hn::Store(hn::Add(hn::Load(d, dots + c), hn::IfThenZeroElse(hn::Eq(p, zero), hn::Mul(p, u))), d, dots + c);
    }
  for (Dim j = 0; j < n; ++j)
    for (Dim c = 0; c < count; c += lanes) {
      const auto p = LoadLanes(d, y + j * stride + c, count - c), u = LoadLanes(d, dy + j * stride + c, count - c);
      StoreLanes(SoftmaxDerivative(d, u, p, hn::Load(d, dots + c)), d, dx + j * stride + c, count - c);
    }
}

template <class T>
HWY_INLINE void LogSoftmaxBackwardColumns(const T* dy, const T* y, T* dx, Dim n, Dim stride, Dim count) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto lowest = hn::Set(d, lowest_v<T>);
  alignas(64) T totals[columns_together], others[columns_together];  // `others` is not 0 in lanes that hold anything but −inf
  for (Dim c = 0; c < count; c += lanes) {
    hn::Store(hn::Zero(d), d, totals + c);
    hn::Store(hn::Zero(d), d, others + c);
  }
  for (Dim j = 0; j < n; ++j)
    for (Dim c = 0; c < count; c += lanes) {
      hn::Store(hn::Add(hn::Load(d, totals + c), LoadLanes(d, dy + j * stride + c, count - c)), d, totals + c);
      const auto only = hn::Eq(LoadLanes(d, y + j * stride + c, count - c), lowest);
      hn::Store(hn::IfThenElse(only, hn::Load(d, others + c), hn::Set(d, T{1})), d, others + c);
    }
  for (Dim j = 0; j < n; ++j)
    for (Dim c = 0; c < count; c += lanes) {
      const auto p = ExpOrZero(d, LoadLanes(d, y + j * stride + c, count - c));
      const auto v = hn::NegMulAdd(p, hn::Load(d, totals + c), LoadLanes(d, dy + j * stride + c, count - c));
      const auto empty = hn::Eq(hn::Load(d, others + c), hn::Zero(d));
      StoreLanes(hn::IfThenZeroElse(empty, v), d, dx + j * stride + c, count - c);
    }
}

// ---- what is dispatched: slices [begin, end) of an array [outer, n, inner] -----------------------------------------------------------

/// Slices as rows (inner = 1), or as groups of columns: `Row(offset)` and `Columns(offset, count)` do the work.
template <class Task>
HWY_INLINE void ForSlices(Dim n, Dim inner, Dim begin, Dim end, const Task& task) {
  if (inner == 1) {
    for (Dim r = begin; r < end; ++r) task.Row(r * n);
    return;
  }
  for (Dim slice = begin; slice < end;) {
    const Dim column = slice % inner, count = std::min(std::min(columns_together, inner - column), end - slice);
    task.Columns(slice / inner * n * inner + column, count);
    slice += count;
  }
}

template <bool log, class T>
struct Forward {
  const T* x;
  T* y;
  Dim n, inner;
  HWY_INLINE void Row(Dim at) const { log ? LogSoftmaxRow(x + at, y + at, n) : SoftmaxRow(x + at, y + at, n); }
  HWY_INLINE void Columns(Dim at, Dim count) const { SoftmaxColumns<log>(x + at, y + at, n, inner, count); }
};

template <bool log, class T>
struct Backward {
  const T *dy, *y;
  T* dx;
  Dim n, inner;
  HWY_INLINE void Row(Dim at) const {
    log ? LogSoftmaxBackwardRow(dy + at, y + at, dx + at, n) : SoftmaxBackwardRow(dy + at, y + at, dx + at, n);
  }
  HWY_INLINE void Columns(Dim at, Dim count) const {
    log ? LogSoftmaxBackwardColumns(dy + at, y + at, dx + at, n, inner, count)
        : SoftmaxBackwardColumns(dy + at, y + at, dx + at, n, inner, count);
  }
};

template <bool log, class T>
HWY_INLINE void ForwardSlices(const void* x, void* y, Dim n, Dim inner, Dim begin, Dim end) {
  ForSlices(n, inner, begin, end, Forward<log, T>{static_cast<const T*>(x), static_cast<T*>(y), n, inner});
}

static void SoftmaxSlices(bool log, DType dtype, const void* x, void* y, Dim n, Dim inner, Dim begin, Dim end) {
  if (dtype == DType::float32)
    log ? ForwardSlices<true, float>(x, y, n, inner, begin, end) : ForwardSlices<false, float>(x, y, n, inner, begin, end);
  else
    log ? ForwardSlices<true, double>(x, y, n, inner, begin, end) : ForwardSlices<false, double>(x, y, n, inner, begin, end);
}

template <bool log, class T>
HWY_INLINE void BackwardSlices(const void* dy, const void* y, void* dx, Dim n, Dim inner, Dim begin, Dim end) {
  const Backward<log, T> task{static_cast<const T*>(dy), static_cast<const T*>(y), static_cast<T*>(dx), n, inner};
  ForSlices(n, inner, begin, end, task);
}

static void SoftmaxBackwardSlices(bool log, DType dtype, const void* dy, const void* y, void* dx, Dim n, Dim inner, Dim begin, Dim end) {
  if (dtype == DType::float32)
    log ? BackwardSlices<true, float>(dy, y, dx, n, inner, begin, end) : BackwardSlices<false, float>(dy, y, dx, n, inner, begin, end);
  else
    log ? BackwardSlices<true, double>(dy, y, dx, n, inner, begin, end) : BackwardSlices<false, double>(dy, y, dx, n, inner, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tapeform::kernels {

HWY_EXPORT(SoftmaxSlices);
HWY_EXPORT(SoftmaxBackwardSlices);

namespace {

const void* bytes_of(const Array& x) {
  return dispatch(x.dtype(), [&]<class T>(T) -> const void* { return x.data<T>(); });
}
void* bytes_of(Array& x) {
  return dispatch(x.dtype(), [&]<class T>(T) -> void* { return x.mutable_data<T>(); });
}

// Slices in one piece of work: about 16,000 numbers, and whole groups of columns.
Dim grain_of(const AxisSplit& split) {
  const Dim group = split.inner == 1 ? 1 : HWY_NAMESPACE::columns_together;
  return group * std::max<Dim>(1, (Dim{1} << 14) / std::max<Dim>(1, split.n * group));
}

Array forward(bool log, const Array& x, AxisSplit split) {
  Array y(x.shape(), x.dtype());
  const DType dtype = x.dtype();
  const void* const from = bytes_of(x);
  void* const to = bytes_of(y);
  const auto slices = TAPEFORM_DISPATCH(SoftmaxSlices);
  parallel_for(split.outer * split.inner, grain_of(split),
               [=](Dim begin, Dim end) { slices(log, dtype, from, to, split.n, split.inner, begin, end); });
  return y;
}

Array backward(bool log, const Array& dy, const Array& y, AxisSplit split) {
  Array dx(y.shape(), y.dtype());
  const DType dtype = y.dtype();
  const void *const upstream = bytes_of(dy), *const from = bytes_of(y);
  void* const to = bytes_of(dx);
  const auto slices = TAPEFORM_DISPATCH(SoftmaxBackwardSlices);
  parallel_for(split.outer * split.inner, grain_of(split),
               [=](Dim begin, Dim end) { slices(log, dtype, upstream, from, to, split.n, split.inner, begin, end); });
  return dx;
}

// A row of scores with −inf in place of what the query may not attend to: chosen, never computed with.
template <class T>
void visible_row(const T* x, T* y, Dim Tk, const MaskRow& row) {
  const T lowest = -std::numeric_limits<T>::infinity();
  const Dim limit = std::clamp<Dim>(row.limit, 0, Tk);
  if (row.allowed)
    for (Dim j = 0; j < limit; ++j) y[j] = row.allowed[j] ? x[j] : lowest;
  else
    std::copy_n(x, limit, y);
  std::fill(y + limit, y + Tk, lowest);
}

}  // namespace

Array softmax(const Array& x, AxisSplit split) { return forward(false, x, split); }
Array log_softmax(const Array& x, AxisSplit split) { return forward(true, x, split); }
Array softmax_backward(const Array& dy, const Array& y, AxisSplit split) { return backward(false, dy, y, split); }
Array log_softmax_backward(const Array& dy, const Array& y, AxisSplit split) { return backward(true, dy, y, split); }

Array masked_softmax(const Array& scores, const Mask& mask, Dim B, Dim H, Dim Tq, Dim Tk) {
  Array y(scores.shape(), scores.dtype());
  const auto slices = TAPEFORM_DISPATCH(SoftmaxSlices);
  const Dim grain = std::max<Dim>(1, (Dim{1} << 14) / std::max<Dim>(1, Tk));
  dispatch(scores.dtype(), [&]<class T>(T) {
    const T* const from = scores.data<T>();
    T* const to = y.mutable_data<T>();
    const Mask* const rows = &mask;
    parallel_for(B * H * Tq, grain, [=](Dim begin, Dim end) {
      for (Dim r = begin; r < end; ++r) visible_row(from + r * Tk, to + r * Tk, Tk, rows->row(r / (H * Tq), r / Tq % H, r % Tq, Tq, Tk));
      slices(false, dtype_of_v<T>, to, to, Tk, 1, begin, end);
    });
  });
  return y;
}

}  // namespace tapeform::kernels

#endif
