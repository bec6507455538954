#pragma once
#include <algorithm>
#include <cstring>
#include <tapeform/core/shape.hpp>

// Runs of adjacent numbers: what kernels share that move data and work none out.

namespace tapeform::kernels {

inline constexpr Dim chunk_numbers = 1 << 15;  // what one piece of parallel work moves, at least

/// Pieces of parallel work hold this many items of `numbers` numbers each.
inline Dim grain_for_items(Dim numbers) { return std::max<Dim>(1, chunk_numbers / std::max<Dim>(numbers, 1)); }

template <class T>
void copy(T* to, const T* from, Dim count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}
template <class T>
void clear(T* to, Dim count) {
  std::memset(to, 0, static_cast<std::size_t>(count) * sizeof(T));
}

}  // namespace tapeform::kernels
