#pragma once
#include <tapeform/core/array.hpp>

namespace tapeform::kernels {

/// Which numbers of an array, in which order: where the first lies and how far it is to the next along each axis. No number twice.
struct Picks {
  Shape shape;
  Dim step[Shape::max_rank] = {};
  Dim first = 0;

  explicit Picks(const Shape& x);  ///< all, in order
  /// Of the axis, only `count` indices: begin, begin + stride, …; a negative stride goes back.
  void thin(int axis, Dim begin, Dim count, Dim stride);
};

/// x[picks]
Array picked(const Array& x, const Picks& picks);
/// dx[picks] += dy
void add_to_picked(Array& dx, const Array& dy, const Picks& picks);

/// x with zeros above (`lower`) or below the diagonal of its last two axes: j − i = `diagonal` is the last, or first, that stays.
Array triangle(const Array& x, bool lower, Dim diagonal);

}  // namespace tapeform::kernels
