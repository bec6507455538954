#pragma once
#include <tapeform/core/shape.hpp>

namespace tapeform::kernels {

/// An array seen from one of its axes: [outer, n, inner].
struct AxisSplit {
  Dim outer = 1, n = 1, inner = 1;
  AxisSplit(const Shape& shape, int axis)  ///< `axis` in [0, rank)
      : outer(shape.numel(0, axis)), n(shape[axis]), inner(shape.numel(axis + 1, shape.rank())) {}
};

}  // namespace tapeform::kernels
