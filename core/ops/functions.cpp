#include <cmath>
#include <numbers>
#include <tapeform/core/ops/functions.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/map.hpp"
#include "kernels/reduce.hpp"

namespace tapeform {
namespace {

using kernels::broadcast_to;
using kernels::map;
using kernels::sum_to;

// y = f(x)      dx = derivative(dy, x)
template <class F, class D>
Tensor function(const char* op, const Tensor& x, const F& f, const D& derivative) {
  shapes::filled(op, "x", x);
  return record(op, map(f, x.value()), wrt(x, [X = x.value(), derivative](const Array& dy) { return map(derivative, dy, X); }));
}

// xᵖ by the cheapest way that gives the same number.
Array power(const Array& x, double p) {
  if (p == 1) return x;
  if (p == 2) return kernels::mul(x, x);
  return map([p](double v) { return std::pow(v, p); }, x);
}

double power_by_base(double dc, double a, double b) { return dc == 0 || b == 0 ? 0.0 : dc * b * std::pow(a, b - 1); }

// 0⁰ counts as the limit of 0ᵇ from b > 0, whose slope is 0.
double power_by_exponent(double dc, double a, double b) {
  const double c = std::pow(a, b);
  return dc == 0 || c == 0 || (a == 0 && b == 0) ? 0.0 : dc * c * std::log(a);
}

}  // namespace

Tensor pow(const Tensor& x, double p) {
  shapes::filled("pow", "x", x);
  return record("pow", power(x.value(), p), wrt(x, [X = x.value(), p](const Array& dy) {
                  return map([p](double d, double v) { return power_by_base(d, v, p); }, dy, X);
                }));
}

Tensor pow(const Tensor& a, const Tensor& b) {
  shapes::same_dtype("pow", a, b);
  const Shape shape = shapes::broadcast("pow", a.shape(), b.shape());
  return record("pow",
                map([](double v, double p) { return std::pow(v, p); }, broadcast_to(a.value(), shape), broadcast_to(b.value(), shape)),
                wrt(a,
                    [A = a.value(), B = b.value()](const Array& dc) {
                      return sum_to(map(power_by_base, dc, broadcast_to(A, dc.shape()), broadcast_to(B, dc.shape())), A.shape());
                    }),
                wrt(b, [A = a.value(), B = b.value()](const Array& dc) {
                  return sum_to(map(power_by_exponent, dc, broadcast_to(A, dc.shape()), broadcast_to(B, dc.shape())), B.shape());
                }));
}

Tensor pow(double a, const Tensor& b) {
  shapes::filled("pow", "b", b);
  return function(
      "pow", b, [a](double p) { return std::pow(a, p); }, [a](double dc, double p) { return power_by_exponent(dc, a, p); });
}

Tensor log1p(const Tensor& x) {
  return function(
      "log1p", x, [](double v) { return std::log1p(v); }, [](double dy, double v) { return dy == 0 ? 0.0 : dy / (1 + v); });
}

Tensor expm1(const Tensor& x) {
  return function(
      "expm1", x, [](double v) { return std::expm1(v); }, [](double dy, double v) { return dy * std::exp(v); });
}

Tensor log2(const Tensor& x) {
  return function(
      "log2", x, [](double v) { return std::log2(v); }, [](double dy, double v) { return dy == 0 ? 0.0 : dy / (v * std::numbers::ln2); });
}

Tensor rsqrt(const Tensor& x) {
  return function(
      "rsqrt", x, [](double v) { return 1 / std::sqrt(v); },
      [](double dy, double v) { return dy == 0 ? 0.0 : -0.5 * dy / (v * std::sqrt(v)); });
}

Tensor abs(const Tensor& x) {
  return function(
      "abs", x, [](double v) { return std::abs(v); },
      [](double dy, double v) {
        return v > 0 ? dy : v < 0 ? -dy : std::isnan(v) ? v : 0.0;
      });
}

Tensor sin(const Tensor& x) {
  return function(
      "sin", x, [](double v) { return std::sin(v); }, [](double dy, double v) { return dy * std::cos(v); });
}

Tensor cos(const Tensor& x) {
  return function(
      "cos", x, [](double v) { return std::cos(v); }, [](double dy, double v) { return -dy * std::sin(v); });
}

}  // namespace tapeform
