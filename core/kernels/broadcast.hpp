#pragma once
#include <tapeform/core/shape.hpp>

namespace tapeform::kernels {

/// How two operands run along a result when shapes broadcast: the result's axes, innermost first, with the operands' strides (0 where one
/// repeats). Axes of size 1 are gone and neighbours that both operands cross in one stride are one axis, so most cases have one or two.
struct Broadcast {
  struct Axis {
    Dim size, a_stride, b_stride;
  };
  Axis axes[Shape::max_rank];
  int rank = 0;

  /// `result` is what the shapes broadcast to.
  Broadcast(const Shape& a, const Shape& b, const Shape& result);
};

}  // namespace tapeform::kernels
