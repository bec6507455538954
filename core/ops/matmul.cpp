#include <tapeform/core/ops/matmul.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <tapeform/core/error.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/linear.hpp"
#include "kernels/matmul.hpp"

namespace tapeform {
namespace {

Dim leading_size(const Shape& shape, int from_right) {
  const int axis = shape.rank() - 3 - from_right;
  return axis < 0 ? 1 : shape[axis];
}

[[noreturn]] void throw_matmul(const char* rule, const Shape& a, const Shape& b, const std::string& cure) {
  throw ShapeError(fmt::format("matmul: {}; got a {}, b {}. {}", rule, a.str(), b.str(), cure));
}

Shape matmul_shape(const Tensor& x, const Tensor& y, MatmulOptions options) {
  shapes::filled("matmul", "a", x);
  shapes::filled("matmul", "b", y);
  const Shape &a = x.shape(), &b = y.shape();
  if (a.rank() < 2 || b.rank() < 2) throw_matmul("operands need at least two axes", a, b, "Reshape a vector to [1, n] or [n, 1]");
  if (x.dtype() != y.dtype())
    throw DTypeError(fmt::format("matmul: dtypes must agree; got a {}, b {}. Use cast()", name(x.dtype()), name(y.dtype())));
  const Dim m = options.transpose_a ? a[-1] : a[-2], k = options.transpose_a ? a[-2] : a[-1];
  const Dim inner = options.transpose_b ? b[-1] : b[-2], n = options.transpose_b ? b[-2] : b[-1];
  if (k != inner)
    throw_matmul("inner sizes must agree", a, b,
                 fmt::format("They are {} and {}{}", k, inner,
                             options.transpose_a || options.transpose_b ? ", transposes counted"
                                                                        : ": an operand stored the other way round needs transpose_a or "
                                                                          "transpose_b"));
  Shape c;
  for (int i = std::max(a.rank(), b.rank()) - 3; i >= 0; --i) {
    const Dim in_a = leading_size(a, i), in_b = leading_size(b, i);
    if (in_a != in_b && in_a != 1 && in_b != 1)
      throw_matmul("leading axes must agree or be 1", a, b, fmt::format("{} meets {}", in_a, in_b));
    c.push_back(in_a == 1 ? in_b : in_a);
  }
  c.push_back(m);
  c.push_back(n);
  return c;
}

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  shapes::filled("linear", "x", x);
  shapes::filled("linear", "weight", weight);
  const Shape &in = x.shape(), &w = weight.shape();
  if (w.rank() != 2) throw ShapeError(fmt::format("linear: weight must be [out, in]; got x {}, weight {}", in.str(), w.str()));
  if (in.rank() == 0 || in[-1] != w[1])
    throw ShapeError(
        fmt::format("linear: x must end in in_features {}; got x {}, weight {}. Build the layer for {} or change the last axis of x", w[1],
                    in.str(), w.str(), in.rank() == 0 ? 1 : in[-1]));
  if (bias && bias.shape() != Shape{w[0]})
    throw ShapeError(
        fmt::format("linear: bias must be [{}], weight's out_features; got weight {}, bias {}", w[0], w.str(), bias.shape().str()));
  if (x.dtype() != weight.dtype())
    throw DTypeError(fmt::format("linear: dtypes must agree; got x {}, weight {}. Use cast()", name(x.dtype()), name(weight.dtype())));
  if (bias && bias.dtype() != weight.dtype())
    throw DTypeError(
        fmt::format("linear: dtypes must agree; got weight {}, bias {}. Use cast()", name(weight.dtype()), name(bias.dtype())));
}

}  // namespace

// c = a·b      a: [..., m, k]   b: [..., k, n]   c: [..., m, n]      da = dc·bᵀ   db = aᵀ·dc   (of a transposed operand: the transpose)
Tensor matmul(const Tensor& a, const Tensor& b, MatmulOptions options) {
  const bool ta = options.transpose_a, tb = options.transpose_b;
  const Shape c_shape = matmul_shape(a, b, options);
  return record(
      "matmul", kernels::matmul(a.value(), ta, b.value(), tb, c_shape),
      wrt(a, [B = b.value(), shape = a.shape(), ta,
              tb](const Array& dc) { return ta ? kernels::matmul(B, tb, dc, true, shape) : kernels::matmul(dc, false, B, !tb, shape); }),
      wrt(b, [A = a.value(), shape = b.shape(), ta, tb](const Array& dc) {
        return tb ? kernels::matmul(dc, true, A, ta, shape) : kernels::matmul(A, !ta, dc, false, shape);
      }));
}

// y = x·Wᵀ + bias      x: [..., in]   W: [out, in]   y: [..., out]      dx = dy·W   dW = dyᵀ·x   dbias = Σ dy
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_linear(x, weight, bias);
  return record("linear", kernels::linear(x.value(), weight.value(), bias.value()),
                wrt(weight, [X = x.value()](const Array& dy) { return kernels::linear_dweight(dy, X); }),
                wrt(bias, [](const Array& dy) { return kernels::linear_dbias(dy); }),
                wrt(x, [W = weight.value(), shape = x.shape()](const Array& dy) { return kernels::linear_dx(dy, W, shape); }));
}

}  // namespace tapeform
