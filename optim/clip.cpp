#include <tapeform/optim/clip.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

 private:
  double largest_ = 0, sum_ = 0, not_finite_ = 0;
};

}  // namespace

double clip_grad_norm(const std::vector<ParameterRef>& parameters, double max_norm, const ClipOptions& options) {
  if (!(max_norm > 0)) throw ValueError(fmt::format("clip_grad_norm: max_norm must be a number above 0; got {}", max_norm));
  const std::vector<std::size_t>& positions = with_gradients(parameters);
  NormOfNorms norms;
  std::size_t first_bad = parameters.size();
  for (const std::size_t i : positions) {
    const double norm = l2_norm(parameters[i].grad());
    if (!std::isfinite(norm)) first_bad = std::min(first_bad, i);
    norms.add(norm);
  }
  const double norm = norms.value();
  if (first_bad < parameters.size()) {
    if (options.non_finite == NonFinite::raise)
      throw ValueError(fmt::format("clip_grad_norm: gradients must be finite; got {} in the gradient of parameter {}, {}", norm, first_bad,
                                   parameters[first_bad].shape().str()));
    if (options.non_finite == NonFinite::skip)
      for (const std::size_t i : positions) parameters[i].grad() = Array();
    return norm;
  }
  if (norm > max_norm)
    for (const std::size_t i : positions) multiply_in_place(parameters[i].grad(), max_norm / (norm + 1e-6));
  if (tapeform::detail::profiling()) tapeform::detail::profile_update("clip_grad_norm");
  return norm;
}

}  // namespace tapeform::optim
