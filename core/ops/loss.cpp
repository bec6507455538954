#include <tapeform/core/ops/loss.hpp>

#include <fmt/format.h>

#include <tapeform/core/error.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/cross_entropy.hpp"

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

Array shares_of(const char* op, const std::vector<std::int64_t>& excludes, Dim V, DType dtype) {
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

// Checks everything about targets and options before any number is computed.
kernels::TargetDistribution distribution(const char* op, const Ids& targets, Dim V, DType dtype, const CrossEntropyOptions& options) {
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    throw ValueError(fmt::format("{}: label_smoothing must be from 0 to 1; got label_smoothing = {}", op, smoothing));
  kernels::TargetDistribution q{targets, options.ignore_id, smoothing, Array(), V, 0};
  if (!options.smoothing_excludes.empty()) {
    q.shares = shares_of(op, options.smoothing_excludes, V, dtype);
    q.sharing = 0;
    for (const double share : q.shares.to_vector()) q.sharing += share != 0;
  }
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

// What the sum of losses is multiplied by.
double factor_of(Reduction reduction, const kernels::TargetDistribution& q) {
  return reduction != Reduction::mean ? 1.0 : q.counted > 0 ? 1.0 / static_cast<double>(q.counted) : 0.0;
}

Array reduced(Array losses, Reduction reduction, const kernels::TargetDistribution& q) {
  if (reduction == Reduction::none) return losses;
  const double sum = kernels::sum_of_losses(losses);
  const double divisor = reduction == Reduction::mean && q.counted > 0 ? static_cast<double>(q.counted) : 1.0;
  return Array::full({}, sum / divisor, losses.dtype());
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
  const double factor = factor_of(options.reduction, q);
  auto [losses, stats] = kernels::cross_entropy(logits.value(), q);
  Array loss = reduced(std::move(losses), options.reduction, q);
  return record("cross_entropy", std::move(loss),
                wrt(logits, [X = logits.value(), S = std::move(stats), Q = std::move(q), factor](const Array& dloss) {
                  return kernels::cross_entropy_backward(X, S, Q, dloss, factor);
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
  const Tape* const tape = Tape::current();
  const bool need_h = tape && tape->holds(h, op), need_weight = tape && tape->holds(weight, op);
  Array dh, dweight;
  const Array one = Array::ones({}, h.dtype());
  kernels::linear_cross_entropy(h.value(), weight.value(), q,
                                {.losses = &losses,
                                 .dlosses = &one,
                                 .factor = factor_of(options.reduction, q),
                                 .dh = need_h ? &dh : nullptr,
                                 .dweight = need_weight ? &dweight : nullptr});
  return record(op, reduced(std::move(losses), options.reduction, q),
                wrt({h, weight}, [dh = std::move(dh), dweight = std::move(dweight)](const Array& dloss, const Needs<2>&) -> Grads<2> {
                  return {kernels::scaled(dh, dloss.item()), kernels::scaled(dweight, dloss.item())};
                }));
}

}  // namespace tapeform
