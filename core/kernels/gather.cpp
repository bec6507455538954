#include "kernels/gather.hpp"

#include <tapeform/core/parallel.hpp>

#include "kernels/elementwise_loops.hpp"
#include "kernels/runs.hpp"

namespace tapeform::kernels {
namespace {

std::size_t index(Dim i) { return static_cast<std::size_t>(i); }

// Calls f(b, first) for samples [begin, end), with the number of rows before each.
template <class F>
void for_samples(std::span<const std::int64_t> lens, Dim begin, Dim end, F f) {
  Dim first = 0;
  for (Dim b = 0; b < end; first += lens[index(b++)])
    if (b >= begin) f(b, first);
}

}  // namespace

Array gather_rows(const Array& x, AxisSplit split, std::span<const std::int64_t> ids, const Shape& shape) {
  Array y(shape, x.dtype());
  const Dim width = split.inner, count = static_cast<Dim>(ids.size());
  if (y.numel() == 0) return y;
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = x.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(split.outer * count, grain_for_items(width), [=, n = split.n](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) copy(to + i * width, from + (i / count * n + ids[index(i % count)]) * width, width);
    });
  });
  return y;
}

// Split over the width: each thread adds its columns of all rows in order, so repeated ids meet nobody else.
void scatter_add_rows(Array& dx, AxisSplit split, std::span<const std::int64_t> ids, const Array& dy, std::int64_t left_out) {
  const Dim width = split.inner, rows = static_cast<Dim>(ids.size());
  if (dy.numel() == 0) return;
  dispatch(dx.dtype(), [&]<class T>(T) {
    T* const to = dx.mutable_data<T>();
    const T* const from = dy.data<T>();
    // 64-byte lines, so threads share none
    parallel_for(width, (grain_for_items(split.outer * rows) + 15) / 16 * 16, [=](Dim begin, Dim end) {
      for (Dim o = 0; o < split.outer; ++o)
        for (Dim i = 0; i < rows; ++i) {
          const std::int64_t id = ids[index(i)];
          if (id == left_out) continue;
          run_add_scaled(to + (o * split.n + id) * width + begin, T{1}, from + (o * rows + i) * width + begin, end - begin);
        }
    });
  });
}

Array gather_along(const Array& x, AxisSplit split, const Ids& ids) {
  Array y(ids.shape(), x.dtype());
  if (y.numel() == 0) return y;
  const std::int64_t* const id = ids.values().data();
  const Dim inner = split.inner, picked = y.numel() / split.outer;  // of each outer index
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = x.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(y.numel(), chunk_numbers, [=, n = split.n](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) to[i] = from[(i / picked * n + id[i]) * inner + i % inner];
    });
  });
  return y;
}

// A piece of work is some outer indices: what one adds to no other touches.
void scatter_add_along(Array& dx, AxisSplit split, const Ids& ids, const Array& dy) {
  if (dy.numel() == 0) return;
  const std::int64_t* const id = ids.values().data();
  const Dim inner = split.inner, picked = dy.numel() / split.outer;
  dispatch(dx.dtype(), [&]<class T>(T) {
    T* const to = dx.mutable_data<T>();
    const T* const from = dy.data<T>();
    parallel_for(split.outer, grain_for_items(picked), [=, n = split.n](Dim begin, Dim end) {
      for (Dim i = begin * picked; i < end * picked; ++i) to[(i / picked * n + id[i]) * inner + i % inner] += from[i];
    });
  });
}

Array pack_rows(const Array& x, std::span<const std::int64_t> lens, const Shape& shape) {
  Array y(shape, x.dtype());
  const Dim width = x.shape().numel(2, x.rank()), sample = x.dim(1) * width;
  if (y.numel() == 0) return y;
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = x.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(x.dim(0), grain_for_items(sample), [=](Dim begin, Dim end) {
      for_samples(lens, begin, end, [=](Dim b, Dim first) { copy(to + first * width, from + b * sample, lens[index(b)] * width); });
    });
  });
  return y;
}

Array unpack_rows(const Array& x, std::span<const std::int64_t> lens, const Shape& shape) {
  Array y(shape, x.dtype());
  const Dim width = shape.numel(2, shape.rank()), sample = shape[1] * width;
  if (y.numel() == 0) return y;
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = x.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(shape[0], grain_for_items(sample), [=](Dim begin, Dim end) {
      for_samples(lens, begin, end, [=](Dim b, Dim first) {
        const Dim numbers = lens[index(b)] * width;
        copy(to + b * sample, from + first * width, numbers);
        clear(to + b * sample + numbers, sample - numbers);
      });
    });
  });
  return y;
}

Array keep_rows(const Array& x, std::span<const std::int64_t> keep) {
  Array y(x.shape(), x.dtype());
  const Dim width = x.shape().numel(2, x.rank());
  if (y.numel() == 0) return y;
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = x.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(static_cast<Dim>(keep.size()), grain_for_items(width), [=](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) {
        if (keep[index(i)])
          copy(to + i * width, from + i * width, width);
        else
          clear(to + i * width, width);
      }
    });
  });
  return y;
}

}  // namespace tapeform::kernels
