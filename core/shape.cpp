#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/shape.hpp>

namespace tapeform {

std::string Shape::str() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(sizes_[i]);
  }
  return text + "]";
}

// The product overflowed on the way; an axis of size 0 further on still makes it 0.
Dim Shape::numel_with_zero() const {
  for (int i = 0; i < rank_; ++i)
    if (sizes_[i] == 0) return 0;
  throw ShapeError(fmt::format("shape: the number of elements must fit 63 bits; got {}. Use smaller sizes", str()));
}

Dim Shape::offset(std::initializer_list<Dim> index) const {
  if (static_cast<int>(index.size()) != rank_)
    throw ShapeError(fmt::format("offset: one index per axis; got {} for shape {}", index.size(), str()));
  Dim position = 0;
  int axis = 0;
  for (const Dim i : index) {
    if (i < 0 || i >= sizes_[axis])
      throw ShapeError(fmt::format("offset: index {} is outside axis {} of size {}; got shape {}", i, axis, sizes_[axis], str()));
    position = position * sizes_[axis++] + i;
  }
  return position;
}

void Shape::throw_axis(int axis) const {
  throw ShapeError(
      fmt::format("shape: axis {} is outside rank {}; got shape {}. Axes run from {} to {}", axis, rank_, str(), -rank_, rank_ - 1));
}

void Shape::throw_rank() const { throw ShapeError(fmt::format("shape: at most {} axes; got one more than {}", max_rank, str())); }

void Shape::throw_negative(Dim size) { throw ShapeError(fmt::format("shape: sizes must not be negative; got {}", size)); }

}  // namespace tapeform
