#include "detail/shape_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tapeform/core/error.hpp>

namespace tapeform::shapes {

Shape broadcast(const char* op, const Shape& a, const Shape& b, const char* name_of_a, const char* name_of_b) {
  if (a == b) return a;
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  Shape result = longer;
  for (int back = 1; back <= std::min(a.rank(), b.rank()); ++back) {
    const Dim size_a = a[-back], size_b = b[-back];
    if (size_a != size_b && size_a != 1 && size_b != 1)
      throw ShapeError(
          fmt::format("{}: shapes must broadcast; got {} {}, {} {}. Aligned at the last axis, sizes must be equal or one of them 1", op,
                      name_of_a, a.str(), name_of_b, b.str()));
    result.set(-back, size_a == 1 ? size_b : size_a);
  }
  return result;
}

int axis(const char* op, const Shape& x, int axis) {
  const int from_front = axis < 0 ? axis + x.rank() : axis;
  if (from_front >= 0 && from_front < x.rank()) return from_front;
  throw ShapeError(x.rank() == 0 ? fmt::format("{}: axis {} is not there; got x []. A scalar has no axes", op, axis)
                                 : fmt::format("{}: axis {} is not there; got x {}. Axes run from {} to {}", op, axis, x.str(), -x.rank(),
                                               x.rank() - 1));
}

std::uint32_t axis_bits(const char* op, const Shape& x, std::span<const int> axes) {
  std::uint32_t bits = 0;
  for (const int given : axes) {
    const int from_front = axis(op, x, given);
    if (bits >> from_front & 1u)
      throw ShapeError(fmt::format("{}: axis {} is given twice; got x {}. Name each axis once", op, from_front, x.str()));
    bits |= 1u << from_front;
  }
  return bits;
}

Shape reduced(const Shape& x, std::uint32_t bits, bool keepdims) {
  Shape result;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!(bits >> axis & 1u))
      result.push_back(x[axis]);
    else if (keepdims)
      result.push_back(1);
  }
  return result;
}

void throw_nothing(const char* op, const char* input) {
  throw ValueError(fmt::format(
      "{}: {} holds nothing (default-constructed, moved from, or a gradient that is not there). Test it with `if ({})`", op, input, input));
}

void same_dtype(const char* op, const Tensor& a, const Tensor& b) {
  filled(op, "a", a);
  filled(op, "b", b);
  if (a.dtype() != b.dtype())
    throw DTypeError(fmt::format("{}: dtypes must agree; got a {}, b {}. Convert one with cast()", op, name(a.dtype()), name(b.dtype())));
}

}  // namespace tapeform::shapes
