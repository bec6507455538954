#pragma once
#include <cstdint>
#include <tapeform/core/array.hpp>

// Sums. They are taken in double precision, over pieces that the shape alone decides, added in order: float32 results are right to their
// last bit or two, and the same with any number of threads.

namespace tapeform::kernels {

/// Sum of x over the axes whose bits are set in `axes`, divided by `divisor`; the result gets the shape `result`, which has the axes that
/// are left, with or without 1 for the others.
Array sum(const Array& x, std::uint32_t axes, const Shape& result, double divisor = 1);

/// Sum of x over the axes along which `shape` was repeated to become x's shape: the derivative of broadcasting. x itself where none was.
Array sum_to(const Array& x, const Shape& shape);

}  // namespace tapeform::kernels
