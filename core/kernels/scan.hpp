#pragma once
#include <tapeform/core/array.hpp>

#include "kernels/axis_split.hpp"

namespace tapeform::kernels {

/// Running sums along the axis, from its first number on, or from its last with `reverse`; held in double precision.
Array cumsum(const Array& x, AxisSplit split, bool reverse);

}  // namespace tapeform::kernels
