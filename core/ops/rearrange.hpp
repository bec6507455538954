#pragma once
#include <initializer_list>
#include <span>
#include <tapeform/core/tensor.hpp>
#include <vector>

namespace tapeform {

/// x without the named axes, which must have size 1; shares the buffer. No form drops every axis of size 1: a batch of one would go
/// with them. Derivative: dx = dy under x's shape.
/// @throws ShapeError for an axis of another size, one that is not there, or given twice.
Tensor squeeze(const Tensor& x, int axis);
Tensor squeeze(const Tensor& x, std::initializer_list<int> axes);

/// x with a new axis of size 1, which becomes axis `axis` of the result, from −rank − 1 to rank; shares the buffer.
/// Derivative: dx = dy under x's shape. @throws ShapeError for another axis, or when x has 8 axes already.
Tensor unsqueeze(const Tensor& x, int axis);

/// x in parts of `size` along one axis, the last of what is left (one empty part of an empty axis). Derivative: as `slice`.
/// @throws ShapeError when size is less than 1, or there is no such axis.
std::vector<Tensor> split(const Tensor& x, Dim size, int axis = 0);
/// x in parts of these sizes. @throws ShapeError unless they add up to the size of the axis.
std::vector<Tensor> split(const Tensor& x, std::span<const Dim> sizes, int axis = 0);
std::vector<Tensor> split(const Tensor& x, std::initializer_list<Dim> sizes, int axis = 0);

/// Tensors of one shape side by side along a new axis `axis`, from −rank − 1 to rank. Derivative: each gets its part of dy.
/// @throws ShapeError when there is nothing to stack, shapes differ or the axis is another; DTypeError.
Tensor stack(std::span<const Tensor> parts, int axis = 0);
Tensor stack(std::initializer_list<Tensor> parts, int axis = 0);

/// x repeated along its axes of size 1, and along new leading ones, to `shape`. Derivative: dx = Σ dy over what was repeated.
/// @throws ShapeError unless, aligned at the last axis, each size of x is the shape's or 1.
Tensor broadcast_to(const Tensor& x, const Shape& shape);

/// x as a whole, counts[i] times along axis i (torch's `repeat`, numpy's `tile`): `repeat([1, 2], {2})` is [1, 2, 1, 2]. More counts
/// than axes make new leading ones. Derivative: dx = Σ dy over the repetitions.
/// @throws ShapeError for fewer counts than axes, a negative one, or a size that does not fit 63 bits.
Tensor repeat(const Tensor& x, std::initializer_list<Dim> counts);
Tensor repeat(const Tensor& x, std::span<const Dim> counts);

/// Each index of the axis `count` times in a row (torch's `repeat_interleave`, numpy's `repeat`): [1, 2] becomes [1, 1, 2, 2]. With it
/// H/G query heads share one of G key and value heads. Derivative: dx = Σ dy over the repetitions.
/// @throws ShapeError for a negative count, a size that does not fit 63 bits, or when there is no such axis.
Tensor repeat_interleave(const Tensor& x, Dim count, int axis);

struct PadOptions {
  double value = 0;
};

/// x with `before` and `after` more indices of one axis, filled with a value. Derivative: dx = the part of dy that x lies in.
/// @throws ShapeError for a negative number of indices, a size that does not fit 63 bits, or when there is no such axis.
Tensor pad(const Tensor& x, int axis, Dim before, Dim after, PadOptions options = {});

/// x with the named axes in reverse order. Derivative: dy, reversed. @throws ShapeError for an axis that is not there, or given twice.
Tensor flip(const Tensor& x, std::initializer_list<int> axes);
Tensor flip(const Tensor& x, std::span<const int> axes);

/// The lower triangle of the last two axes: elements with j − i ≤ diagonal; the others are 0, whatever x holds there.
/// Derivative: the lower triangle of dy. @throws ShapeError when x has fewer than two axes.
Tensor tril(const Tensor& x, Dim diagonal = 0);
/// The upper triangle: elements with j − i ≥ diagonal. Derivative: the upper triangle of dy. @throws ShapeError as `tril`.
Tensor triu(const Tensor& x, Dim diagonal = 0);

}  // namespace tapeform
