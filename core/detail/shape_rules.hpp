#pragma once
#include <cstdint>
#include <span>
#include <tapeform/core/tensor.hpp>

// Shape rules that several ops share. Each throws in the name of the op that asks.

namespace tapeform::shapes {

/// What a and b broadcast to. @throws ShapeError when they do not.
Shape broadcast(const char* op, const Shape& a, const Shape& b, const char* name_of_a = "a", const char* name_of_b = "b");

/// One bit per axis; negative axes count from the last. @throws ShapeError for an axis that is not there, or given twice.
std::uint32_t axis_bits(const char* op, const Shape& x, std::span<const int> axes);

/// x without the axes in `bits`, or with size 1 in their place.
Shape reduced(const Shape& x, std::uint32_t bits, bool keepdims);

[[noreturn]] void throw_nothing(const char* op, const char* input);
/// @throws ValueError when x holds nothing: its shape would read as a scalar's.
inline void filled(const char* op, const char* input, const Tensor& x) {
  if (!x) throw_nothing(op, input);
}

/// One axis counted from the front. @throws ShapeError when it is not there.
int axis(const char* op, const Shape& x, int axis);

/// @throws ValueError when one holds nothing, DTypeError unless a and b have one dtype.
void same_dtype(const char* op, const Tensor& a, const Tensor& b);

}  // namespace tapeform::shapes
