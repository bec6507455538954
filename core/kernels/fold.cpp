#include "kernels/fold.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tapeform/core/parallel.hpp>

#include "kernels/movement.hpp"
#include "kernels/runs.hpp"

namespace tapeform::kernels {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// One slice of x.
template <class T>
struct Row {
  const T* x;
  Dim n;
  double operator[](Dim i) const { return static_cast<double>(x[i]); }
};

// Σ f(x), in eight sums side by side.
template <class T, class F>
double total(const Row<T>& x, F f) {
  double s[8] = {};
  Dim i = 0;
  for (; i + 8 <= x.n; i += 8)
    for (Dim k = 0; k < 8; ++k) s[k] += f(x[i + k]);
  for (; i < x.n; ++i) s[0] += f(x[i]);
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

// The mean, taken out twice: what the first one lost far from 0, the second finds.
template <class T>
double mean_of(const Row<T>& x) {
  const double n = static_cast<double>(x.n), first = total(x, [](double v) { return v; }) / n;
  return first + total(x, [first](double v) { return v - first; }) / n;
}

// The largest of f(x), which is not negative; NaN if there is one.
template <class T, class F>
double largest(const Row<T>& x, F f) {
  double best = 0;
  bool nan = false;
  for (Dim i = 0; i < x.n; ++i) {
    const double v = f(x[i]);
    best = v > best ? v : best;
    nan = nan || v != v;
  }
  return nan ? not_a_number : best;
}

// √Σ (x − shift)², also where squares leave the range of double.
template <class T>
double root_of_squares(const Row<T>& x, double shift) {
  const double plain = total(x, [shift](double v) { return (v - shift) * (v - shift); });
  if (plain > 1e-280 && plain < 1e300) return std::sqrt(plain);
  const double unit = largest(x, [shift](double v) { return std::fabs(v - shift); });
  if (!(unit > 0 && unit < infinity)) return unit;
  return unit * std::sqrt(total(x, [shift, unit](double v) { return (v - shift) / unit * ((v - shift) / unit); }));
}

double divisor(Dim n, double correction) { return std::max(static_cast<double>(n) - correction, 0.0); }

// The largest (sign 1) or the smallest (−1); a NaN is both.
template <class T>
double extreme(const Row<T>& x, double sign) {
  T best = x.x[0];
  const T direction = static_cast<T>(sign);
  bool nan = false;
  for (Dim i = 0; i < x.n; ++i) {
    best = direction * x.x[i] > direction * best ? x.x[i] : best;
    nan = nan || x.x[i] != x.x[i];
  }
  return nan ? not_a_number : static_cast<double>(best);
}

template <class T>
double logsumexp(const Row<T>& x) {
  const double max = x.n == 0 ? -infinity : extreme(x, 1);
  if (!std::isfinite(max)) return max;
  return max + std::log(total(x, [max](double v) { return std::exp(v - max); }));
}

template <class T>
double value(Fold op, const Row<T>& x, double correction) {
  switch (op) {
    case Fold::var: {
      const double mean = mean_of(x);
      return total(x, [mean](double v) { return (v - mean) * (v - mean); }) / divisor(x.n, correction);
    }
    case Fold::stddev:
      return root_of_squares(x, mean_of(x)) / std::sqrt(divisor(x.n, correction));
    case Fold::norm_1:
      return total(x, [](double v) { return std::fabs(v); });
    case Fold::norm_2:
      return root_of_squares(x, 0);
    case Fold::norm_inf:
      return largest(x, [](double v) { return std::fabs(v); });
    case Fold::max:
      return extreme(x, 1);
    case Fold::min:
      return extreme(x, -1);
    case Fold::prod: {
      double product = 1;
      for (Dim i = 0; i < x.n; ++i) product *= x[i];
      return product;
    }
    case Fold::logsumexp:
      break;
  }
  return logsumexp(x);
}

// ---- derivatives: dx of one slice, from its y and dy -----------------------------------------------------------------------------

template <class T, class F>
void fill(const Row<T>& x, T* dx, F f) {
  for (Dim i = 0; i < x.n; ++i) dx[i] = static_cast<T>(f(x[i]));
}

double sign_of(double v) { return v > 0 ? 1 : v < 0 ? -1 : v; }  // NaN stays

// dy to the numbers for which f(x) is y, in equal parts; a NaN that is y counts as equal to it.
template <class T, class F>
void share(const Row<T>& x, double y, double dy, T* dx, F f) {
  const auto holds = [y, f](double v) { return f(v) == y || (y != y && v != v); };
  double count = 0;
  for (Dim i = 0; i < x.n; ++i) count += holds(x[i]) ? 1 : 0;
  const double part = dy / count;
  fill(x, dx, [holds, part](double v) { return holds(v) ? part : 0.0; });
}

// dx = dy · the product of the others, from the products before and after: no division, so zeros are numbers like all others.
template <class T>
void prod_gradient(const Row<T>& x, double dy, T* dx) {
  Array before({x.n}, DType::float64);
  double* const product = before.mutable_data<double>();
  double running = 1;
  for (Dim i = 0; i < x.n; running *= x[i++]) product[i] = running;
  running = 1;
  for (Dim i = x.n; i-- > 0; running *= x[i]) dx[i] = static_cast<T>(dy * (product[i] * running));
}

// dx = dy · softmax(x), worked out again: exp(x − y) would carry the rounding of a large y.
template <class T>
void logsumexp_gradient(const Row<T>& x, double y, double dy, T* dx) {
  if (y == -infinity) return clear(dx, x.n);
  if (y == infinity) return share(x, y, dy, dx, [](double v) { return v; });
  const double max = extreme(x, 1), factor = dy / total(x, [max](double v) { return std::exp(v - max); });
  fill(x, dx, [max, factor](double v) { return factor * std::exp(v - max); });
}

template <class T>
void gradient(Fold op, const Row<T>& x, double y, double dy, double correction, T* dx) {
  const double n = divisor(x.n, correction);
  switch (op) {
    case Fold::var:
      return fill(x, dx, [mean = mean_of(x), n, dy](double v) { return 2 * dy * (v - mean) / n; });
    case Fold::stddev:
      if (y == 0) return clear(dx, x.n);
      return fill(x, dx, [mean = mean_of(x), n, y, dy](double v) { return dy * ((v - mean) / y) / n; });
    case Fold::norm_1:
      return fill(x, dx, [dy](double v) { return dy * sign_of(v); });
    case Fold::norm_2:
      if (y == 0) return clear(dx, x.n);
      return fill(x, dx, [y, dy](double v) { return dy * (v / y); });
    case Fold::norm_inf:
      if (y == 0) return clear(dx, x.n);
      share(x, y, dy, dx, [](double v) { return std::fabs(v); });
      for (Dim i = 0; i < x.n; ++i) dx[i] = x.x[i] < 0 ? -dx[i] : dx[i];
      return;
    case Fold::max:
    case Fold::min:
      return share(x, y, dy, dx, [](double v) { return v; });
    case Fold::prod:
      return prod_gradient(x, dy, dx);
    case Fold::logsumexp:
      return logsumexp_gradient(x, y, dy, dx);
  }
}

}  // namespace

FoldAxes::FoldAxes(const Shape& x, std::uint32_t bits) : shape_(x) {
  int last = 0, kept = 0;
  for (const std::uint32_t reduced : {0u, 1u}) {
    for (int axis = 0; axis < x.rank(); ++axis) {
      if ((bits >> axis & 1u) != reduced) continue;
      moved_.push_back(x[axis]);
      back_[axis] = last;
      order_[last++] = axis;
    }
    if (reduced == 0) kept = last;
  }
  outer = moved_.numel(0, kept);
  n = outer == 0 ? 0 : moved_.numel(kept, last);  // without slices their length does not matter, and may fit nothing
}

Array FoldAxes::to_rows(const Array& x) const { return permute(x, {order_, static_cast<std::size_t>(x.rank())}).reshape(Shape{outer, n}); }

Array FoldAxes::from_rows(const Array& rows) const {
  return permute(rows.reshape(moved_), {back_, static_cast<std::size_t>(shape_.rank())});
}

Array fold(Fold op, const Array& x, const FoldAxes& axes, const Shape& result, double correction) {
  const Array rows = axes.to_rows(x);
  Array y(result, x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = rows.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(axes.outer, grain_for_items(axes.n), [=, n = axes.n](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) to[i] = static_cast<T>(value(op, Row<T>{from + i * n, n}, correction));
    });
  });
  return y;
}

Array fold_gradient(Fold op, const Array& x, const Array& y, const Array& dy, const FoldAxes& axes, double correction) {
  const Array rows = axes.to_rows(x);
  Array dx({axes.outer, axes.n}, x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    const T *const from = rows.data<T>(), *const result = y.data<T>(), *const upstream = dy.data<T>();
    T* const to = dx.mutable_data<T>();
    parallel_for(axes.outer, grain_for_items(axes.n), [=, n = axes.n](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i)
        gradient(op, Row<T>{from + i * n, n}, static_cast<double>(result[i]), static_cast<double>(upstream[i]), correction, to + i * n);
    });
  });
  return axes.from_rows(dx);
}

}  // namespace tapeform::kernels
