#pragma once
#include <tapeform/core/array.hpp>

#include "kernels/axis_split.hpp"

namespace tapeform {

class Mask;

namespace kernels {

/// softmax along the axis. A slice of −inf throughout gives 0.
Array softmax(const Array& x, AxisSplit split);
/// y·(dy − Σ dy·y); elements with y = 0 take no part, whatever dy holds there.
Array softmax_backward(const Array& dy, const Array& y, AxisSplit split);

/// log softmax along the axis. A slice of −inf throughout gives −inf.
Array log_softmax(const Array& x, AxisSplit split);
/// dy − exp(y)·Σ dy; 0 for a slice of −inf throughout.
Array log_softmax_backward(const Array& dy, const Array& y, AxisSplit split);

/// softmax over the visible keys of each row of scores [B, H, Tq, Tk] (any shape with that many elements); 0 for the others. The
/// mask has been checked.
Array masked_softmax(const Array& scores, const Mask& mask, Dim B, Dim H, Dim Tq, Dim Tk);

}  // namespace kernels
}  // namespace tapeform
