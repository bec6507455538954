#include "kernels/scan.hpp"

#include <tapeform/core/parallel.hpp>

#include "kernels/runs.hpp"

namespace tapeform::kernels {
namespace {

constexpr Dim max_columns = 256;  // go along the axis together: their sums stay in the nearest cache

// `count` columns of n numbers, `stride` from row to row, negative when the sum runs from the last.
template <class T>
void sum_columns(const T* x, T* y, Dim n, Dim stride, Dim count) {
  double sum[max_columns] = {};
  for (Dim i = 0; i < n; ++i)
    for (Dim j = 0; j < count; ++j) {
      sum[j] += static_cast<double>(x[i * stride + j]);
      y[i * stride + j] = static_cast<T>(sum[j]);
    }
}

}  // namespace

Array cumsum(const Array& x, AxisSplit split, bool reverse) {
  Array y(x.shape(), x.dtype());
  if (y.numel() == 0) return y;
  const Dim width = std::min(split.inner, max_columns), blocks = (split.inner + width - 1) / width;
  const Dim start = reverse ? (split.n - 1) * split.inner : 0, stride = reverse ? -split.inner : split.inner;
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = x.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(split.outer * blocks, grain_for_items(split.n * width), [=](Dim begin, Dim end) {
      for (Dim item = begin; item < end; ++item) {
        const Dim column = item % blocks * width, at = item / blocks * split.n * split.inner + start + column;
        sum_columns(from + at, to + at, split.n, stride, std::min(width, split.inner - column));
      }
    });
  });
  return y;
}

}  // namespace tapeform::kernels
