#pragma once
#include <tapeform/core/array.hpp>

// Cross-entropy with a distribution q for every row. Computed in double; the rows of log_p are log-softmaxes.

namespace tapeform::kernels {

/// w·q', q' = (1 − ε)·q + ε/V.
struct SoftTargets {
  Array q;  ///< shape of log_p
  double smoothing = 0;
  Array weights = {};  ///< [V], or nothing: 1 each
};

/// −Σ_v w_v·q'_v·log_p_v of every row; what has w·q' = 0 takes no part.
Array soft_cross_entropy(const Array& log_p, const SoftTargets& targets, const Shape& rows);
/// (exp(log_p)·Σ_u w_u·q'_u − w·q')·factor·dloss; 0 for a row of −inf throughout. `dlosses` holds one number, or one for every row.
Array soft_cross_entropy_dlogits(const Array& log_p, const SoftTargets& targets, const Array& dlosses, double factor);
/// −(1 − ε)·w·log_p·factor·dloss.
Array soft_cross_entropy_dtargets(const Array& log_p, const SoftTargets& targets, const Array& dlosses, double factor);

}  // namespace tapeform::kernels
