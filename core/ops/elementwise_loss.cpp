#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/elementwise_loss.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/logistic.hpp"
#include "kernels/map.hpp"
#include "kernels/reduce.hpp"

namespace tapeform {
namespace {

using kernels::log1p_exp;
using kernels::logistic;
using kernels::map;

void check_pair(const char* op, const Tensor& x, const Tensor& target) {
  shapes::filled(op, "x", x);
  shapes::filled(op, "target", target);
  if (target.shape() != x.shape())
    throw ShapeError(fmt::format("{}: target must have x's shape; got x {}, target {}. Nothing broadcasts in a loss: reshape one of them",
                                 op, x.shape().str(), target.shape().str()));
  if (target.dtype() != x.dtype())
    throw DTypeError(
        fmt::format("{}: dtypes must agree; got x {}, target {}. Convert one with cast()", op, name(x.dtype()), name(target.dtype())));
}

double divisor_of(Reduction reduction, Dim n) { return reduction == Reduction::mean && n > 0 ? static_cast<double>(n) : 1.0; }

Array reduced(const Array& losses, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  return kernels::sum(losses, (1u << losses.rank()) - 1, Shape{}, divisor_of(reduction, losses.numel()));
}

// The gradient that comes in for every element.
Array spread(const Array& dloss, Reduction reduction, const Shape& shape) {
  if (reduction == Reduction::none) return dloss;
  return Array::full(shape, dloss.item() / divisor_of(reduction, shape.numel()), dloss.dtype());
}

// f(x, t), its derivatives dx and dt; all three take an element of each constant as well.
template <class F, class DX, class DT, class... Constants>
Tensor elementwise_loss(const char* op, const Tensor& x, const Tensor& target, Reduction reduction, const F& f, const DX& dx, const DT& dt,
                        const Constants&... constants) {
  check_pair(op, x, target);
  const auto times = [](const auto& derivative) { return [derivative](double u, auto... v) { return u * derivative(v...); }; };
  return record(op, reduced(map(f, x.value(), target.value(), constants...), reduction),
                wrt(x, [X = x.value(), T = target.value(), reduction, d = times(dx),
                        ... C = constants](const Array& dloss) { return map(d, spread(dloss, reduction, X.shape()), X, T, C...); }),
                wrt(target, [X = x.value(), T = target.value(), reduction, d = times(dt), ... C = constants](const Array& dloss) {
                  return map(d, spread(dloss, reduction, X.shape()), X, T, C...);
                }));
}

// The same for a function of d = x - t and its slope.
template <class F, class Slope>
Tensor loss_of_difference(const char* op, const Tensor& x, const Tensor& target, Reduction reduction, const F& f, const Slope& slope) {
  return elementwise_loss(
      op, x, target, reduction, [f](double v, double t) { return f(v - t); }, [slope](double v, double t) { return slope(v - t); },
      [slope](double v, double t) { return -slope(v - t); });
}

// -1, 0 or 1; NaN stays NaN.
double sign(double d) { return d > 0 ? 1.0 : d < 0 ? -1.0 : d; }

// a·b, where a = 0 takes no part.
double part(double a, double b) { return a == 0 ? 0.0 : a * b; }

}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target, const LossOptions& options) {
  return loss_of_difference(
      "mse_loss", x, target, options.reduction, [](double d) { return d * d; }, [](double d) { return 2 * d; });
}

Tensor l1_loss(const Tensor& x, const Tensor& target, const LossOptions& options) {
  return loss_of_difference(
      "l1_loss", x, target, options.reduction, [](double d) { return std::abs(d); }, sign);
}

Tensor huber_loss(const Tensor& x, const Tensor& target, const HuberLossOptions& options) {
  const double delta = options.delta;
  if (!(delta > 0 && std::isfinite(delta)))
    throw ValueError(fmt::format("huber_loss: delta must be positive and finite; got delta = {}", delta));
  return loss_of_difference(
      "huber_loss", x, target, options.reduction,
      [delta](double d) { return std::abs(d) <= delta ? 0.5 * d * d : delta * (std::abs(d) - 0.5 * delta); },
      [delta](double d) { return std::abs(d) > delta ? delta * sign(d) : d; });
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, const SmoothL1LossOptions& options) {
  const double beta = options.beta;
  if (!(beta >= 0 && std::isfinite(beta)))
    throw ValueError(fmt::format("smooth_l1_loss: beta must be finite and not negative; got beta = {}", beta));
  return loss_of_difference(
      "smooth_l1_loss", x, target, options.reduction,
      [beta](double d) { return std::abs(d) < beta ? 0.5 * d * d / beta : std::abs(d) - 0.5 * beta; },
      [beta](double d) { return std::abs(d) < beta ? d / beta : sign(d); });
}

Tensor bce_with_logits(const Tensor& x, const Tensor& target, const BceWithLogitsOptions& options) {
  constexpr const char* op = "bce_with_logits";
  // -ln σ(x) = ln(1 + e⁻ˣ)
  const auto f = [](double v, double t, double w = 1.0) { return part(w * t, log1p_exp(-v)) + part(1 - t, log1p_exp(v)); };
  const auto dx = [](double v, double t, double w = 1.0) { return (1 - t) * logistic(v) - w * t * logistic(-v); };
  const auto dt = [](double v, double, double w = 1.0) { return part(w, log1p_exp(-v)) - log1p_exp(v); };
  if (!options.pos_weight) return elementwise_loss(op, x, target, options.reduction, f, dx, dt);
  check_pair(op, x, target);
  const Array& weight = options.pos_weight;
  if (shapes::broadcast(op, x.shape(), weight.shape(), "x", "pos_weight") != x.shape())
    throw ShapeError(fmt::format("{}: pos_weight must broadcast to x; got x {}, pos_weight {}", op, x.shape().str(), weight.shape().str()));
  if (weight.dtype() != x.dtype())
    throw DTypeError(
        fmt::format("{}: dtypes must agree; got x {}, pos_weight {}. Convert one with cast()", op, name(x.dtype()), name(weight.dtype())));
  return elementwise_loss(op, x, target, options.reduction, f, dx, dt, kernels::broadcast_to(weight, x.shape()));
}

Tensor kl_div(const Tensor& x, const Tensor& target, const KlDivOptions& options) {
  if (options.log_target)
    return elementwise_loss(
        "kl_div", x, target, options.reduction, [](double v, double t) { return part(std::exp(t), t - v); },
        [](double, double t) { return -std::exp(t); }, [](double v, double t) { return part(std::exp(t), t - v + 1); });
  return elementwise_loss(
      "kl_div", x, target, options.reduction, [](double v, double t) { return part(t, std::log(t) - v); },
      [](double, double t) { return -t; }, [](double v, double t) { return std::log(t) + 1 - v; });
}

}  // namespace tapeform
