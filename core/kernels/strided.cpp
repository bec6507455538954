#include "kernels/strided.hpp"

#include <tapeform/core/parallel.hpp>

#include "kernels/runs.hpp"

namespace tapeform::kernels {
namespace {

// Where the row of a flat index over all axes but the last begins.
Dim row_start(const Picks& picks, Dim row) {
  Dim at = picks.first;
  for (int axis = picks.shape.rank() - 1; axis-- > 0; row /= picks.shape[axis]) at += row % picks.shape[axis] * picks.step[axis];
  return at;
}

// Calls f(row, place of its first number, step, width) for all rows of the last axis.
template <class F>
void for_rows(const Picks& picks, F f) {
  const int rank = picks.shape.rank();
  const Dim width = rank == 0 ? 1 : picks.shape[-1], step = rank == 0 ? 1 : picks.step[rank - 1], rows = picks.shape.numel(0, rank - 1);
  if (picks.shape.numel() == 0) return;
  parallel_for(rows, grain_for_items(width), [&](Dim begin, Dim end) {
    for (Dim row = begin; row < end; ++row) f(row, row_start(picks, row), step, width);
  });
}

}  // namespace

Picks::Picks(const Shape& x) : shape(x) {
  Dim next = 1;
  for (int axis = x.rank(); axis-- > 0; next *= x[axis]) step[axis] = next;
}

void Picks::thin(int axis, Dim begin, Dim count, Dim stride) {
  first += begin * step[axis];
  step[axis] *= stride;
  shape.set(axis, count);
}

Array picked(const Array& x, const Picks& picks) {
  Array y(picks.shape, x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = x.data<T>();
    T* const to = y.mutable_data<T>();
    for_rows(picks, [=](Dim row, Dim at, Dim step, Dim width) {
      if (step == 1) return copy(to + row * width, from + at, width);
      for (Dim i = 0; i < width; ++i) to[row * width + i] = from[at + i * step];
    });
  });
  return y;
}

void add_to_picked(Array& dx, const Array& dy, const Picks& picks) {
  dispatch(dx.dtype(), [&]<class T>(T) {
    T* const to = dx.mutable_data<T>();
    const T* const from = dy.data<T>();
    for_rows(picks, [=](Dim row, Dim at, Dim step, Dim width) {
      for (Dim i = 0; i < width; ++i) to[at + i * step] += from[row * width + i];
    });
  });
}

Array triangle(const Array& x, bool lower, Dim diagonal) {
  Array y(x.shape(), x.dtype());
  const Dim m = x.dim(-2), n = x.dim(-1);
  if (y.numel() == 0) return y;
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = x.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(y.numel() / n, grain_for_items(n), [=](Dim begin, Dim end) {
      for (Dim row = begin; row < end; ++row) {
        const Dim kept = std::clamp<Dim>(std::clamp(diagonal, -m, n) + row % m + (lower ? 1 : 0), 0, n);  // columns before the border
        copy(to + row * n, from + row * n, n);
        if (lower)
          clear(to + row * n + kept, n - kept);
        else
          clear(to + row * n, kept);
      }
    });
  });
  return y;
}

}  // namespace tapeform::kernels
