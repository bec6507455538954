#pragma once
#include <tapeform/core/array.hpp>

namespace tapeform::kernels {

/// a += b, of one shape and dtype (the caller has checked). Copies `a` first when its buffer is shared.
void add_into(Array& a, const Array& b);

}  // namespace tapeform::kernels
