#pragma once
#include <span>
#include <tapeform/core/array.hpp>

namespace tapeform::kernels {

/// Axis i of the result is axis `axes[i]` of x, all in [0, rank). Shares the buffer when no number moves.
Array permute(const Array& x, std::span<const int> axes);

/// Indices [begin, end) of an axis. Of the leading axis, and whole, it shares the buffer.
Array slice(const Array& x, int axis, Dim begin, Dim end);
/// dx[.., begin .. end, ..] += dy
void add_to_slice(Array& dx, const Array& dy, int axis, Dim begin);
/// y[.., begin .., ..] = x
void copy_to_slice(Array& y, const Array& x, int axis, Dim begin);

}  // namespace tapeform::kernels
