#pragma once
#include <tapeform/core/parameter.hpp>
#include <vector>

namespace tapeform::optim {

/// What to do when the norm of the gradients is infinite or not a number.
enum class NonFinite {
  report,  ///< change nothing; the returned norm tells
  skip,    ///< remove all gradients, so that `step()` leaves weights, moments and counts alone; the returned norm tells
  raise    ///< throw a ValueError that says where; gradients stay as they are
};

struct ClipOptions {
  NonFinite non_finite = NonFinite::report;
};

/// Scales all gradients together when their norm ‖g‖ = √(Σ g²) is over the limit: g ← g·max_norm/(‖g‖ + 1e-6). At or under the limit no bit
/// changes. The norm is added up in float64 without overflow. Parameters without a gradient do not count; one given twice counts once.
/// @return the norm before scaling, infinite or NaN when a gradient is.
/// @throws ValueError when max_norm is not a number > 0, or on request for gradients that are not finite.
/// Source: Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks", 2013, algorithm 1.
double clip_grad_norm(const std::vector<ParameterRef>& parameters, double max_norm, const ClipOptions& options = {});

}  // namespace tapeform::optim
