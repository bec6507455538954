#pragma once
#include <algorithm>
#include <tapeform/core/parallel.hpp>
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

/// Writes the plan's operand a, repeated, to all `n` elements (more than none) of the result.
template <class T>
void repeat_to(const Broadcast& plan, const T* a, T* to, Dim n) {
  const Broadcast::Axis inner = plan.rank > 0 ? plan.axes[0] : Broadcast::Axis{1, 1, 1};
  parallel_for(n / inner.size, std::max<Dim>(1, (Dim{1} << 15) / inner.size), [&](Dim begin, Dim end) {
    for (Dim row = begin; row < end; ++row) {
      Dim index = row, at = 0;
      for (int i = 1; i < plan.rank; ++i) {
        at += index % plan.axes[i].size * plan.axes[i].a_stride;
        index /= plan.axes[i].size;
      }
      if (inner.a_stride == 0)
        std::fill_n(to + row * inner.size, inner.size, a[at]);
      else
        std::copy_n(a + at, inner.size, to + row * inner.size);
    }
  });
}

}  // namespace tapeform::kernels
