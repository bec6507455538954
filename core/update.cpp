#include <tapeform/core/update.hpp>

#include <fmt/format.h>

#include <cmath>
#include <tapeform/core/error.hpp>

#include "kernels/update.hpp"

namespace tapeform {

static void check_agrees(const Array& w, const Array& other, const char* other_name) {
  if (other.shape() != w.shape())
    throw ShapeError(
        fmt::format("adamw_update: {} must have w's shape; got w {}, {} {}", other_name, w.shape().str(), other_name, other.shape().str()));
  if (other.dtype() != w.dtype())
    throw DTypeError(
        fmt::format("adamw_update: {} must have w's dtype; got w {}, {} {}", other_name, name(w.dtype()), other_name, name(other.dtype())));
}

void adamw_update(Array& w, const Array& g, Array& m, Array& v, const AdamWStep& step) {
  check_agrees(w, g, "g");
  check_agrees(w, m, "m");
  check_agrees(w, v, "v");
  const auto t = static_cast<double>(step.step);
  kernels::adamw(w, g, m, v,
                 {.keep = 1 - step.lr * step.weight_decay,
                  .m_rate = 1 - step.beta1,
                  .v_keep = step.beta2,
                  .v_rate = 1 - step.beta2,
                  .root_factor = 1 / std::sqrt(1 - std::pow(step.beta2, t)),
                  .eps = step.eps,
                  .step_size = step.lr / (1 - std::pow(step.beta1, t))});
}

double l2_norm(const Array& x) {
  const double squares = kernels::sum_squares(x, 1.0);
  if (std::isfinite(squares) && squares > 1e-280) return std::sqrt(squares);
  const double largest = kernels::largest_size(x);  // also where squares of small numbers have become 0
  if (largest == 0 || !std::isfinite(largest)) return largest;
  return largest * std::sqrt(kernels::sum_squares(x, largest));
}

void multiply_in_place(Array& x, double factor) { kernels::scale(x, factor); }

}  // namespace tapeform
