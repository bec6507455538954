#include <tapeform/optim/clip.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/profile.hpp>
#include <tapeform/core/update.hpp>

namespace tapeform::optim {
namespace {

// The positions of the gradients that there are, each parameter once, in order. Kept by the thread: a running loop allocates nothing.
const std::vector<std::size_t>& with_gradients(const std::vector<ParameterRef>& parameters) {
  static thread_local std::vector<std::size_t> positions;
  static thread_local std::vector<const void*> ids;
  positions.clear();
  ids.clear();
  for (const ParameterRef& parameter : parameters) ids.push_back(parameter.id());
  std::sort(ids.begin(), ids.end());
  const bool repeated = std::adjacent_find(ids.begin(), ids.end()) != ids.end();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].grad()) continue;
    const auto end = parameters.begin() + static_cast<std::ptrdiff_t>(i);
    if (!repeated || std::find(parameters.begin(), end, parameters[i]) == end) positions.push_back(i);
  }
  return positions;
}

// √(Σ norm²) by the largest of them, so that no square overflows.
class NormOfNorms {
 public:
  void add(double norm) noexcept {
    if (!std::isfinite(norm)) {
      not_finite_ = std::isnan(norm) || std::isnan(not_finite_) ? NAN : norm;
    } else if (norm > largest_) {
      sum_ = 1 + sum_ * (largest_ / norm) * (largest_ / norm);
      largest_ = norm;
    } else if (norm > 0) {
      sum_ += (norm / largest_) * (norm / largest_);
    }
  }
  double value() const noexcept { return not_finite_ != 0 ? not_finite_ : largest_ * std::sqrt(sum_); }
  double largest() const noexcept { return not_finite_ != 0 ? not_finite_ : largest_; }

 private:
  double largest_ = 0, sum_ = 0, not_finite_ = 0;
};

void check_limit(const char* op, const char* option, double limit) {
  if (!(limit > 0)) throw ValueError(fmt::format("{}: {} must be a number above 0; got {}", op, option, limit));
}

struct Measured {
  double norm;
  bool finite;  // otherwise the gradients have been handled as asked
};

/// The 2-norm of the gradients at `positions`, or their largest size.
Measured measure(const char* op, const std::vector<ParameterRef>& parameters, const std::vector<std::size_t>& positions, bool of_largest,
                 NonFinite non_finite) {
  NormOfNorms norms;
  std::size_t first_bad = parameters.size();
  for (const std::size_t i : positions) {
    const double norm = of_largest ? largest_size(parameters[i].grad()) : l2_norm(parameters[i].grad());
    if (!std::isfinite(norm)) first_bad = std::min(first_bad, i);
    norms.add(norm);
  }
  const Measured measured{of_largest ? norms.largest() : norms.value(), first_bad == parameters.size()};
  if (measured.finite || non_finite == NonFinite::report) return measured;
  if (non_finite == NonFinite::raise)
    throw ValueError(fmt::format("{}: gradients must be finite; got {} in the gradient of parameter {}, {}", op, measured.norm, first_bad,
                                 parameters[first_bad].shape().str()));
  for (const std::size_t i : positions) parameters[i].grad() = Array();
  return measured;
}

}  // namespace

double clip_grad_norm(const std::vector<ParameterRef>& parameters, double max_norm, const ClipOptions& options) {
  check_limit("clip_grad_norm", "max_norm", max_norm);
  const bool of_largest = options.p == std::numeric_limits<double>::infinity();
  if (options.p != 2 && !of_largest) throw ValueError(fmt::format("clip_grad_norm: p must be 2 or infinity; got {}", options.p));
  const std::vector<std::size_t>& positions = with_gradients(parameters);
  const Measured measured = measure("clip_grad_norm", parameters, positions, of_largest, options.non_finite);
  if (measured.finite && measured.norm > max_norm)
    for (const std::size_t i : positions) multiply_in_place(parameters[i].grad(), max_norm / (measured.norm + 1e-6));
  if (tapeform::detail::profiling()) tapeform::detail::profile_update("clip_grad_norm");
  return measured.norm;
}

double clip_grad_value(const std::vector<ParameterRef>& parameters, double max_value, NonFinite non_finite) {
  check_limit("clip_grad_value", "max_value", max_value);
  const std::vector<std::size_t>& positions = with_gradients(parameters);
  const Measured measured = measure("clip_grad_value", parameters, positions, true, non_finite);
  if (measured.finite && measured.norm > max_value)
    for (const std::size_t i : positions) clamp_in_place(parameters[i].grad(), max_value);
  if (tapeform::detail::profiling()) tapeform::detail::profile_update("clip_grad_value");
  return measured.norm;
}

}  // namespace tapeform::optim
