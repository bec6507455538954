#include <tapeform/core/update.hpp>

#include <fmt/format.h>

#include <cmath>
#include <tapeform/core/error.hpp>

#include "kernels/update.hpp"
#include "kernels/update_rules.hpp"

namespace tapeform {

static void check_agrees(const char* op, const Array& w, const Array& other, const char* other_name, const char* w_name = "w") {
  if (other.shape() != w.shape())
    throw ShapeError(fmt::format("{}: {} must have {}'s shape; got {} {}, {} {}", op, other_name, w_name, w_name, w.shape().str(),
                                 other_name, other.shape().str()));
  if (other.dtype() != w.dtype())
    throw DTypeError(fmt::format("{}: {} must have {}'s dtype; got {} {}, {} {}", op, other_name, w_name, w_name, name(w.dtype()),
                                 other_name, name(other.dtype())));
}

void sgd_update(Array& w, const Array& g, Array* buffer, const SgdStep& step) {
  check_agrees("sgd_update", w, g, "g");
  if (buffer) check_agrees("sgd_update", w, *buffer, "buffer");
  kernels::sgd(w, g, buffer,
               {.l2 = step.weight_decay,
                .keep = step.momentum,
                .rate = step.step == 1 ? 1 : 1 - step.dampening,
                .of_gradient = step.nesterov ? 1.0 : 0.0,
                .of_buffer = step.nesterov ? step.momentum : 1.0,
                .lr = step.lr});
}

void adam_update(Array& w, const Array& g, Array& m, Array& v, Array* largest, const AdamStep& step) {
  check_agrees("adam_update", w, g, "g");
  check_agrees("adam_update", w, m, "m");
  check_agrees("adam_update", w, v, "v");
  if (largest) check_agrees("adam_update", w, *largest, "largest");
  const auto t = static_cast<double>(step.step);
  kernels::adam(w, g, m, v, largest,
                {.l2 = step.l2,
                 .keep = 1 - step.lr * step.weight_decay,
                 .m_rate = 1 - step.beta1,
                 .v_keep = step.beta2,
                 .v_rate = 1 - step.beta2,
                 .root_factor = 1 / std::sqrt(1 - std::pow(step.beta2, t)),
                 .eps = step.eps,
                 .step_size = step.lr / (1 - std::pow(step.beta1, t))});
}

void rmsprop_update(Array& w, const Array& g, Array& v, Array* mean, Array* buffer, const RmspropStep& step) {
  check_agrees("rmsprop_update", w, g, "g");
  check_agrees("rmsprop_update", w, v, "v");
  if (mean) check_agrees("rmsprop_update", w, *mean, "mean");
  if (buffer) check_agrees("rmsprop_update", w, *buffer, "buffer");
  kernels::rmsprop(
      w, g, v, mean, buffer,
      {.l2 = step.weight_decay, .v_keep = step.alpha, .v_rate = 1 - step.alpha, .eps = step.eps, .momentum = step.momentum, .lr = step.lr});
}

void adagrad_update(Array& w, const Array& g, Array& sum, const AdagradStep& step) {
  check_agrees("adagrad_update", w, g, "g");
  check_agrees("adagrad_update", w, sum, "sum");
  kernels::adagrad(w, g, sum, {.l2 = step.weight_decay, .eps = step.eps, .lr = step.lr});
}

void lion_update(Array& w, const Array& g, Array& m, const LionStep& step) {
  check_agrees("lion_update", w, g, "g");
  check_agrees("lion_update", w, m, "m");
  kernels::lion(w, g, m,
                {.keep = 1 - step.lr * step.weight_decay,
                 .u_keep = step.beta1,
                 .u_rate = 1 - step.beta1,
                 .m_keep = step.beta2,
                 .m_rate = 1 - step.beta2,
                 .lr = step.lr});
}

double l2_norm(const Array& x) {
  const double squares = kernels::sum_squares(x, 1.0);
  if (std::isfinite(squares) && squares > 1e-280) return std::sqrt(squares);
  const double largest = kernels::largest_size(x);  // also where squares of small numbers have become 0
  if (largest == 0 || !std::isfinite(largest)) return largest;
  return largest * std::sqrt(kernels::sum_squares(x, largest));
}

double largest_size(const Array& x) { return kernels::largest_size(x); }

void multiply_in_place(Array& x, double factor) { kernels::scale(x, factor); }

void clamp_in_place(Array& x, double limit) { kernels::clamp(x, limit); }

void blend_in_place(Array& x, const Array& y, double rate) {
  check_agrees("blend_in_place", x, y, "y", "x");
  kernels::blend(x, y, rate);
}

}  // namespace tapeform
