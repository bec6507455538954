#include "kernels/rms_norm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tapeform/core/parallel.hpp>

#include "kernels/chunks.hpp"

namespace tapeform::kernels {
namespace {

/// Σ f(i) over [0, n) in four sums side by side.
template <class F>
double sum_of(Dim n, const F& f) {
  double sum[4] = {};
  Dim i = 0;
  for (; i + 4 <= n; i += 4)
    for (Dim k = 0; k < 4; ++k) sum[k] += f(i + k);
  for (; i < n; ++i) sum[0] += f(i);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// 1/√(mean x² + eps), at most the largest double. Squares of a row of float64 that would overflow or vanish are taken of numbers scaled
/// by a power of two; squares of floats are all right in double.
template <class T>
double inverse_of(const T* x, Dim n, double eps) {
  const auto mean_square = [x, n](double scale) {
    return sum_of(n, [x, scale](Dim i) { return (static_cast<double>(x[i]) * scale) * (static_cast<double>(x[i]) * scale); }) /
           static_cast<double>(n);
  };
  double root = std::sqrt(mean_square(1) + eps);
  if (sizeof(T) == sizeof(double) && !(root > 1e-140 && root < 1e140) && !std::isnan(root)) {
    double largest = 0;
    for (Dim i = 0; i < n; ++i) largest = std::max(largest, std::abs(static_cast<double>(x[i])));
    int exponent = 0;
    if (std::isfinite(largest)) std::frexp(largest, &exponent);
    const int shift = std::clamp(-exponent, -1000, 1000);
    root = std::ldexp(std::sqrt(mean_square(std::ldexp(1.0, shift)) + std::ldexp(eps, 2 * shift)), -shift);
  }
  return root == 0 ? 0.0 : std::min(1 / root, std::numeric_limits<double>::max());  // a row of zeros with eps = 0 stays zeros
}

template <class T>
void gradient_of_row(const T* dy, const T* x, const T* weight, double inverse, Dim n, T* dx, double* dweight) {
  const auto g = [dy, weight](Dim i) {
    return weight ? static_cast<double>(dy[i]) * static_cast<double>(weight[i]) : static_cast<double>(dy[i]);
  };
  const auto normal = [x, inverse](Dim i) { return static_cast<double>(x[i]) * inverse; };
  if (dweight)
    for (Dim i = 0; i < n; ++i) dweight[i] += static_cast<double>(dy[i]) * normal(i);
  if (!dx) return;
  const double slope = sum_of(n, [&](Dim i) { return g(i) * normal(i); }) / static_cast<double>(n);
  for (Dim i = 0; i < n; ++i) dx[i] = static_cast<T>((g(i) - normal(i) * slope) * inverse);
}

}  // namespace

RmsNormResult rms_norm(const Array& x, const Array& weight, double eps) {
  const Dim rows = rows_of(x), n = x.dim(-1);
  RmsNormResult result{Array(x.shape(), x.dtype()), Array(Shape{rows}, DType::float64)};
  dispatch(x.dtype(), [&]<class T>(T) {
    const T *const from = x.data<T>(), *const w = weight ? weight.data<T>() : nullptr;
    T* const to = result.y.mutable_data<T>();
    double* const inverses = result.inverse.mutable_data<double>();
    parallel_for(rows, rows_per_chunk(n, 1 << 13), [=](Dim begin, Dim end) {
      for (Dim r = begin; r < end; ++r) {
        const T* const row = from + r * n;
        const double inverse = inverse_of(row, n, eps);
        inverses[r] = inverse;
        for (Dim i = 0; i < n; ++i)
          to[r * n + i] = static_cast<T>(static_cast<double>(row[i]) * inverse * (w ? static_cast<double>(w[i]) : 1.0));
      }
    });
  });
  return result;
}

RmsNormGradients rms_norm_backward(const Array& dy, const Array& x, const Array& weight, const Array& inverse, bool need_x,
                                   bool need_weight) {
  const Dim rows = rows_of(x), n = x.dim(-1), grain = std::max(rows_per_chunk(n, 1 << 13), (rows + 63) / 64),
            chunks = (rows + grain - 1) / grain;
  RmsNormGradients result;
  if (need_x) result.dx = Array(x.shape(), x.dtype());
  Array parts = need_weight ? Array::zeros(Shape{chunks, n}, DType::float64) : Array();
  dispatch(x.dtype(), [&]<class T>(T) {
    const T *const upstream = dy.data<T>(), *const from = x.data<T>(), *const w = weight ? weight.data<T>() : nullptr;
    const double* const inverses = inverse.data<double>();
    T* const dx = need_x ? result.dx.mutable_data<T>() : nullptr;
    double* const dweight = need_weight ? parts.mutable_data<double>() : nullptr;
    parallel_for(rows, grain, [=](Dim begin, Dim end) {
      for (Dim r = begin; r < end; ++r)
        gradient_of_row(upstream + r * n, from + r * n, w, inverses[r], n, dx ? dx + r * n : nullptr,
                        dweight ? dweight + begin / grain * n : nullptr);
    });
    if (!need_weight) return;
    result.dweight = Array(weight.shape(), x.dtype());
    T* const to = result.dweight.mutable_data<T>();
    for (Dim i = 0; i < n; ++i) {
      double sum = 0;
      for (Dim chunk = 0; chunk < chunks; ++chunk) sum += dweight[chunk * n + i];
      to[i] = static_cast<T>(sum);
    }
  });
  return result;
}

}  // namespace tapeform::kernels
