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
  T than = x[0];
  for (Dim i = 0; i < n; ++i) {
    const T v = x[i * stride];
    if (v != v) return i;
    if (largest ? v > than : v < than) {
      best = i;
      than = v;
    }
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

// The first k in order, for a small k: few numbers of a long slice ever enter the row of the best so far.
template <class T>
void best_of(const Before<T>& before, Dim n, Dim k, Dim* best) {
  Dim count = 0;
  T last{};
  for (Dim i = 0; i < n; ++i) {
    const T v = before.x[i * before.stride];
    if (count == k && (before.descending ? v <= last : v >= last)) continue;  // most of them; never with a NaN
    if (count == k && !before(i, best[k - 1])) continue;
    if (count < k) ++count;
    Dim place = count - 1;
    for (; place > 0 && before(i, best[place - 1]); --place) best[place] = best[place - 1];
    best[place] = i;
    last = before.x[best[count - 1] * before.stride];
  }
}

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
        const Before<T> before{slice, split.inner, descending};
        if (k > 0 && k <= 16) {
          Dim best[16];
          best_of(before, split.n, k, best);
          for (Dim i = 0; i < k; ++i) to[at + i * split.inner] = best[i];
          return;
        }
        std::vector<Dim> order(static_cast<std::size_t>(split.n));
        std::iota(order.begin(), order.end(), Dim{0});
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
