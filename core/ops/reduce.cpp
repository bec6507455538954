#include <tapeform/core/ops/reduce.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/reduce.hpp"

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

static std::uint32_t every_axis(const Shape& x) { return (1u << x.rank()) - 1; }

static double count_over(const Shape& x, std::uint32_t bits) {
  Dim count = 1;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (bits >> axis & 1u) count *= x[axis];
  return static_cast<double>(count);
}

Tensor sum(const Tensor& x) { return sum_over("sum", x, every_axis(x.shape()), false, 1); }

Tensor sum(const Tensor& x, std::span<const int> axes, ReduceOptions options) {
  return sum_over("sum", x, shapes::axis_bits("sum", x.shape(), axes), options.keepdims, 1);
}

Tensor sum(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options) {
  return sum(x, std::span<const int>(axes.begin(), axes.size()), options);
}

Tensor mean(const Tensor& x) {
  const std::uint32_t bits = every_axis(x.shape());
  return sum_over("mean", x, bits, false, count_over(x.shape(), bits));
}

Tensor mean(const Tensor& x, std::span<const int> axes, ReduceOptions options) {
  const std::uint32_t bits = shapes::axis_bits("mean", x.shape(), axes);
  return sum_over("mean", x, bits, options.keepdims, count_over(x.shape(), bits));
}

Tensor mean(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options) {
  return mean(x, std::span<const int>(axes.begin(), axes.size()), options);
}

}  // namespace tapeform
