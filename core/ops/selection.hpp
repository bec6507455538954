#pragma once
#include <tapeform/core/ids.hpp>
#include <tapeform/core/ops/reduce.hpp>
#include <tapeform/core/tensor.hpp>

namespace tapeform {

// Places, orders and counts: nothing here has a derivative. Results are Ids or Arrays, so that none looks as if a gradient came back
// through it; for sorted numbers with a gradient, `take_along_axis(x, argsort(x, axis), axis)`.
//
// A NaN counts as larger than every number. Of equal numbers the first in the axis comes first, in descending order too.

/// The place of the largest number along one axis; of several the first. The axis is gone, or stays with size 1 (`keepdims`).
/// @throws ShapeError when there is nothing to choose from, or no such axis.
Ids argmax(const Tensor& x, int axis, ReduceOptions options = {});
/// Of all elements: its row-major position, a scalar.
Ids argmax(const Tensor& x);
/// The place of the smallest; a NaN is chosen before any number here too. In all else as `argmax`.
Ids argmin(const Tensor& x, int axis, ReduceOptions options = {});
Ids argmin(const Tensor& x);

struct SortOptions {
  bool descending = false;
};

/// The numbers of every slice of an axis in order. @throws ShapeError when there is no such axis.
Array sort(const Tensor& x, int axis = -1, SortOptions options = {});
/// The places from which `sort` takes its numbers. @throws ShapeError when there is no such axis.
Ids argsort(const Tensor& x, int axis = -1, SortOptions options = {});

struct TopKOptions {
  bool largest = true;  ///< or the smallest
};
struct TopK {
  Array values;  ///< [.., k, ..], the best first
  Ids ids;       ///< where they stand in the axis
};
/// The k largest numbers along an axis and their places, in order.
/// @throws ShapeError when there is no such axis, ValueError unless k lies between 0 and its size.
TopK topk(const Tensor& x, Dim k, int axis = -1, TopKOptions options = {});

/// [...] -> [..., classes]: 1 at the id, 0 elsewhere. @throws ValueError for an id outside [0, classes).
Array one_hot(const Ids& ids, Dim classes, DType dtype = DType::float32);

/// How often each of 0, 1, … occurs among all ids, up to the largest that does, or to `classes` − 1 if that is more: [N].
/// @throws ValueError for a negative id.
Ids bincount(const Ids& ids, Dim classes = 0);

}  // namespace tapeform
