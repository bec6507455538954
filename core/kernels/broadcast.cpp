#include "kernels/broadcast.hpp"

namespace tapeform::kernels {

// The stride of an operand along its axis `back` places from the last; moves `step`, the product of the sizes passed so far, on.
static Dim stride_from_last(const Shape& operand, int back, Dim& step) {
  if (back > operand.rank() || operand[-back] == 1) return 0;
  const Dim stride = step;
  step *= operand[-back];
  return stride;
}

Broadcast::Broadcast(const Shape& a, const Shape& b, const Shape& result) {
  Dim a_step = 1, b_step = 1;
  for (int back = 1; back <= result.rank(); ++back) {
    const Axis axis{result[-back], stride_from_last(a, back, a_step), stride_from_last(b, back, b_step)};
    if (axis.size == 1) continue;
    Axis* const inner = rank > 0 ? &axes[rank - 1] : nullptr;
    if (inner && axis.a_stride == inner->a_stride * inner->size && axis.b_stride == inner->b_stride * inner->size)
      inner->size *= axis.size;
    else
      axes[rank++] = axis;
  }
}

}  // namespace tapeform::kernels
