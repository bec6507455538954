#pragma once
#include <tapeform/core/ids.hpp>
#include <tapeform/core/tensor.hpp>

namespace tapeform {

/// The first lens[b] rows of every sample, one after the other: x [B, T, ...], lens [B], y [N, ...] with N = Σ lens. Rows that are
/// left out are not read. Derivative: dx gets dy's rows back, zeros elsewhere.
/// @throws ShapeError unless lens is [B]; ValueError when a length is outside [0, T].
Tensor pack_rows(const Tensor& x, const Ids& lens);

/// The inverse: x [N, ...], lens [B] with Σ lens = N, y [B, length, ...], 0 in the rows from lens[b] on.
/// Derivative: dx gets dy's rows [0, lens[b]); the others are not read.
/// @throws ShapeError unless N = Σ lens; ValueError when a length is outside [0, length].
Tensor unpack_rows(const Tensor& x, const Ids& lens, Dim length);

/// Rows whose keep is 0 become 0: x [B, T, ...], keep [B, T] of 0 and 1, y as x. They are left out, not multiplied, so a NaN there
/// reaches neither y nor the gradient. Derivative: dx = dy where kept, else 0.
/// @throws ShapeError unless keep is [B, T]; ValueError unless it holds 0 and 1 only.
Tensor keep_rows(const Tensor& x, const Ids& keep);

}  // namespace tapeform
