#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/reduce.hpp"

namespace tapeform {

using kernels::Binary;
using kernels::binary;
using kernels::sum_to;
using kernels::Unary;
using kernels::unary;

static Array broadcast_binary(const char* op, Binary kernel, const Tensor& a, const Tensor& b) {
  shapes::same_dtype(op, a, b);
  return binary(kernel, a.value(), b.value(), shapes::broadcast(op, a.shape(), b.shape()));
}

// dc·x summed to `shape`, for operands that may have been repeated.
static Array product_to(const Array& dc, const Array& x, const Shape& shape) {
  return sum_to(binary(Binary::mul, dc, x, dc.shape()), shape);
}

// ---- two tensors ----

Tensor operator+(const Tensor& a, const Tensor& b) {
  return record("add", broadcast_binary("add", Binary::add, a, b),
                wrt(a, [shape = a.shape()](const Array& dc) { return sum_to(dc, shape); }),
                wrt(b, [shape = b.shape()](const Array& dc) { return sum_to(dc, shape); }));
}

Tensor operator-(const Tensor& a, const Tensor& b) {
  return record("sub", broadcast_binary("sub", Binary::sub, a, b),
                wrt(a, [shape = a.shape()](const Array& dc) { return sum_to(dc, shape); }),
                wrt(b, [shape = b.shape()](const Array& dc) { return unary(Unary::neg, sum_to(dc, shape)); }));
}

Tensor operator*(const Tensor& a, const Tensor& b) {
  return record("mul", broadcast_binary("mul", Binary::mul, a, b),
                wrt(a, [B = b.value(), shape = a.shape()](const Array& dc) { return product_to(dc, B, shape); }),
                wrt(b, [A = a.value(), shape = b.shape()](const Array& dc) { return product_to(dc, A, shape); }));
}

Tensor operator/(const Tensor& a, const Tensor& b) {
  const Array c = broadcast_binary("div", Binary::div, a, b);
  return record(
      "div", c,
      wrt(a, [B = b.value(), shape = a.shape()](const Array& dc) { return sum_to(binary(Binary::div, dc, B, dc.shape()), shape); }),
      wrt(b, [c, B = b.value()](const Array& dc) { return unary(Unary::neg, kernels::div(product_to(dc, c, B.shape()), B)); }));
}

Tensor operator-(const Tensor& x) {
  shapes::filled("neg", "x", x);
  return record("neg", unary(Unary::neg, x.value()), wrt(x, [](const Array& dy) { return unary(Unary::neg, dy); }));
}

// ---- a tensor and a number ----

Tensor operator+(const Tensor& a, double b) {
  return record("add", binary(Binary::add, a.value(), b), wrt(a, [](const Array& dc) { return dc; }));
}
Tensor operator+(double a, const Tensor& b) { return b + a; }

Tensor operator-(const Tensor& a, double b) {
  return record("sub", binary(Binary::sub, a.value(), b), wrt(a, [](const Array& dc) { return dc; }));
}
Tensor operator-(double a, const Tensor& b) {
  return record("sub", binary(Binary::sub, a, b.value()), wrt(b, [](const Array& dc) { return unary(Unary::neg, dc); }));
}

Tensor operator*(const Tensor& a, double b) {
  return record("mul", binary(Binary::mul, a.value(), b), wrt(a, [b](const Array& dc) { return binary(Binary::mul, dc, b); }));
}
Tensor operator*(double a, const Tensor& b) { return b * a; }

Tensor operator/(const Tensor& a, double b) {
  return record("div", binary(Binary::div, a.value(), b), wrt(a, [b](const Array& dc) { return binary(Binary::div, dc, b); }));
}
Tensor operator/(double a, const Tensor& b) {
  const Array c = binary(Binary::div, a, b.value());
  return record("div", c, wrt(b, [c, B = b.value()](const Array& dc) { return unary(Unary::neg, kernels::div(kernels::mul(dc, c), B)); }));
}

// ---- functions ----

Tensor exp(const Tensor& x) {
  shapes::filled("exp", "x", x);
  const Array y = unary(Unary::exp, x.value());
  return record("exp", y, wrt(x, [y](const Array& dy) { return kernels::mul(dy, y); }));
}

Tensor log(const Tensor& x) {
  shapes::filled("log", "x", x);
  return record("log", unary(Unary::log, x.value()),
                wrt(x, [X = x.value()](const Array& dy) { return binary(Binary::log_gradient, dy, X); }));
}

Tensor sqrt(const Tensor& x) {
  shapes::filled("sqrt", "x", x);
  const Array y = unary(Unary::sqrt, x.value());
  return record("sqrt", y, wrt(x, [y](const Array& dy) { return binary(Binary::sqrt_gradient, dy, y); }));
}

Tensor tanh(const Tensor& x) {
  shapes::filled("tanh", "x", x);
  const Array y = unary(Unary::tanh, x.value());
  return record("tanh", y, wrt(x, [y](const Array& dy) { return binary(Binary::tanh_gradient, dy, y); }));
}

}  // namespace tapeform
