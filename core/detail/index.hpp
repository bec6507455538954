#pragma once
#include <tapeform/core/shape.hpp>
#include <vector>

namespace tapeform::detail {

/// The index on every axis of a row-major position.
inline std::vector<Dim> index_of(const Shape& shape, Dim position) {
  std::vector<Dim> index(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<std::size_t>(axis)] = position % shape[axis];
    position /= shape[axis];
  }
  return index;
}

}  // namespace tapeform::detail
