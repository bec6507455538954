#include <algorithm>
#include <cmath>

#include "kernels/elementwise_loops.hpp"
#include "kernels/logistic.hpp"

// float64 is there to check with: plain loops on libm, whose exactness matters and whose speed does not.

namespace tapeform::kernels {
namespace {

constexpr double sqrt_half = 0.70710678118654752440;
constexpr double normal_density_at_0 = 0.39894228040143267794;  // 1/√(2π)

double normal_distribution(double x) { return 0.5 * std::erfc(-x * sqrt_half); }

// Out there the distribution is 0 or 1; a finite argument keeps inf·0 away.
double clamped(double x, double limit) { return x < -limit ? -limit : x > limit ? limit : x; }

double gelu_erf(double x) { return x < -40.0 ? -0.0 : x * normal_distribution(x); }

double gelu_erf_derivative(double x) {
  const double t = clamped(x, 40.0);
  return normal_distribution(t) + t * normal_density_at_0 * std::exp(-0.5 * t * t);
}

// The tanh form is x·σ(v) with v = x·(a + b·x²).
constexpr double a = 1.59576912160573071176;  // 2·√(2/π)
constexpr double b = 0.044715 * a;

double gelu_tanh(double x) {
  const double t = x < -1000.0 ? -1000.0 : x;
  return t / (1.0 + std::exp(-t * (a + b * t * t)));
}

double gelu_tanh_derivative(double x) {
  const double t = std::abs(clamped(x, 1000.0));
  const double e = std::exp(-t * (a + b * t * t));
  const double q = e / (1.0 + e) * (1.0 - t * (a + 3.0 * b * t * t) / (1.0 + e));
  return x < 0.0 ? q : 1.0 - q;
}

double tail(double x) { return std::exp(-std::abs(x)); }

double sigmoid_derivative(double x) {
  const double e = tail(x), s = 1.0 + e;
  return e / (s * s);
}

double silu(double x) {
  const double t = x < -1000.0 ? -1000.0 : x, e = tail(t);
  return (t < 0.0 ? t * e : t) / (1.0 + e);
}

double silu_derivative(double x) {
  const double t = std::abs(clamped(x, 1000.0)), e = tail(t);
  const double q = e / (1.0 + e) * (1.0 - t / (1.0 + e));
  return x < 0.0 ? q : 1.0 - q;
}

template <class F>
void each_row(const BinaryRows<double>& all, F f) {
  for (Dim row = 0; row < all.rows; ++row) {
    const double* const x = all.a + row * all.a_stride;
    const double* const y = all.b + row * all.b_stride;
    double* const c = all.c + row * all.n;
    if (all.a_repeats)
      for (Dim i = 0; i < all.n; ++i) c[i] = f(*x, y[i]);
    else if (all.b_repeats)
      for (Dim i = 0; i < all.n; ++i) c[i] = f(x[i], *y);
    else
      for (Dim i = 0; i < all.n; ++i) c[i] = f(x[i], y[i]);
  }
}

}  // namespace

void run_binary(Binary op, const BinaryRows<double>& rows) {
  switch (op) {
    case Binary::add:
      return each_row(rows, [](double x, double y) { return x + y; });
    case Binary::sub:
      return each_row(rows, [](double x, double y) { return x - y; });
    case Binary::mul:
      return each_row(rows, [](double x, double y) { return x * y; });
    case Binary::div:
      return each_row(rows, [](double x, double y) { return x / y; });
    case Binary::sqrt_gradient:
      return each_row(rows, [](double dy, double y) { return dy == 0.0 ? 0.0 : dy / (y + y); });
    case Binary::log_gradient:
      return each_row(rows, [](double dy, double x) { return dy == 0.0 ? 0.0 : dy / x; });
    case Binary::tanh_gradient:
      return each_row(rows, [](double dy, double y) { return dy * (1.0 - y * y); });
    case Binary::relu_gradient:
      return each_row(rows, [](double dy, double x) { return x <= 0.0 ? 0.0 : dy; });
    case Binary::gelu_erf_gradient:
      return each_row(rows, [](double dy, double x) { return dy * gelu_erf_derivative(x); });
    case Binary::gelu_tanh_gradient:
      return each_row(rows, [](double dy, double x) { return dy * gelu_tanh_derivative(x); });
    case Binary::sigmoid_gradient:
      return each_row(rows, [](double dy, double x) { return dy * sigmoid_derivative(x); });
    case Binary::silu_gradient:
      return each_row(rows, [](double dy, double x) { return dy * silu_derivative(x); });
  }
}

void run_unary(Unary op, const double* x, double* y, Dim n) {
  const auto each = [x, y, n](auto f) { std::transform(x, x + n, y, f); };
  switch (op) {
    case Unary::neg:
      return each([](double v) { return -v; });
    case Unary::exp:
      return each([](double v) { return std::exp(v); });
    case Unary::log:
      return each([](double v) { return std::log(v); });
    case Unary::sqrt:
      return each([](double v) { return std::sqrt(v); });
    case Unary::tanh:
      return each([](double v) { return std::tanh(v); });
    case Unary::erf:
      return each([](double v) { return std::erf(v); });
    case Unary::erfc:
      return each([](double v) { return std::erfc(v); });
    case Unary::relu:
      return each([](double v) { return v < 0.0 ? 0.0 : v; });
    case Unary::gelu_erf:
      return each(gelu_erf);
    case Unary::gelu_tanh:
      return each(gelu_tanh);
    case Unary::sigmoid:
      return each(logistic);
    case Unary::silu:
      return each(silu);
  }
}

void run_add_scaled(double* y, double s, const double* x, Dim n) {
  for (Dim i = 0; i < n; ++i) y[i] += s * x[i];
}

}  // namespace tapeform::kernels
