#include "kernels/order.hpp"

#include <algorithm>
#include <numeric>
#include <tapeform/core/parallel.hpp>
#include <vector>

#include "kernels/runs.hpp"

namespace tapeform::kernels {
namespace {

// Calls f(first number of the slice, place of its first result) for every slice; results lie `count` to a slice.
template <class T, class F>
void for_slices(const T* x, AxisSplit split, Dim count, F f) {
  parallel_for(split.outer * split.inner, grain_for_items(split.n), [=](Dim begin, Dim end) {
    for (Dim slice = begin; slice < end; ++slice) {
      const Dim outer = slice / split.inner, inner = slice % split.inner;
      f(x + outer * split.n * split.inner + inner, outer * count * split.inner + inner);
    }
  });
}

template <class T>
Dim place_in(const T* x, Dim n, Dim stride, bool largest) {
  Dim best = 0;
  for (Dim i = 0; i < n; ++i) {
    const T v = x[i * stride], than = x[best * stride];
    if (v != v) return i;
    if (largest ? v > than : v < than) best = i;
  }
  return best;
}

// True when number a of the slice comes before number b.
template <class T>
struct Before {
  const T* x;
  Dim stride;
  bool descending;

  bool operator()(Dim a, Dim b) const {
    const T u = x[a * stride], v = x[b * stride];
    const bool less = u < v || (u == u && v != v), greater = u > v || (u != u && v == v);
    if (less || greater) return descending ? greater : less;
    return a < b;
  }
};

}  // namespace

Ids place_of_extreme(const Array& x, AxisSplit split, bool largest, const Shape& shape) {
  Ids places = Ids::full(shape, 0);
  places.write([&](std::span<std::int64_t> all) {
    dispatch(x.dtype(), [&]<class T>(T) {
      for_slices(x.data<T>(), split, 1,
                 [to = all.data(), split, largest](const T* slice, Dim at) { to[at] = place_in(slice, split.n, split.inner, largest); });
    });
  });
  return places;
}

Ids places_in_order(const Array& x, AxisSplit split, bool descending, Dim k, const Shape& shape) {
  Ids places = Ids::full(shape, 0);
  places.write([&](std::span<std::int64_t> all) {
    dispatch(x.dtype(), [&]<class T>(T) {
      for_slices(x.data<T>(), split, k, [to = all.data(), split, descending, k](const T* slice, Dim at) {
        std::vector<Dim> order(static_cast<std::size_t>(split.n));
        std::iota(order.begin(), order.end(), Dim{0});
        const Before<T> before{slice, split.inner, descending};
        if (k == split.n)
          std::sort(order.begin(), order.end(), before);
        else
          std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
        for (Dim i = 0; i < k; ++i) to[at + i * split.inner] = order[static_cast<std::size_t>(i)];
      });
    });
  });
  return places;
}

}  // namespace tapeform::kernels
