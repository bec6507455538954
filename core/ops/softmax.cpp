#include <tapeform/core/ops/softmax.hpp>

#include <fmt/format.h>

#include <tapeform/core/error.hpp>
#include <tapeform/core/mask.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/softmax.hpp"

namespace tapeform {

static kernels::AxisSplit split_at(const char* op, const Tensor& x, int axis) {
  shapes::filled(op, "x", x);
  const Shape& shape = x.shape();
  const int rank = shape.rank(), i = axis < 0 ? rank + axis : axis;
  if (rank == 0) throw ShapeError(fmt::format("{}: x must have an axis to sum over; got x {}", op, shape.str()));
  if (i < 0 || i >= rank)
    throw ShapeError(fmt::format("{}: axis must be from {} to {}; got axis {}, x {}", op, -rank, rank - 1, axis, shape.str()));
  return kernels::AxisSplit(shape, i);
}

// y = exp(x − max)/Σ exp(x − max)      dx = y·(dy − Σ dy·y)
Tensor softmax(const Tensor& x, int axis) {
  const kernels::AxisSplit split = split_at("softmax", x, axis);
  Array y = kernels::softmax(x.value(), split);
  return record("softmax", y, wrt(x, [Y = y, split](const Array& dy) { return kernels::softmax_backward(dy, Y, split); }));
}

// y = x − max − log Σ exp(x − max)      dx = dy − exp(y)·Σ dy
Tensor log_softmax(const Tensor& x, int axis) {
  const kernels::AxisSplit split = split_at("log_softmax", x, axis);
  Array y = kernels::log_softmax(x.value(), split);
  return record("log_softmax", y, wrt(x, [Y = y, split](const Array& dy) { return kernels::log_softmax_backward(dy, Y, split); }));
}

// The derivative of softmax: hidden keys have y = 0, which takes them out of it.
Tensor masked_softmax(const Tensor& scores, const Mask& mask) {
  shapes::filled("masked_softmax", "scores", scores);
  const Shape& shape = scores.shape();
  if (shape.rank() != 3 && shape.rank() != 4)
    throw ShapeError(fmt::format("masked_softmax: scores must be [B, Tq, Tk] or [B, H, Tq, Tk]; got scores {}", shape.str()));
  const Dim B = shape[0], H = shape.rank() == 4 ? shape[1] : 1, Tq = shape[-2], Tk = shape[-1];
  mask.check("masked_softmax", B, H, Tq, Tk);
  const kernels::AxisSplit split(shape, shape.rank() - 1);
  Array y = kernels::masked_softmax(scores.value(), mask, B, H, Tq, Tk);
  return record("masked_softmax", y, wrt(scores, [Y = y, split](const Array& dy) { return kernels::softmax_backward(dy, Y, split); }));
}

}  // namespace tapeform
