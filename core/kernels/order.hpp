#pragma once
#include <tapeform/core/array.hpp>
#include <tapeform/core/ids.hpp>

#include "kernels/axis_split.hpp"

// NaN counts as larger than every number; of equal numbers the first in the axis comes first.

namespace tapeform::kernels {

/// The place of the largest or smallest number of every slice, n ≥ 1, under `shape`; a NaN is chosen first by both.
Ids place_of_extreme(const Array& x, AxisSplit split, bool largest, const Shape& shape);

/// The places of the first k numbers of every slice in order, under `shape`, which has k where x has n.
Ids places_in_order(const Array& x, AxisSplit split, bool descending, Dim k, const Shape& shape);

}  // namespace tapeform::kernels
