#include "kernels/cross_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <tapeform/core/parallel.hpp>

#include "kernels/chunks.hpp"
#include "kernels/levels/shared.hpp"

#undef TAPEFORM_KERNEL_FILE
#define TAPEFORM_KERNEL_FILE "kernels/levels/cross_entropy.cpp"
#include "kernels/levels/each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

/// The target distribution of one row: `on` at the target, `off` times its share at each other class; the others' shares add up to
/// `others`, the whole row to `mass`.
template <class T>
struct RowTarget {
  T on = 1, off = 0, others = 0, mass = 1;
};

template <class T>
HWY_INLINE RowTarget<T> TargetOf(const CrossEntropyRows<T>& rows, std::int64_t target) {
  const double weight = rows.weights ? static_cast<double>(rows.weights[target]) : 1.0;
  double on = 1, off = 0;
  if (rows.smoothing != 0 && !rows.keeps) {
    off = rows.smoothing / static_cast<double>(rows.V);
    on = 1 - rows.smoothing + off;
  } else if (rows.smoothing != 0) {
    const Dim others = rows.sharing - (rows.keeps[target] != T{0} ? 1 : 0);
    if (others > 0) {  // otherwise there is nobody to share with: the target keeps everything
      off = rows.smoothing / static_cast<double>(others);
      on = 1 - rows.smoothing;
    }
  }
  const double others = rows.shares ? rows.all_shares - static_cast<double>(rows.shares[target]) : static_cast<double>(rows.V - 1);
  const double mass = rows.weights ? on * weight + off * others : 1.0;
  return {static_cast<T>(on * weight), static_cast<T>(off), static_cast<T>(others), static_cast<T>(mass)};
}

/// Σ share·(x − max) over the classes [begin, end); those left out are not read into it.
template <class T>
HWY_INLINE T SumShared(const T* x, const T* shares, T max, Dim begin, Dim end) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto shift = hn::Set(d, max);
  auto sum = hn::Zero(d);
  Dim i = begin;
  for (; i + lanes <= end; i += lanes) {
    const auto v = hn::Sub(hn::LoadU(d, x + i), shift);
    if (!shares) {
      sum = hn::Add(sum, v);
      continue;
    }
    const auto share = hn::LoadU(d, shares + i);
    sum = hn::Add(sum, hn::IfThenZeroElse(hn::Eq(share, hn::Zero(d)), hn::Mul(share, v)));
  }
  T total = Total(d, sum);
  for (; i < end; ++i)
    if (!shares || shares[i] != T{0}) total += (shares ? shares[i] : T{1}) * (x[i] - max);
  return total;
}

/// −Σ_v q_v·log_softmax(x)_v, every term of one sign: on·(log Σ − (x_t − max)) + off·(others·log Σ − Σ (x − max)).
template <class T>
HWY_INLINE T LossOfRow(const CrossEntropyRows<T>& rows, const T* x, Dim target, T* stats) {
  const T max = RowMax(x, rows.V);
  stats[0] = max;
  stats[1] = 0;
  if (max == lowest_v<T> && IsLowestThroughout(x, rows.V)) return -lowest_v<T>;
  const T sum = RowSumExp(x, rows.V, max), log_sum = std::log(sum);
  stats[1] = 1 / sum;
  const RowTarget<T> q = TargetOf(rows, target);
  T loss = log_sum - (x[target] - max);
  if (q.on != T{1}) loss = q.on == T{0} ? T{0} : q.on * loss;
  if (q.off != T{0}) {
    const T shared = SumShared(x, rows.shares, max, 0, target) + SumShared(x, rows.shares, max, target + 1, rows.V);
    loss += q.off * (q.others * log_sum - shared);
  }
  return loss;
}

template <class T>
HWY_INLINE void Losses(const CrossEntropyRows<T>& rows, T* losses, T* stats, Dim begin, Dim end) {
  for (Dim r = begin; r < end; ++r) {
    const std::int64_t target = rows.targets[r];
    losses[r] = target == rows.ignore_id ? T{0} : LossOfRow(rows, rows.logits + r * rows.V, target, stats + r * cross_entropy_stats);
  }
}

template <class T>
HWY_INLINE void GradientOfRow(const CrossEntropyRows<T>& rows, const T* x, Dim target, const T* stats, T upstream, T* dx) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d), n = rows.V;
  const RowTarget<T> q = TargetOf(rows, target);
  const T* const shares = rows.shares;
  const auto max = hn::Set(d, stats[0]), factor = hn::Set(d, stats[1] * (q.mass * upstream)), off = hn::Set(d, q.off * upstream);
  const bool smooth = q.off != T{0};
  Dim i = 0;
  for (; i < n; i += lanes) {
    const bool whole = i + lanes <= n;
    const auto e = ExpOrZero(d, hn::Sub(whole ? hn::LoadU(d, x + i) : LoadPart(d, x + i, n - i, lowest_v<T>), max));
    auto v = hn::Mul(e, factor);
    if (smooth) {
      if (!shares)
        v = hn::Sub(v, off);
      else
        v = hn::NegMulAdd(whole ? hn::LoadU(d, shares + i) : LoadPart(d, shares + i, n - i), off, v);
    }
    if (whole)
      hn::StoreU(v, d, dx + i);
    else
      StorePart(v, d, dx + i, n - i);
  }
  // At the target the loop took off what any other class of its share has.
  dx[target] -= (smooth ? q.on - q.off * (shares ? shares[target] : T{1}) : q.on) * upstream;
}

template <class T>
HWY_INLINE void Gradients(const CrossEntropyRows<T>& rows, const T* stats, const RowGradient<T>& upstream, T* dlogits, Dim begin, Dim end) {
  for (Dim r = begin; r < end; ++r) {
    const T* const saved = stats + r * cross_entropy_stats;
    T* const dx = dlogits + r * rows.V;
    // A row of −inf throughout has nothing to choose from either: its gradient is 0, as log_softmax's is.
    if (rows.targets[r] == rows.ignore_id || saved[0] == lowest_v<T>)
      std::fill(dx, dx + rows.V, T{0});
    else
      GradientOfRow(rows, rows.logits + r * rows.V, rows.targets[r], saved, upstream.factor * upstream.dlosses[r * upstream.stride], dx);
  }
}

static void LossesF32(const CrossEntropyRows<float>& rows, float* losses, float* stats, Dim begin, Dim end) {
  Losses(rows, losses, stats, begin, end);
}
static void LossesF64(const CrossEntropyRows<double>& rows, double* losses, double* stats, Dim begin, Dim end) {
  Losses(rows, losses, stats, begin, end);
}
static void GradientsF32(const CrossEntropyRows<float>& rows, const float* stats, const RowGradient<float>& upstream, float* dlogits,
                         Dim begin, Dim end) {
  Gradients(rows, stats, upstream, dlogits, begin, end);
}
static void GradientsF64(const CrossEntropyRows<double>& rows, const double* stats, const RowGradient<double>& upstream, double* dlogits,
                         Dim begin, Dim end) {
  Gradients(rows, stats, upstream, dlogits, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tapeform::kernels {

HWY_EXPORT(LossesF32);
HWY_EXPORT(LossesF64);
HWY_EXPORT(GradientsF32);
HWY_EXPORT(GradientsF64);

namespace {

auto losses_of(float) { return TAPEFORM_DISPATCH(LossesF32); }
auto losses_of(double) { return TAPEFORM_DISPATCH(LossesF64); }
auto gradients_of(float) { return TAPEFORM_DISPATCH(GradientsF32); }
auto gradients_of(double) { return TAPEFORM_DISPATCH(GradientsF64); }

}  // namespace

template <class T>
void cross_entropy_rows(const CrossEntropyRows<T>& rows, T* losses, T* stats) {
  const auto run = losses_of(T{});
  parallel_for(rows.rows, rows_per_chunk(rows.V, 1 << 13),
               [&rows, run, losses, stats](Dim begin, Dim end) { run(rows, losses, stats, begin, end); });
}
template void cross_entropy_rows(const CrossEntropyRows<float>&, float*, float*);
template void cross_entropy_rows(const CrossEntropyRows<double>&, double*, double*);

template <class T>
void cross_entropy_gradient_rows(const CrossEntropyRows<T>& rows, const T* stats, const RowGradient<T>& upstream, T* dlogits) {
  const auto run = gradients_of(T{});
  parallel_for(rows.rows, rows_per_chunk(rows.V, 1 << 13),
               [&rows, &upstream, run, stats, dlogits](Dim begin, Dim end) { run(rows, stats, upstream, dlogits, begin, end); });
}
template void cross_entropy_gradient_rows(const CrossEntropyRows<float>&, const float*, const RowGradient<float>&, float*);
template void cross_entropy_gradient_rows(const CrossEntropyRows<double>&, const double*, const RowGradient<double>&, double*);

CrossEntropyResult cross_entropy(const Array& logits, const TargetDistribution& q) {
  const Dim rows = q.targets.numel();
  CrossEntropyResult result{Array(q.targets.shape(), logits.dtype()), Array(Shape{rows, cross_entropy_stats}, logits.dtype())};
  dispatch(logits.dtype(), [&]<class T>(T) {
    const CrossEntropyRows<T> all(logits.data<T>(), q.targets.values().data(), rows, logits.dim(-1), q);
    cross_entropy_rows(all, result.losses.mutable_data<T>(), result.stats.mutable_data<T>());
  });
  return result;
}

Array cross_entropy_backward(const Array& logits, const Array& stats, const TargetDistribution& q, const Array& dlosses, double factor) {
  Array dlogits(logits.shape(), logits.dtype());
  dispatch(logits.dtype(), [&]<class T>(T) {
    const CrossEntropyRows<T> all(logits.data<T>(), q.targets.values().data(), q.targets.numel(), logits.dim(-1), q);
    const RowGradient<T> upstream{dlosses.data<T>(), dlosses.numel() == 1 ? 0 : 1, static_cast<T>(factor)};
    cross_entropy_gradient_rows(all, stats.data<T>(), upstream, dlogits.mutable_data<T>());
  });
  return dlogits;
}

double sum_of_losses(const Array& losses) {
  return dispatch(losses.dtype(), [&]<class T>(T) {
    double sum = 0;
    for (const T loss : losses.values<T>()) sum += static_cast<double>(loss);
    return sum;
  });
}

}  // namespace tapeform::kernels

#endif
