#pragma once
#include <span>
#include <tapeform/core/array.hpp>
#include <tapeform/core/ids.hpp>

#include "kernels/axis_split.hpp"

namespace tapeform::kernels {

// An array is seen from one axis, [outer, n, inner]; ids lie in [0, n) and have been checked.

/// y[o, i, :] = x[o, ids[i], :], under `shape`.
Array gather_rows(const Array& x, AxisSplit split, std::span<const std::int64_t> ids, const Shape& shape);
/// dx[o, ids[i], :] += dy[o, i, :] for every i in order, but for ids that equal `left_out`.
void scatter_add_rows(Array& dx, AxisSplit split, std::span<const std::int64_t> ids, const Array& dy, std::int64_t left_out);

/// y[o, i, j] = x[o, ids[o, i, j], j], under the shape of ids, which has x's outer and inner.
Array gather_along(const Array& x, AxisSplit split, const Ids& ids);
/// dx[o, ids[o, i, j], j] += dy[o, i, j] for every i in order.
void scatter_add_along(Array& dx, AxisSplit split, const Ids& ids, const Array& dy);

/// y [N, ..] = the first lens[b] rows of each x[b]; x [B, T, ..].
Array pack_rows(const Array& x, std::span<const std::int64_t> lens, const Shape& shape);
/// y [B, T, ..] = x's rows back in place; x [N, ..]. The others are 0.
Array unpack_rows(const Array& x, std::span<const std::int64_t> lens, const Shape& shape);
/// x's rows where keep is 1, else 0.
Array keep_rows(const Array& x, std::span<const std::int64_t> keep);

}  // namespace tapeform::kernels
