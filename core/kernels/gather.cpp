#include "kernels/gather.hpp"

#include <algorithm>
#include <cstring>
#include <tapeform/core/parallel.hpp>

#include "kernels/elementwise_loops.hpp"

namespace tapeform::kernels {
namespace {

constexpr Dim chunk_numbers = 1 << 15;  // what one piece of parallel work moves, at least

template <class T>
void copy(T* to, const T* from, Dim count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}
template <class T>
void clear(T* to, Dim count) {
  std::memset(to, 0, static_cast<std::size_t>(count) * sizeof(T));
}

Dim grain(Dim numbers) { return std::max<Dim>(1, chunk_numbers / std::max<Dim>(numbers, 1)); }

std::size_t index(Dim i) { return static_cast<std::size_t>(i); }

// Calls f(b, first) for samples [begin, end), with the number of rows before each.
template <class F>
void for_samples(std::span<const std::int64_t> lens, Dim begin, Dim end, F f) {
  Dim first = 0;
  for (Dim b = 0; b < end; first += lens[index(b++)])
    if (b >= begin) f(b, first);
}

}  // namespace

Array gather_rows(const Array& table, std::span<const std::int64_t> ids, const Shape& shape) {
  Array y(shape, table.dtype());
  const Dim width = table.dim(1);
  if (width == 0) return y;
  dispatch(table.dtype(), [&]<class T>(T) {
    const T* const from = table.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(static_cast<Dim>(ids.size()), grain(width), [=](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) copy(to + i * width, from + ids[index(i)] * width, width);
    });
  });
  return y;
}

// Split over the width: each thread adds its columns of all rows in order, so repeated ids meet nobody else.
void scatter_add_rows(Array& dtable, std::span<const std::int64_t> ids, const Array& dy, std::int64_t left_out) {
  const Dim width = dtable.dim(1), rows = static_cast<Dim>(ids.size());
  dispatch(dtable.dtype(), [&]<class T>(T) {
    T* const to = dtable.mutable_data<T>();
    const T* const from = dy.data<T>();
    parallel_for(width, (grain(rows) + 15) / 16 * 16, [=](Dim begin, Dim end) {  // 64-byte lines, so threads share none
      for (Dim i = 0; i < rows; ++i) {
        const std::int64_t id = ids[index(i)];
        if (id == left_out) continue;
        run_add_scaled(to + id * width + begin, T{1}, from + i * width + begin, end - begin);
      }
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
    parallel_for(x.dim(0), grain(sample), [=](Dim begin, Dim end) {
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
    parallel_for(shape[0], grain(sample), [=](Dim begin, Dim end) {
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
    parallel_for(static_cast<Dim>(keep.size()), grain(width), [=](Dim begin, Dim end) {
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
