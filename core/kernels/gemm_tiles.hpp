#pragma once
#include <algorithm>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/profile.hpp>

namespace tapeform::kernels {

/// A part of a product's result.
struct Tile {
  Dim row, rows, column, columns;
};

/// How an [m, n] product over k is cut: along the longer side, in a power of two of pieces whose length is a multiple of 16. There are at
/// most four, from 1 MFLOP each, since every piece makes the BLAS arrange the other operand again (2 to 8 % with four, twice that with
/// eight); eight from 128 MFLOP in all, and above 2 GFLOP one for every 128 MFLOP, up to 64. A function of the shape alone.
struct Tiling {
  bool by_rows;
  Dim count, length;
};

inline Tiling tiling(Dim m, Dim n, Dim k) {
  const bool by_rows = m >= n;
  const Dim longer = by_rows ? m : n;
  const double mflop = 2e-6 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  if (mflop < 2) return {by_rows, 1, (longer + 15) / 16 * 16};
  const double most = mflop < 128 ? std::min(mflop, 4.0) : std::clamp(mflop / 128, 8.0, 64.0);
  Dim pieces = 1;
  while (static_cast<double>(2 * pieces) <= most) pieces *= 2;
  const Dim length = std::max<Dim>(32, ((longer + pieces - 1) / pieces + 15) / 16 * 16);
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
  detail::count_flop(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
  parallel_for(t.count, 1, [&](Dim begin, Dim end) {
    for (Dim i = begin; i < end; ++i) f(tile_at(t, m, n, i));
  });
}

}  // namespace tapeform::kernels
