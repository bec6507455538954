#pragma once
#include <span>
#include <tapeform/core/array.hpp>

namespace tapeform::kernels {

/// y[i, :] = table[ids[i], :], under `shape` [.., D]. Ids have been checked.
Array gather_rows(const Array& table, std::span<const std::int64_t> ids, const Shape& shape);
/// dtable[ids[i], :] += dy[i, :] for every i in order, but for ids that equal `left_out`.
void scatter_add_rows(Array& dtable, std::span<const std::int64_t> ids, const Array& dy, std::int64_t left_out);

/// y [N, ..] = the first lens[b] rows of each x[b]; x [B, T, ..].
Array pack_rows(const Array& x, std::span<const std::int64_t> lens, const Shape& shape);
/// y [B, T, ..] = x's rows back in place; x [N, ..]. The others are 0.
Array unpack_rows(const Array& x, std::span<const std::int64_t> lens, const Shape& shape);
/// x's rows where keep is 1, else 0.
Array keep_rows(const Array& x, std::span<const std::int64_t> keep);

}  // namespace tapeform::kernels
