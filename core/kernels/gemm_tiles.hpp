#pragma once
#include <algorithm>
#include <tapeform/core/parallel.hpp>

namespace tapeform::kernels {

/// A part of a product's result.
struct Tile {
  Dim row, rows, column, columns;
};

/// How an [m, n] product over k is cut: along the longer side, into lengths that are multiples of 16. From 1 MFLOP a tile up there are
/// eight of them, and more only when each would have more than 128 MFLOP. A function of the shape alone.
struct Tiling {
  bool by_rows;
  Dim count, length;
};

inline Tiling tiling(Dim m, Dim n, Dim k) {
  const bool by_rows = m >= n;
  const Dim longer = by_rows ? m : n;
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const double wanted = std::max(std::min(flops / 1e6, 8.0), std::min(flops / 128e6, 64.0));
  const Dim pieces = std::max<Dim>(1, static_cast<Dim>(wanted));
  const Dim length = std::max<Dim>(16, ((longer + pieces - 1) / pieces + 15) / 16 * 16);
  return {by_rows, (longer + length - 1) / length, length};
}

inline Tile tile_at(const Tiling& t, Dim m, Dim n, Dim index) {
  const Dim begin = index * t.length;
  return t.by_rows ? Tile{begin, std::min(t.length, m - begin), 0, n} : Tile{0, m, begin, std::min(t.length, n - begin)};
}

/// Calls `f(tile)` for every tile of an [m, n] product over k, on several threads.
template <class F>
void for_each_tile(Dim m, Dim n, Dim k, const F& f) {
  const Tiling t = tiling(m, n, k);
  parallel_for(t.count, 1, [&](Dim begin, Dim end) {
    for (Dim i = begin; i < end; ++i) f(tile_at(t, m, n, i));
  });
}

}  // namespace tapeform::kernels
