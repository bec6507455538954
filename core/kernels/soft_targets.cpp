#include "kernels/soft_targets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tapeform/core/parallel.hpp>

namespace tapeform::kernels {
namespace {

/// One row of log-probabilities and of what they are compared with.
template <class T>
struct TargetRow {
  const T *log_p, *q, *weights;
  Dim V;
  double smoothing;

  double weight(Dim v) const { return weights ? static_cast<double>(weights[v]) : 1.0; }
  double target(Dim v) const { return weight(v) * ((1 - smoothing) * static_cast<double>(q[v]) + smoothing / static_cast<double>(V)); }
};

/// f(r, row) for every row.
template <class T, class F>
void each_row(const Array& log_p, const SoftTargets& targets, const F& f) {
  const Dim V = log_p.dim(-1);
  if (V == 0) return;
  const T *const from = log_p.data<T>(), *const q = targets.q.data<T>();
  const T* const weights = targets.weights ? targets.weights.data<T>() : nullptr;
  parallel_for(log_p.numel() / V, std::max<Dim>(1, (Dim{1} << 12) / V), [&](Dim begin, Dim end) {
    for (Dim r = begin; r < end; ++r) f(r, TargetRow<T>{from + r * V, q + r * V, weights, V, targets.smoothing});
  });
}

/// The gradient of a row is f(r, row, upstream of the row, where to write it).
template <class F>
Array gradient(const Array& log_p, const SoftTargets& targets, const Array& dlosses, double factor, const F& f) {
  Array result(log_p.shape(), log_p.dtype());
  dispatch(log_p.dtype(), [&]<class T>(T) {
    T* const to = result.mutable_data<T>();
    const T* const upstream = dlosses.data<T>();
    const Dim step = dlosses.numel() == 1 ? 0 : 1;
    each_row<T>(log_p, targets,
                [=, &f](Dim r, const TargetRow<T>& row) { f(row, factor * static_cast<double>(upstream[r * step]), to + r * row.V); });
  });
  return result;
}

}  // namespace

Array soft_cross_entropy(const Array& log_p, const SoftTargets& targets, const Shape& rows) {
  Array losses = Array::zeros(rows, log_p.dtype());
  dispatch(log_p.dtype(), [&]<class T>(T) {
    T* const to = losses.mutable_data<T>();
    each_row<T>(log_p, targets, [to](Dim r, const TargetRow<T>& row) {
      double loss = 0;
      for (Dim v = 0; v < row.V; ++v)
        if (const double q = row.target(v); q != 0) loss -= q * static_cast<double>(row.log_p[v]);
      to[r] = static_cast<T>(loss);
    });
  });
  return losses;
}

Array soft_cross_entropy_dlogits(const Array& log_p, const SoftTargets& targets, const Array& dlosses, double factor) {
  return gradient(log_p, targets, dlosses, factor, []<class T>(const TargetRow<T>& row, double upstream, T* to) {
    double mass = 0;
    bool nowhere = true;
    for (Dim v = 0; v < row.V; ++v) {
      mass += row.target(v);
      nowhere = nowhere && row.log_p[v] == -std::numeric_limits<T>::infinity();
    }
    for (Dim v = 0; v < row.V; ++v)
      to[v] = nowhere ? T{0} : static_cast<T>((std::exp(static_cast<double>(row.log_p[v])) * mass - row.target(v)) * upstream);
  });
}

Array soft_cross_entropy_dtargets(const Array& log_p, const SoftTargets& targets, const Array& dlosses, double factor) {
  return gradient(log_p, targets, dlosses, factor, []<class T>(const TargetRow<T>& row, double upstream, T* to) {
    for (Dim v = 0; v < row.V; ++v) {
      const double share = (1 - row.smoothing) * row.weight(v);
      to[v] = share == 0 ? T{0} : static_cast<T>(-share * static_cast<double>(row.log_p[v]) * upstream);
    }
  });
}

}  // namespace tapeform::kernels
