#include <tapeform/core/ops/reduce.hpp>

#include <fmt/format.h>

#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/fold.hpp"
#include "kernels/reduce.hpp"
#include "kernels/scan.hpp"

namespace tapeform {

// y = Σ x / divisor over the axes in `bits`.   dx = dy/divisor, repeated
static Tensor sum_over(const char* op, const Tensor& x, std::uint32_t bits, bool keepdims, double divisor) {
  shapes::filled(op, "x", x);
  const Shape& shape = x.shape();
  return record(op, kernels::sum(x.value(), bits, shapes::reduced(shape, bits, keepdims), divisor),
                wrt(x, [shape, kept = shapes::reduced(shape, bits, true), divisor](const Array& dy) {
                  const Array each = divisor == 1 ? dy : kernels::binary(kernels::Binary::div, dy, divisor);
                  return kernels::broadcast_to(each.reshape(kept), shape);
                }));
}

static std::uint32_t bits_of(const char* op, const Tensor& x, std::span<const int> axes) {
  shapes::filled(op, "x", x);
  return shapes::axis_bits(op, x.shape(), axes);
}

static std::span<const int> span_of(std::initializer_list<int> axes) { return {axes.begin(), axes.size()}; }

static std::uint32_t every_axis(const Shape& x) { return (1u << x.rank()) - 1; }

static double count_over(const Shape& x, std::uint32_t bits) {
  Dim count = 1;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (bits >> axis & 1u) count *= x[axis];
  return static_cast<double>(count);
}

Tensor sum(const Tensor& x) { return sum_over("sum", x, every_axis(x.shape()), false, 1); }

Tensor sum(const Tensor& x, std::span<const int> axes, ReduceOptions options) {
  return sum_over("sum", x, bits_of("sum", x, axes), options.keepdims, 1);
}

Tensor sum(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options) { return sum(x, span_of(axes), options); }

Tensor mean(const Tensor& x) {
  const std::uint32_t bits = every_axis(x.shape());
  return sum_over("mean", x, bits, false, count_over(x.shape(), bits));
}

Tensor mean(const Tensor& x, std::span<const int> axes, ReduceOptions options) {
  const std::uint32_t bits = bits_of("mean", x, axes);
  return sum_over("mean", x, bits, options.keepdims, count_over(x.shape(), bits));
}

Tensor mean(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options) { return mean(x, span_of(axes), options); }

// ---- reductions whose derivative needs x ----------------------------------------------------------------------------------------

using kernels::Fold;

static Tensor folded(const char* op, Fold kind, const Tensor& x, std::uint32_t bits, bool keepdims, double correction = 0) {
  shapes::filled(op, "x", x);
  const kernels::FoldAxes axes(x.shape(), bits);
  const Array y = kernels::fold(kind, x.value(), axes, shapes::reduced(x.shape(), bits, keepdims), correction);
  return record(op, y, wrt(x, [kind, X = x.value(), y, axes, correction](const Array& dy) {
                  return kernels::fold_gradient(kind, X, y, dy, axes, correction);
                }));
}

// The largest or the smallest of something: there must be something.
static Tensor chosen(const char* op, Fold kind, const Tensor& x, std::uint32_t bits, bool keepdims) {
  for (int axis = 0; axis < x.rank(); ++axis)
    if ((bits >> axis & 1u) != 0 && x.dim(axis) == 0)
      throw ShapeError(fmt::format("{}: there must be an element to choose; got x {}. Axis {} is empty", op, x.shape().str(), axis));
  return folded(op, kind, x, bits, keepdims);
}

static Fold norm_of(double p) {
  if (p == 1) return Fold::norm_1;
  if (p == 2) return Fold::norm_2;
  if (p == std::numeric_limits<double>::infinity()) return Fold::norm_inf;
  throw ValueError(fmt::format("norm: p must be 1, 2 or infinity; got {}", p));
}

Tensor var(const Tensor& x, VarOptions options) {
  return folded("var", Fold::var, x, every_axis(x.shape()), options.keepdims, options.correction);
}
Tensor var(const Tensor& x, std::span<const int> axes, VarOptions options) {
  return folded("var", Fold::var, x, bits_of("var", x, axes), options.keepdims, options.correction);
}
Tensor var(const Tensor& x, std::initializer_list<int> axes, VarOptions options) { return var(x, span_of(axes), options); }

Tensor stddev(const Tensor& x, VarOptions options) {
  return folded("stddev", Fold::stddev, x, every_axis(x.shape()), options.keepdims, options.correction);
}
Tensor stddev(const Tensor& x, std::span<const int> axes, VarOptions options) {
  return folded("stddev", Fold::stddev, x, bits_of("stddev", x, axes), options.keepdims, options.correction);
}
Tensor stddev(const Tensor& x, std::initializer_list<int> axes, VarOptions options) { return stddev(x, span_of(axes), options); }

Tensor norm(const Tensor& x, NormOptions options) { return folded("norm", norm_of(options.p), x, every_axis(x.shape()), options.keepdims); }
Tensor norm(const Tensor& x, std::span<const int> axes, NormOptions options) {
  return folded("norm", norm_of(options.p), x, bits_of("norm", x, axes), options.keepdims);
}
Tensor norm(const Tensor& x, std::initializer_list<int> axes, NormOptions options) { return norm(x, span_of(axes), options); }

Tensor max(const Tensor& x) { return chosen("max", Fold::max, x, every_axis(x.shape()), false); }
Tensor max(const Tensor& x, std::span<const int> axes, ReduceOptions options) {
  return chosen("max", Fold::max, x, bits_of("max", x, axes), options.keepdims);
}
Tensor max(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options) { return max(x, span_of(axes), options); }

Tensor min(const Tensor& x) { return chosen("min", Fold::min, x, every_axis(x.shape()), false); }
Tensor min(const Tensor& x, std::span<const int> axes, ReduceOptions options) {
  return chosen("min", Fold::min, x, bits_of("min", x, axes), options.keepdims);
}
Tensor min(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options) { return min(x, span_of(axes), options); }

Tensor prod(const Tensor& x) { return folded("prod", Fold::prod, x, every_axis(x.shape()), false); }
Tensor prod(const Tensor& x, std::span<const int> axes, ReduceOptions options) {
  return folded("prod", Fold::prod, x, bits_of("prod", x, axes), options.keepdims);
}
Tensor prod(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options) { return prod(x, span_of(axes), options); }

Tensor logsumexp(const Tensor& x) { return folded("logsumexp", Fold::logsumexp, x, every_axis(x.shape()), false); }
Tensor logsumexp(const Tensor& x, std::span<const int> axes, ReduceOptions options) {
  return folded("logsumexp", Fold::logsumexp, x, bits_of("logsumexp", x, axes), options.keepdims);
}
Tensor logsumexp(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options) { return logsumexp(x, span_of(axes), options); }

// y_i = Σ_{j≤i} x_j      dx_i = Σ_{j≥i} dy_j
Tensor cumsum(const Tensor& x, int axis, CumsumOptions options) {
  shapes::filled("cumsum", "x", x);
  const kernels::AxisSplit split(x.shape(), shapes::axis("cumsum", x.shape(), axis));
  return record("cumsum", kernels::cumsum(x.value(), split, options.reverse),
                wrt(x, [split, reverse = options.reverse](const Array& dy) { return kernels::cumsum(dy, split, !reverse); }));
}

}  // namespace tapeform
