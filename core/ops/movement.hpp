#pragma once
#include <initializer_list>
#include <span>
#include <tapeform/core/tensor.hpp>

namespace tapeform {

/// The same numbers, row-major, under another shape; shares the buffer. Derivative: dx = dy under x's shape.
/// @throws ShapeError unless the number of elements is the same.
Tensor reshape(const Tensor& x, const Shape& shape);
/// One size may be −1: it is worked out. `reshape(x, {2, -1})`. @throws ShapeError as above, and when no size fits the −1.
Tensor reshape(const Tensor& x, std::initializer_list<Dim> sizes);

/// Axes in another order: axis i of the result is axis `axes[i]` of x; negative axes count from the last.
/// Derivative: dy under the inverse permutation. @throws ShapeError unless `axes` names every axis of x once.
Tensor permute(const Tensor& x, std::span<const int> axes);
Tensor permute(const Tensor& x, std::initializer_list<int> axes);

/// Two axes exchanged; the matrix transpose is `transpose(x, -2, -1)`. @throws ShapeError when there is no such axis.
Tensor transpose(const Tensor& x, int axis_a, int axis_b);

/// Indices [begin, end) of one axis; the axis stays, with size end − begin. Of the leading axis it shares the buffer.
/// Derivative: dy is added into [begin, end) of dx, so that many slices of one tensor cost what they hold.
/// @throws ShapeError unless 0 ≤ begin ≤ end ≤ the axis' size.
Tensor slice(const Tensor& x, int axis, Dim begin, Dim end);

/// Every step-th index of [begin, end), from `begin` on; with a negative step, from end − 1 down. `slice(x, 0, 3, 8, 2)` has the
/// indices 3, 5, 7 and `slice(x, 0, 3, 8, -2)` 7, 5, 3. Derivative: dy is added to those indices of dx.
/// @throws ShapeError as above; ValueError for a step of 0.
Tensor slice(const Tensor& x, int axis, Dim begin, Dim end, Dim step);

/// Tensors one after the other along one axis; all other axes agree. Derivative: each gets its part of dy.
/// @throws ShapeError when there is nothing to concatenate or shapes disagree beside `axis`; DTypeError.
Tensor concat(std::span<const Tensor> parts, int axis);
Tensor concat(std::initializer_list<Tensor> parts, int axis);

}  // namespace tapeform
