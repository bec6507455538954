#include <fmt/format.h>

#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/activation.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/logistic.hpp"
#include "kernels/map.hpp"

namespace tapeform {

using kernels::Binary;
using kernels::logistic;
using kernels::map;
using kernels::Unary;

Tensor relu(const Tensor& x) {
  shapes::filled("relu", "x", x);
  const Array y = kernels::unary(Unary::relu, x.value());
  // y is positive, or NaN, exactly where x is, and the next layer saves it as well.
  return record("relu", y, wrt(x, [y](const Array& dy) { return kernels::binary(Binary::relu_gradient, dy, y); }));
}

Tensor gelu(const Tensor& x, GeluOptions options) {
  shapes::filled("gelu", "x", x);
  const bool exact = options.approximate == GeluForm::none;
  const Binary gradient = exact ? Binary::gelu_erf_gradient : Binary::gelu_tanh_gradient;
  return record("gelu", kernels::unary(exact ? Unary::gelu_erf : Unary::gelu_tanh, x.value()),
                wrt(x, [X = x.value(), gradient](const Array& dy) { return kernels::binary(gradient, dy, X); }));
}

Tensor sigmoid(const Tensor& x) {
  shapes::filled("sigmoid", "x", x);
  return record("sigmoid", kernels::unary(Unary::sigmoid, x.value()),
                wrt(x, [X = x.value()](const Array& dy) { return kernels::binary(Binary::sigmoid_gradient, dy, X); }));
}

Tensor log_sigmoid(const Tensor& x) {
  shapes::filled("log_sigmoid", "x", x);
  return record("log_sigmoid", map([](double v) { return -kernels::log1p_exp(-v); }, x.value()),
                wrt(x, [X = x.value()](const Array& dy) { return map([](double d, double v) { return d * logistic(-v); }, dy, X); }));
}

Tensor silu(const Tensor& x) {
  shapes::filled("silu", "x", x);
  return record("silu", kernels::unary(Unary::silu, x.value()),
                wrt(x, [X = x.value()](const Array& dy) { return kernels::binary(Binary::silu_gradient, dy, X); }));
}

Tensor softplus(const Tensor& x, SoftplusOptions options) {
  shapes::filled("softplus", "x", x);
  const double beta = options.beta;
  if (!(beta > 0 && std::isfinite(beta))) throw ValueError(fmt::format("softplus: beta must be positive and finite; got beta = {}", beta));
  return record(
      "softplus", map([beta](double v) { return kernels::log1p_exp(beta * v) / beta; }, x.value()),
      wrt(x, [X = x.value(), beta](const Array& dy) { return map([beta](double d, double v) { return d * logistic(beta * v); }, dy, X); }));
}

Tensor leaky_relu(const Tensor& x, LeakyReluOptions options) {
  shapes::filled("leaky_relu", "x", x);
  const double slope = options.negative_slope;
  return record("leaky_relu", map([slope](double v) { return v > 0 ? v : slope * v; }, x.value()),
                wrt(x, [X = x.value(), slope](const Array& dy) {
                  return map([slope](double d, double v) { return v <= 0 ? slope * d : d; }, dy, X);
                }));
}

Tensor elu(const Tensor& x, EluOptions options) {
  shapes::filled("elu", "x", x);
  const double alpha = options.alpha;
  return record("elu", map([alpha](double v) { return v > 0 ? v : alpha * std::expm1(v); }, x.value()),
                wrt(x, [X = x.value(), alpha](const Array& dy) {
                  return map([alpha](double d, double v) { return v <= 0 ? d * alpha * std::exp(v) : d; }, dy, X);
                }));
}

// ---- gated units ----

namespace {

struct Halves {
  Tensor value, gate;
};

Halves halves_of(const char* op, const Tensor& x) {
  shapes::filled(op, "x", x);
  if (x.rank() == 0 || x.dim(-1) % 2 != 0)
    throw ShapeError(fmt::format("{}: x must be [..., 2*D], values and then gates; got x {}", op, x.shape().str()));
  const Dim D = x.dim(-1) / 2;
  return {slice(x, -1, 0, D), slice(x, -1, D, 2 * D)};
}

}  // namespace

Tensor glu(const Tensor& x) {
  const Halves half = halves_of("glu", x);
  return half.value * sigmoid(half.gate);
}

Tensor swiglu(const Tensor& x) {
  const Halves half = halves_of("swiglu", x);
  return half.value * silu(half.gate);
}

Tensor geglu(const Tensor& x, GeluOptions options) {
  const Halves half = halves_of("geglu", x);
  return half.value * gelu(half.gate, options);
}

}  // namespace tapeform
