#pragma once
#include <tapeform/core/parameter.hpp>
#include <vector>

namespace tapeform::optim {

/// What to do when a gradient is infinite or not a number.
enum class NonFinite {
  report,  ///< change nothing; the returned number tells
  skip,    ///< remove all gradients, so that `step()` leaves weights, moments and counts alone; the returned number tells
  raise    ///< throw a ValueError that says where; gradients stay as they are
};

struct ClipOptions {
  double p = 2;  ///< of the norm: 2 or infinity
  NonFinite non_finite = NonFinite::report;
};

/// Scales all gradients together when their norm is over the limit: g ← g·max_norm/(‖g‖ + 1e-6). At or under the limit no bit changes.
/// ‖g‖ is √(Σ g²), added up in float64 without overflow, or max |g| with `.p` infinite. Parameters without a gradient do not count; one
/// given twice counts once.
/// @return the norm before scaling, infinite or NaN when a gradient is.
/// @throws ValueError when max_norm is not a number > 0, for another p, or on request for gradients that are not finite.
/// Source: Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks", 2013, algorithm 1.
double clip_grad_norm(const std::vector<ParameterRef>& parameters, double max_norm, const ClipOptions& options = {});

/// Clips every element by itself: g ← min(max(g, −max_value), max_value). Unlike torch's, infinite gradients are not clipped but
/// handled as asked. When no element is over the limit no bit changes.
/// @return the largest |g| before clipping, infinite or NaN when a gradient is.
/// @throws ValueError when max_value is not a number > 0, or on request for gradients that are not finite.
double clip_grad_value(const std::vector<ParameterRef>& parameters, double max_value, NonFinite non_finite = NonFinite::report);

}  // namespace tapeform::optim
