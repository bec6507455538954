#include <tapeform/core/ops/loss.hpp>

#include <fmt/format.h>

#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/nll.hpp"
#include "kernels/soft_targets.hpp"
#include "kernels/softmax.hpp"

namespace tapeform {

namespace {

// Shape [..., last] without its last axis.
Shape rows_of(const Shape& shape) { return Shape(shape.sizes().first(shape.sizes().size() - 1)); }

std::string index_text(const Shape& shape, Dim position) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = std::to_string(position % shape[axis]) + (text.empty() ? "" : ", ") + text;
    position /= shape[axis];
  }
  return "[" + text + "]";
}

[[noreturn]] void throw_target(const char* op, const Ids& targets, Dim position, Dim V) {
  throw ValueError(fmt::format(
      "{}: a target must be a class from 0 to {} (V = {}); got {} at {} of targets {}. Give .ignore_id for ids that do not count", op,
      V - 1, V, targets[position], index_text(targets.shape(), position), targets.shape().str()));
}

Array keeps_of(const char* op, const std::vector<std::int64_t>& excludes, Dim V, DType dtype) {
  Array shares = Array::ones(Shape{V}, dtype);
  dispatch(dtype, [&]<class T>(T) {
    T* const share = shares.mutable_data<T>();
    for (const std::int64_t id : excludes) {
      if (id < 0 || id >= V)
        throw ValueError(fmt::format("{}: smoothing_excludes must hold classes from 0 to {} (V = {}); got {}", op, V - 1, V, id));
      share[id] = T{0};
    }
  });
  return shares;
}

void check_weights(const char* op, const Array& weights, Dim V, DType dtype) {
  if (!weights) return;
  if (weights.shape() != Shape{V})
    throw ShapeError(
        fmt::format("{}: class_weights must be [{}], one for every class; got class_weights {}", op, V, weights.shape().str()));
  if (weights.dtype() != dtype)
    throw DTypeError(fmt::format("{}: dtypes must agree; got input {}, class_weights {}. Convert one with cast()", op, name(dtype),
                                 name(weights.dtype())));
  Dim id = 0;
  for (const double weight : weights.to_vector()) {
    if (!(weight >= 0 && std::isfinite(weight)))
      throw ValueError(fmt::format("{}: class_weights must be finite and not negative; got {} for class {}", op, weight, id));
    ++id;
  }
}

void check_smoothing(const char* op, double smoothing) {
  if (!(smoothing >= 0 && smoothing <= 1))
    throw ValueError(fmt::format("{}: label_smoothing must be from 0 to 1; got label_smoothing = {}", op, smoothing));
}

double sum_of(const Array& x) {
  double sum = 0;
  for (const double number : x.to_vector()) sum += number;
  return sum;
}

// Checks everything about targets and options before any number is computed.
kernels::TargetDistribution distribution(const char* op, const Ids& targets, Dim V, DType dtype, const CrossEntropyOptions& options) {
  check_smoothing(op, options.label_smoothing);
  check_weights(op, options.class_weights, V, dtype);
  kernels::TargetDistribution q{targets, options.ignore_id, options.label_smoothing, Array(), V, 0};
  q.weights = options.class_weights;
  if (!options.smoothing_excludes.empty()) {
    q.keeps = keeps_of(op, options.smoothing_excludes, V, dtype);
    q.sharing = static_cast<Dim>(sum_of(q.keeps));
  }
  q.shares = q.keeps && q.weights ? kernels::mul(q.keeps, q.weights) : q.keeps ? q.keeps : q.weights;
  if (q.shares) q.all_shares = sum_of(q.shares);
  Dim position = 0;
  for (const std::int64_t target : targets.values()) {
    if (target != options.ignore_id) {
      if (target < 0 || target >= V) throw_target(op, targets, position, V);
      ++q.counted;
    }
    ++position;
  }
  return q;
}

// What a mean divides by: the number of targets that count, or the sum of their weights.
double count_of(const kernels::TargetDistribution& q) {
  return q.weights ? kernels::sum_of_weights(q.weights, q.targets, q.ignore_id) : static_cast<double>(q.counted);
}

// What the sum of losses is multiplied by.
double factor_of(Reduction reduction, double count) { return reduction != Reduction::mean ? 1.0 : count > 0 ? 1.0 / count : 0.0; }

Array reduced(Array losses, Reduction reduction, double count) {
  if (reduction == Reduction::none) return losses;
  const double sum = kernels::sum_of_losses(losses);
  return Array::full({}, reduction == Reduction::mean && count > 0 ? sum / count : sum, losses.dtype());
}

}  // namespace

// loss = −Σ_v q_v·log_softmax(logits)_v      dlogits = (softmax(logits) − q)·dloss
Tensor cross_entropy(const Tensor& logits, const Ids& targets, const CrossEntropyOptions& options) {
  shapes::filled("cross_entropy", "logits", logits);
  const Shape& shape = logits.shape();
  if (shape.rank() == 0 || targets.shape() != rows_of(shape))
    throw ShapeError(fmt::format("cross_entropy: targets must be [...] for logits [..., V]; got logits {}, targets {}", shape.str(),
                                 targets.shape().str()));
  auto q = distribution("cross_entropy", targets, shape[-1], logits.dtype(), options);
  const double count = count_of(q), factor = factor_of(options.reduction, count);
  auto [losses, stats] = kernels::cross_entropy(logits.value(), q);
  Array loss = reduced(std::move(losses), options.reduction, count);
  return record("cross_entropy", std::move(loss),
                wrt(logits, [X = logits.value(), S = std::move(stats), Q = std::move(q), factor](const Array& dloss) {
                  return kernels::cross_entropy_backward(X, S, Q, dloss, factor);
                }));
}

// loss = −Σ_v w_v·q'_v·log p_v, p = softmax(logits)      dlogits = (p·Σ_u w_u·q'_u − w·q')·dloss   dtargets = −(1 − ε)·w·log p·dloss
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  constexpr const char* op = "cross_entropy";
  shapes::filled(op, "logits", logits);
  shapes::filled(op, "targets", targets);
  const Shape& shape = logits.shape();
  if (shape.rank() == 0 || targets.shape() != shape)
    throw ShapeError(fmt::format("{}: targets that are distributions must be [..., V] as the logits are; got logits {}, targets {}", op,
                                 shape.str(), targets.shape().str()));
  if (targets.dtype() != logits.dtype())
    throw DTypeError(fmt::format("{}: dtypes must agree; got logits {}, targets {}. Convert one with cast()", op, name(logits.dtype()),
                                 name(targets.dtype())));
  if (options.ignore_id != CrossEntropyOptions{}.ignore_id || !options.smoothing_excludes.empty())
    throw ValueError(fmt::format("{}: ignore_id and smoothing_excludes are for targets that are classes; got targets {} of probabilities",
                                 op, shape.str()));
  check_smoothing(op, options.label_smoothing);
  check_weights(op, options.class_weights, shape[-1], logits.dtype());
  const kernels::SoftTargets q{targets.value(), options.label_smoothing, options.class_weights};
  const double count = static_cast<double>(rows_of(shape).numel()), factor = factor_of(options.reduction, count);
  const Array log_p = kernels::log_softmax(logits.value(), kernels::AxisSplit(shape, shape.rank() - 1));
  return record(op, reduced(kernels::soft_cross_entropy(log_p, q, rows_of(shape)), options.reduction, count),
                wrt({logits, targets}, [log_p, q, factor](const Array& dloss, const Needs<2>& need) -> Grads<2> {
                  return {need[0] ? kernels::soft_cross_entropy_dlogits(log_p, q, dloss, factor) : Array(),
                          need[1] ? kernels::soft_cross_entropy_dtargets(log_p, q, dloss, factor) : Array()};
                }));
}

// loss = −w_t·x_t      dx_t = −w_t·dloss
Tensor nll_loss(const Tensor& x, const Ids& targets, const NllLossOptions& options) {
  shapes::filled("nll_loss", "x", x);
  const Shape& shape = x.shape();
  if (shape.rank() == 0 || targets.shape() != rows_of(shape))
    throw ShapeError(
        fmt::format("nll_loss: targets must be [...] for x [..., V]; got x {}, targets {}", shape.str(), targets.shape().str()));
  const auto q =
      distribution("nll_loss", targets, shape[-1], x.dtype(), {.ignore_id = options.ignore_id, .class_weights = options.class_weights});
  const double count = count_of(q), factor = factor_of(options.reduction, count);
  return record("nll_loss", reduced(kernels::nll(x.value(), q.weights, targets, q.ignore_id), options.reduction, count),
                wrt(x, [W = q.weights, targets, ignore_id = q.ignore_id, factor](const Array& dloss, Array& dx) {
                  kernels::add_nll_gradient(dx, W, targets, ignore_id, dloss, factor);
                }));
}

namespace {

void check_linear(const Tensor& h, const Tensor& weight, const Ids& targets) {
  shapes::filled("linear_cross_entropy", "h", h);
  shapes::filled("linear_cross_entropy", "weight", weight);
  if (h.rank() == 0 || weight.rank() != 2 || h.dim(-1) != weight.dim(1))
    throw ShapeError(fmt::format("linear_cross_entropy: h must be [..., D] and weight [V, D]; got h {}, weight {}", h.shape().str(),
                                 weight.shape().str()));
  if (targets.shape() != rows_of(h.shape()))
    throw ShapeError(fmt::format("linear_cross_entropy: targets must be [...] for h [..., D]; got h {}, targets {}", h.shape().str(),
                                 targets.shape().str()));
  if (h.dtype() != weight.dtype())
    throw DTypeError(
        fmt::format("linear_cross_entropy: dtypes must agree; got h {}, weight {}. Use cast()", name(h.dtype()), name(weight.dtype())));
}

}  // namespace

// With G = dlogits of a tile: dh = G·weight, dweight = Σ Gᵀ·h. A scalar loss works them out in forward, while the tile's logits are at
// hand, and backward multiplies by dloss: three products in all. One loss for every target must wait for its gradients: four.
Tensor linear_cross_entropy(const Tensor& h, const Tensor& weight, const Ids& targets, const CrossEntropyOptions& options) {
  constexpr const char* op = "linear_cross_entropy";
  check_linear(h, weight, targets);
  auto q = distribution(op, targets, weight.dim(0), h.dtype(), options);
  Array losses;
  if (options.reduction == Reduction::none) {
    kernels::linear_cross_entropy(h.value(), weight.value(), q, {.losses = &losses});
    return record(
        op, std::move(losses),
        wrt({h, weight}, [Hd = h.value(), W = weight.value(), Q = std::move(q)](const Array& dlosses, const Needs<2>& need) -> Grads<2> {
          Array dh, dweight;
          kernels::linear_cross_entropy(Hd, W, Q,
                                        {.dlosses = &dlosses, .dh = need[0] ? &dh : nullptr, .dweight = need[1] ? &dweight : nullptr});
          return {std::move(dh), std::move(dweight)};
        }));
  }
  const double count = count_of(q);
  const Tape* const tape = Tape::current();
  const bool need_h = tape && tape->holds(h, op), need_weight = tape && tape->holds(weight, op);
  Array dh, dweight;
  const Array one = Array::ones({}, h.dtype());
  kernels::linear_cross_entropy(h.value(), weight.value(), q,
                                {.losses = &losses,
                                 .dlosses = &one,
                                 .factor = factor_of(options.reduction, count),
                                 .dh = need_h ? &dh : nullptr,
                                 .dweight = need_weight ? &dweight : nullptr});
  return record(op, reduced(std::move(losses), options.reduction, count),
                wrt({h, weight}, [dh = std::move(dh), dweight = std::move(dweight)](const Array& dloss, const Needs<2>&) -> Grads<2> {
                  return {kernels::scaled(dh, dloss.item()), kernels::scaled(dweight, dloss.item())};
                }));
}

}  // namespace tapeform
