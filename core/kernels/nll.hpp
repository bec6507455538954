#pragma once
#include <tapeform/core/array.hpp>
#include <tapeform/core/ids.hpp>

// Rows of numbers of which the target's one counts. Targets have been checked; weights [V] may hold nothing: 1 each.

namespace tapeform::kernels {

/// −w_t·x_t for every row of x; 0 for an ignored one, or one of weight 0, whatever it holds.
Array nll(const Array& x, const Array& weights, const Ids& targets, std::int64_t ignore_id);
/// dx_t −= w_t·factor·dloss; `dlosses` holds one number, or one for every row.
void add_nll_gradient(Array& dx, const Array& weights, const Ids& targets, std::int64_t ignore_id, const Array& dlosses, double factor);

/// Σ w_t over the targets that are not ignored, in order.
double sum_of_weights(const Array& weights, const Ids& targets, std::int64_t ignore_id);

}  // namespace tapeform::kernels
