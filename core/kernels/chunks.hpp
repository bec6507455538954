#pragma once
#include <algorithm>
#include <tapeform/core/array.hpp>

/// Arrays as rows of their last axis, and how many of them make a piece of parallel work.

namespace tapeform::kernels {

inline Dim rows_of(const Array& x) { return x.shape().numel(0, x.rank() - 1); }

/// Rows of n elements that come to about `elements`, at least one.
inline Dim rows_per_chunk(Dim n, Dim elements) { return std::max<Dim>(1, elements / std::max<Dim>(1, n)); }

}  // namespace tapeform::kernels
