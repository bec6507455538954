#pragma once
#include <tapeform/core/ids.hpp>
#include <tapeform/core/tensor.hpp>

namespace tapeform {

// Numbers picked by ids along one axis. Ids are checked before anything is read or written: one outside the axis, negative ones too,
// is a ValueError that names it and its place. Repeated ids add in the gradients, in order.

/// y[.., i, ..] = x[.., ids[.., i, ..], ..] along one axis, in the shape of ids, as torch.gather: ids has x's rank, and beside the axis
/// it may be smaller than x, of which the leading part is read then.
///
/// Derivative: dx[.., ids[.., i, ..], ..] += dy[.., i, ..].
/// @throws ShapeError for another rank, for ids larger than x beside the axis, or when there is no such axis; ValueError for an id
/// outside the axis.
Tensor gather(const Tensor& x, int axis, const Ids& ids);

/// The same as numpy.take_along_axis: beside the axis, sizes of x and ids broadcast (equal, or one of them 1). With what `argsort`
/// returns it sorts, and the gradient flows.
///
/// Derivative: as `gather`, summed over what was repeated.
/// @throws ShapeError when ranks differ, sizes do not broadcast or there is no such axis; ValueError for an id outside the axis.
Tensor take_along_axis(const Tensor& x, const Ids& ids, int axis);

/// Whole slices of an axis, in the order of ids [N]: y[.., i, ..] = x[.., ids[i], ..], y [.., N, ..] (torch.index_select). Of a matrix
/// and axis 0 it is `embedding`.
///
/// Derivative: dx[.., ids[i], ..] += dy[.., i, ..].
/// @throws ShapeError unless ids has one axis, or when there is no such axis; ValueError for an id outside the axis.
Tensor index_select(const Tensor& x, int axis, const Ids& ids);

/// y = x, and then y[.., ids[.., i, ..], ..] += src[.., i, ..] along one axis, for every i in order (torch.scatter_add). src has the
/// shape of ids, which is x's beside the axis.
///
/// Derivative: dx = dy, dsrc = gather(dy, axis, ids).
/// @throws ShapeError for other shapes, or when there is no such axis; DTypeError; ValueError for an id outside the axis.
Tensor scatter_add(const Tensor& x, int axis, const Ids& ids, const Tensor& src);

}  // namespace tapeform
