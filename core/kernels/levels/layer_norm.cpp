#include "kernels/layer_norm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tapeform/core/parallel.hpp>

#include "kernels/chunks.hpp"
#include "kernels/levels/shared.hpp"

#undef TAPEFORM_KERNEL_FILE
#define TAPEFORM_KERNEL_FILE "kernels/levels/layer_norm.cpp"
#include "kernels/levels/each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

/// A row's x̂ = ((x·scale − mean) − correction)·rstd.
template <class T>
struct RowStats {
  T scale, mean, correction, rstd;
};

/// ((x·scale − mean) − correction): with scale = 1 the same bits as without it.
template <class D>
struct Deviation {
  hn::VFromD<D> scale, mean, correction;
  template <class T>
  Deviation(D d, const RowStats<T>& s) : scale(hn::Set(d, s.scale)), mean(hn::Set(d, s.mean)), correction(hn::Set(d, s.correction)) {}
  HWY_INLINE hn::VFromD<D> operator()(hn::VFromD<D> x) const { return hn::Sub(hn::Sub(hn::Mul(x, scale), mean), correction); }
};

/// Σ (x·scale − mean) − correction, or its squares. Lanes beyond the row count for nothing.
template <bool squares, class T>
HWY_INLINE T SumOfDeviations(const T* x, Dim n, const RowStats<T>& stats) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const Deviation<decltype(d)> deviation(d, stats);
  auto sum = hn::Zero(d);
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = deviation(hn::LoadU(d, x + i));
    sum = squares ? hn::MulAdd(v, v, sum) : hn::Add(sum, v);
  }
  T total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) {
    const T v = (x[i] * stats.scale - stats.mean) - stats.correction;
    total += squares ? v * v : v;
  }
  return total;
}

/// Statistics of x·scale; the variance in `variance`.
template <class T>
HWY_INLINE RowStats<T> ScaledStats(const T* x, Dim n, T scale, T& variance) {
  const T width = static_cast<T>(n);
  RowStats<T> stats{scale, 0, 0, 0};
  stats.mean = SumOfDeviations<false>(x, n, stats) / width;
  stats.correction = SumOfDeviations<false>(x, n, stats) / width;
  variance = SumOfDeviations<true>(x, n, stats) / width;
  return stats;
}

/// Where sums of squares overflow or vanish: everything times a power of two that brings the largest number into [½, 1).
template <class T>
HWY_NOINLINE RowStats<T> RescaledStats(const T* x, Dim n, double eps) {
  T largest = 0;
  for (Dim i = 0; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
  int exponent = 0;
  if (std::isfinite(largest)) std::frexp(largest, &exponent);
  const int most = std::numeric_limits<T>::max_exponent - 2;
  const int shift = std::clamp(-exponent, -most, most);
  T variance;
  RowStats<T> stats = ScaledStats(x, n, std::ldexp(T{1}, shift), variance);
  const double root = std::sqrt(static_cast<double>(variance) + std::ldexp(eps, 2 * shift));
  // A constant row with eps = 0 has no spread to divide by: x̂ = 0.
  stats.rstd = root == 0 ? T{0} : static_cast<T>(std::min(1 / root, static_cast<double>(std::numeric_limits<T>::max())));
  if (std::isnan(root)) stats.rstd = static_cast<T>(root);
  return stats;
}

template <class T>
HWY_INLINE RowStats<T> StatsOf(const T* x, Dim n, double eps) {
  T variance;
  RowStats<T> stats = ScaledStats(x, n, T{1}, variance);
  const T sum = variance + static_cast<T>(eps);
  if (!(sum > std::numeric_limits<T>::min() && sum <= std::numeric_limits<T>::max())) return RescaledStats(x, n, eps);
  stats.rstd = T{1} / std::sqrt(sum);
  return stats;
}

template <class T>
HWY_INLINE void NormalizeRow(const T* x, const T* weight, const T* bias, T* y, Dim n, const RowStats<T>& stats) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const Deviation<decltype(d)> deviation(d, stats);
  const auto rstd = hn::Set(d, stats.rstd);
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto v = hn::Mul(deviation(hn::LoadU(d, x + i)), rstd);
    if (weight) v = hn::Mul(v, hn::LoadU(d, weight + i));
    if (bias) v = hn::Add(v, hn::LoadU(d, bias + i));
    hn::StoreU(v, d, y + i);
  }
  for (; i < n; ++i) {
    T v = ((x[i] * stats.scale - stats.mean) - stats.correction) * stats.rstd;
    if (weight) v *= weight[i];
    if (bias) v += bias[i];
    y[i] = v;
  }
}

template <class T>
HWY_INLINE void ForwardRows(const T* x, const T* weight, const T* bias, T* y, T* saved, Dim n, double eps, Dim begin, Dim end) {
  for (Dim r = begin; r < end; ++r) {
    const RowStats<T> stats = StatsOf(x + r * n, n, eps);
    NormalizeRow(x + r * n, weight, bias, y + r * n, n, stats);
    T* const to = saved + r * layer_norm_stats;
    to[0] = stats.scale;
    to[1] = stats.mean;
    to[2] = stats.correction;
    to[3] = stats.rstd;
  }
}

/// One row's sums Σ g and Σ g·x̂ (for dx), and its part of dweight and dbias, where asked for.
template <class T>
struct RowSums {
  T g = 0, gx = 0;
};

template <class T>
HWY_INLINE RowSums<T> SumRow(const T* dy, const T* x, const T* weight, Dim n, const RowStats<T>& stats, T* dweight, T* dbias) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const Deviation<decltype(d)> deviation(d, stats);
  const auto rstd = hn::Set(d, stats.rstd);
  auto g_sum = hn::Zero(d), gx_sum = hn::Zero(d);
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto upstream = hn::LoadU(d, dy + i), normal = hn::Mul(deviation(hn::LoadU(d, x + i)), rstd);
    const auto g = weight ? hn::Mul(upstream, hn::LoadU(d, weight + i)) : upstream;
    g_sum = hn::Add(g_sum, g);
    gx_sum = hn::MulAdd(g, normal, gx_sum);
    if (dweight) hn::StoreU(hn::MulAdd(upstream, normal, hn::LoadU(d, dweight + i)), d, dweight + i);
    if (dbias) hn::StoreU(hn::Add(upstream, hn::LoadU(d, dbias + i)), d, dbias + i);
  }
  RowSums<T> sums{hn::GetLane(hn::SumOfLanes(d, g_sum)), hn::GetLane(hn::SumOfLanes(d, gx_sum))};
  for (; i < n; ++i) {
    const T normal = ((x[i] * stats.scale - stats.mean) - stats.correction) * stats.rstd;
    const T g = weight ? dy[i] * weight[i] : dy[i];
    sums.g += g;
    sums.gx += g * normal;
    if (dweight) dweight[i] += dy[i] * normal;
    if (dbias) dbias[i] += dy[i];
  }
  return sums;
}

template <class T>
HWY_INLINE void GradientRow(const T* dy, const T* x, const T* weight, T* dx, Dim n, const RowStats<T>& stats, const RowSums<T>& sums) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const Deviation<decltype(d)> deviation(d, stats);
  const T width = static_cast<T>(n), g_mean = sums.g / width, slope = sums.gx / width, factor = stats.rstd * stats.scale;
  const auto rstd = hn::Set(d, stats.rstd), mean = hn::Set(d, g_mean), slopes = hn::Set(d, slope), factors = hn::Set(d, factor);
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto upstream = hn::LoadU(d, dy + i), normal = hn::Mul(deviation(hn::LoadU(d, x + i)), rstd);
    const auto g = weight ? hn::Mul(upstream, hn::LoadU(d, weight + i)) : upstream;
    hn::StoreU(hn::Mul(hn::NegMulAdd(normal, slopes, hn::Sub(g, mean)), factors), d, dx + i);
  }
  for (; i < n; ++i) {
    const T normal = ((x[i] * stats.scale - stats.mean) - stats.correction) * stats.rstd;
    const T g = weight ? dy[i] * weight[i] : dy[i];
    dx[i] = ((g - g_mean) - normal * slope) * factor;
  }
}

template <class T>
HWY_INLINE void BackwardRows(const T* dy, const T* x, const T* weight, const T* saved, T* dx, T* dweight, T* dbias, Dim n, Dim begin,
                             Dim end) {
  for (Dim r = begin; r < end; ++r) {
    const T* const from = saved + r * layer_norm_stats;
    const RowStats<T> stats{from[0], from[1], from[2], from[3]};
    const RowSums<T> sums = SumRow(dy + r * n, x + r * n, weight, n, stats, dweight, dbias);
    if (dx) GradientRow(dy + r * n, x + r * n, weight, dx + r * n, n, stats, sums);
  }
}

static void LayerNormF32(const float* x, const float* weight, const float* bias, float* y, float* saved, Dim n, double eps, Dim begin,
                         Dim end) {
  ForwardRows(x, weight, bias, y, saved, n, eps, begin, end);
}
static void LayerNormF64(const double* x, const double* weight, const double* bias, double* y, double* saved, Dim n, double eps, Dim begin,
                         Dim end) {
  ForwardRows(x, weight, bias, y, saved, n, eps, begin, end);
}
static void LayerNormBackwardF32(const float* dy, const float* x, const float* weight, const float* saved, float* dx, float* dweight,
                                 float* dbias, Dim n, Dim begin, Dim end) {
  BackwardRows(dy, x, weight, saved, dx, dweight, dbias, n, begin, end);
}
static void LayerNormBackwardF64(const double* dy, const double* x, const double* weight, const double* saved, double* dx, double* dweight,
                                 double* dbias, Dim n, Dim begin, Dim end) {
  BackwardRows(dy, x, weight, saved, dx, dweight, dbias, n, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tapeform::kernels {

HWY_EXPORT(LayerNormF32);
HWY_EXPORT(LayerNormF64);
HWY_EXPORT(LayerNormBackwardF32);
HWY_EXPORT(LayerNormBackwardF64);

namespace {

template <class T>
auto forward_rows() {
  if constexpr (std::is_same_v<T, float>)
    return TAPEFORM_DISPATCH(LayerNormF32);
  else
    return TAPEFORM_DISPATCH(LayerNormF64);
}
template <class T>
auto backward_rows() {
  if constexpr (std::is_same_v<T, float>)
    return TAPEFORM_DISPATCH(LayerNormBackwardF32);
  else
    return TAPEFORM_DISPATCH(LayerNormBackwardF64);
}

template <class T>
const T* data_or_null(const Array& x) {
  return x ? x.data<T>() : nullptr;
}

// Adds the chunks' rows [chunks, n] up, in order.
template <class T>
Array sum_of_chunks(const Array& partial, Dim chunks, Dim n) {
  Array sum(Shape{n}, partial.dtype());
  const T* const from = partial.data<T>();
  T* const to = sum.mutable_data<T>();
  std::fill_n(to, n, T{0});
  for (Dim c = 0; c < chunks; ++c)
    for (Dim j = 0; j < n; ++j) to[j] += from[c * n + j];
  return sum;
}

}  // namespace

LayerNormResult layer_norm(const Array& x, const Array& weight, const Array& bias, double eps) {
  const Dim n = x.dim(-1), rows = x.shape().numel(0, x.rank() - 1);
  LayerNormResult result{Array(x.shape(), x.dtype()), Array(Shape{rows, layer_norm_stats}, x.dtype())};
  if (n == 0) return result;
  dispatch(x.dtype(), [&]<class T>(T) {
    const T *const from = x.data<T>(), *const w = data_or_null<T>(weight), *const b = data_or_null<T>(bias);
    T *const to = result.y.mutable_data<T>(), *const stats = result.stats.mutable_data<T>();
    const auto normalize = forward_rows<T>();
    parallel_for(rows, rows_per_chunk(n, 1 << 14), [=](Dim begin, Dim end) { normalize(from, w, b, to, stats, n, eps, begin, end); });
  });
  return result;
}

LayerNormGradients layer_norm_backward(const Array& dy, const Array& x, const Array& weight, const Array& stats, bool need_x,
                                       bool need_weight, bool need_bias) {
  const Dim n = x.dim(-1), rows = x.shape().numel(0, x.rank() - 1);
  // 64 chunks at most, so that what they add up to stays small beside the rows.
  const Dim grain = std::max(rows_per_chunk(n, 1 << 14), (rows + 63) / 64), chunks = (rows + grain - 1) / grain;
  LayerNormGradients gradients;
  dispatch(x.dtype(), [&]<class T>(T) {
    if (need_x) gradients.dx = Array(x.shape(), x.dtype());
    Array dweight = need_weight ? Array::zeros(Shape{chunks, n}, x.dtype()) : Array();
    Array dbias = need_bias ? Array::zeros(Shape{chunks, n}, x.dtype()) : Array();
    const T *const upstream = dy.data<T>(), *const from = x.data<T>(), *const w = data_or_null<T>(weight), *const saved = stats.data<T>();
    T* const dx = need_x ? gradients.dx.mutable_data<T>() : nullptr;
    T* const dw = need_weight ? dweight.mutable_data<T>() : nullptr;
    T* const db = need_bias ? dbias.mutable_data<T>() : nullptr;
    const auto back = backward_rows<T>();
    parallel_for(n == 0 ? 0 : rows, grain, [=](Dim begin, Dim end) {
      const Dim at = begin / grain * n;
      back(upstream, from, w, saved, dx, dw ? dw + at : nullptr, db ? db + at : nullptr, n, begin, end);
    });
    if (need_weight) gradients.dweight = sum_of_chunks<T>(dweight, chunks, n);
    if (need_bias) gradients.dbias = sum_of_chunks<T>(dbias, chunks, n);
  });
  return gradients;
}

}  // namespace tapeform::kernels

#endif
