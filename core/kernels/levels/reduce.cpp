#include "kernels/reduce.hpp"

#include <algorithm>
#include <limits>
#include <tapeform/core/parallel.hpp>

#include "kernels/levels/shared.hpp"

#undef TAPEFORM_KERNEL_FILE
#define TAPEFORM_KERNEL_FILE "kernels/levels/reduce.cpp"
#include "kernels/levels/each-inl.h"

#ifndef TAPEFORM_CORE_KERNELS_REDUCE_ONCE  // this file is read once for every level
#define TAPEFORM_CORE_KERNELS_REDUCE_ONCE
namespace tapeform::kernels {
constexpr Dim max_columns = 512;  // summed together: their totals stay in the nearest cache
}
#endif

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

/// Σ x[0 … n).
static double SumFloat(const float* x, Dim n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> of_floats;
  const Dim lanes = LaneCount(d);
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  Dim i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::PromoteTo(d, hn::LoadU(of_floats, x + i)));
    s1 = hn::Add(s1, hn::PromoteTo(d, hn::LoadU(of_floats, x + i + lanes)));
    s2 = hn::Add(s2, hn::PromoteTo(d, hn::LoadU(of_floats, x + i + 2 * lanes)));
    s3 = hn::Add(s3, hn::PromoteTo(d, hn::LoadU(of_floats, x + i + 3 * lanes)));
  }
  for (; i + lanes <= n; i += lanes) s0 = hn::Add(s0, hn::PromoteTo(d, hn::LoadU(of_floats, x + i)));
  double total = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < n; ++i) total += x[i];
  return total;
}

/// total[j] += Σ over `rows` rows (1 or 4) of x[i·stride + j]. Four at a time share one load and store of the total.
template <Dim rows>
HWY_INLINE void AddRows(const float* x, Dim stride, Dim count, double* total) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> of_floats;
  const Dim lanes = LaneCount(d);
  for (Dim j = 0; j < count; j += lanes) {  // past `count` up to a whole vector of zeros
    const float* const p = x + j;
    const bool whole = j + lanes <= count;
    auto s = hn::PromoteTo(d, whole ? hn::LoadU(of_floats, p) : LoadPart(of_floats, p, count - j));
    if constexpr (rows == 4) {
      const auto s1 = hn::PromoteTo(d, whole ? hn::LoadU(of_floats, p + stride) : LoadPart(of_floats, p + stride, count - j));
      const auto s2 = hn::PromoteTo(d, whole ? hn::LoadU(of_floats, p + 2 * stride) : LoadPart(of_floats, p + 2 * stride, count - j));
      const auto s3 = hn::PromoteTo(d, whole ? hn::LoadU(of_floats, p + 3 * stride) : LoadPart(of_floats, p + 3 * stride, count - j));
      s = hn::Add(hn::Add(s, s1), hn::Add(s2, s3));
    }
    hn::StoreU(hn::Add(hn::LoadU(d, total + j), s), d, total + j);
  }
}

/// y[j] = Σ_i x[i·stride + j] / divisor for `count` columns, at most max_columns.
static void SumColumnsFloat(const float* x, Dim rows, Dim stride, Dim count, double divisor, float* y) {
  HWY_ALIGN double total[max_columns + hn::MaxLanes(hn::ScalableTag<double>())];
  std::fill_n(total, count + LaneCount(hn::ScalableTag<double>()), 0.0);
  Dim i = 0;
  for (; i + 4 <= rows; i += 4) AddRows<4>(x + i * stride, stride, count, total);
  for (; i < rows; ++i) AddRows<1>(x + i * stride, stride, count, total);
  for (Dim j = 0; j < count; ++j) y[j] = static_cast<float>(total[j] / divisor);
}

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tapeform::kernels {

HWY_EXPORT(SumFloat);
HWY_EXPORT(SumColumnsFloat);

namespace {

double sum_run(const float* x, Dim n) { return TAPEFORM_DISPATCH(SumFloat)(x, n); }

double sum_run(const double* x, Dim n) {
  double s[8] = {};
  Dim i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) s[k] += x[i + k];
  for (; i < n; ++i) s[0] += x[i];
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

void sum_columns(const float* x, Dim rows, Dim stride, Dim count, double divisor, float* y) {
  TAPEFORM_DISPATCH(SumColumnsFloat)(x, rows, stride, count, divisor, y);
}

void sum_columns(const double* x, Dim rows, Dim stride, Dim count, double divisor, double* y) {
  std::fill_n(y, count, 0.0);
  for (Dim i = 0; i < rows; ++i)
    for (Dim j = 0; j < count; ++j) y[j] += x[i * stride + j];
  for (Dim j = 0; j < count; ++j) y[j] /= divisor;
}

constexpr Dim grain = 1 << 15;  // elements in one piece of parallel work, and in one piece of a long row's sum

// [rows, n] -> [rows]
template <class T>
void sum_rows(const T* x, Dim rows, Dim n, double divisor, T* y) {
  if (n <= grain) {
    parallel_for(rows, std::max<Dim>(1, grain / std::max<Dim>(1, n)), [=](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) y[i] = static_cast<T>(sum_run(x + i * n, n) / divisor);
    });
    return;
  }
  const Dim pieces = (n + grain - 1) / grain;
  Array partial({pieces}, DType::float64);
  double* const part = partial.mutable_data<double>();
  for (Dim i = 0; i < rows; ++i) {
    const T* const row = x + i * n;
    parallel_for(n, grain, [=](Dim begin, Dim end) { part[begin / grain] = sum_run(row + begin, end - begin); });
    y[i] = static_cast<T>(sum_run(part, pieces) / divisor);
  }
}

// [outer, n, inner] -> [outer, inner]: a piece of work is some columns of one outer index.
template <class T>
void sum_middle(const T* x, Dim outer, Dim n, Dim inner, double divisor, T* y) {
  const Dim wanted = std::max<Dim>(64, grain / std::max<Dim>(1, n) / 64 * 64);  // whole cache lines
  const Dim width = std::min({inner, wanted, max_columns});
  const Dim pieces = (inner + width - 1) / width;
  const Dim together = std::max<Dim>(1, grain / std::max<Dim>(1, n * width));
  parallel_for(outer * pieces, together, [=](Dim begin, Dim end) {
    for (Dim piece = begin; piece < end; ++piece) {
      const Dim i = piece / pieces, first = piece % pieces * width;
      sum_columns(x + i * n * inner + first, n, inner, std::min(width, inner - first), divisor, y + i * inner + first);
    }
  });
}

// Neighbouring axes that are all reduced, or all kept, are one; axes of size 1 are neither.
struct Groups {
  Dim size[Shape::max_rank] = {};
  bool reduced[Shape::max_rank] = {};
  int count = 0;

  Groups(const Shape& shape, std::uint32_t axes) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) continue;
      const bool reduce = (axes >> axis & 1u) != 0;
      if (count > 0 && reduced[count - 1] == reduce) {
        size[count - 1] *= shape[axis];
      } else {
        size[count] = shape[axis];
        reduced[count++] = reduce;
      }
    }
  }

  // Takes the innermost reduced group out; false when there is none. Kept ones on both sides of it become one.
  bool take_innermost(Dim& outer, Dim& n, Dim& inner) {
    const bool kept_within = count > 0 && !reduced[count - 1];
    const int at = count - (kept_within ? 2 : 1);
    if (at < 0) return false;
    inner = kept_within ? size[at + 1] : 1;
    n = size[at];
    outer = 1;
    for (int i = 0; i < at; ++i) outer *= size[i];
    if (at > 0) size[at - 1] *= inner;
    count = at;
    return true;
  }
  bool any_reduced() const { return std::find(reduced, reduced + count, true) != reduced + count; }
};

}  // namespace

Array sum(const Array& x, std::uint32_t axes, const Shape& result, double divisor) {
  if (x.numel() == 0) return Array::full(result, divisor == 0 ? std::numeric_limits<double>::quiet_NaN() : 0.0, x.dtype());
  Groups groups(x.shape(), axes);
  Array rest = x;
  Dim outer, n, inner;
  while (groups.take_innermost(outer, n, inner)) {
    const double by = groups.any_reduced() ? 1.0 : divisor;
    Array summed({outer, inner}, x.dtype());
    dispatch(x.dtype(), [&]<class T>(T) {
      if (inner == 1)
        sum_rows(rest.data<T>(), outer, n, by, summed.mutable_data<T>());
      else
        sum_middle(rest.data<T>(), outer, n, inner, by, summed.mutable_data<T>());
    });
    rest = std::move(summed);
  }
  return rest.reshape(result);
}

Array sum_to(const Array& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  std::uint32_t axes = 0;
  const int leading = x.rank() - shape.rank();
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis < leading || (shape[axis - leading] == 1 && x.dim(axis) != 1)) axes |= 1u << axis;
  return sum(x, axes, shape);
}

}  // namespace tapeform::kernels
#endif  // HWY_ONCE
