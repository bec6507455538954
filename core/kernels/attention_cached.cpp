#include <algorithm>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/profile.hpp>

#include "kernels/attention_tile.hpp"

namespace tapeform::kernels {
namespace {

/// One query and the places that it sees. A position's k and v stand side by side, so that all heads go by together.
template <class T>
void attend(const AttentionRows<T>& loops, const T* q, const std::vector<const void*>& places, Dim heads, Dim width, T scale, T* scores,
            Dim stride, T* out) {
  const auto keys = static_cast<Dim>(places.size());
  for (Dim j = 0; j < keys; ++j) {
    const T* const k = static_cast<const T*>(places[static_cast<std::size_t>(j)]);
    for (Dim h = 0; h < heads; ++h) scores[h * stride + j] = scale * loops.dot(q + h * width, k + h * width, width);
  }
  for (Dim h = 0; h < heads; ++h) {
    T* const row = scores + h * stride;
    T max = -std::numeric_limits<T>::infinity(), sum = T{0};
    if (keys > 0) loops.exponentials(row, keys, max, sum);
    loops.scale(row, row, sum == T{0} ? T{0} : T{1} / sum, keys);
  }
  std::fill_n(out, heads * width, T{0});
  for (Dim j = 0; j < keys; ++j) {
    const T* const v = static_cast<const T*>(places[static_cast<std::size_t>(j)]) + heads * width;
    for (Dim h = 0; h < heads; ++h) loops.add_scaled(v + h * width, out + h * width, scores[h * stride + j], width);
  }
}

}  // namespace

Array attention_cached(const Array& q, const std::vector<std::vector<const void*>>& places, Dim heads, double scale, Array* weights) {
  const Dim rows = q.dim(0), width = q.dim(2) / heads;
  Dim longest = 0, pairs = 0;
  for (const auto& row : places) {
    longest = std::max(longest, static_cast<Dim>(row.size()));
    pairs += static_cast<Dim>(row.size());
  }
  detail::count_flop(4.0 * static_cast<double>(pairs * heads * width));
  Array out(q.shape(), q.dtype());
  if (weights) *weights = Array::zeros({rows, heads, 1, longest}, q.dtype());
  dispatch(q.dtype(), [&]<class T>(T) {
    const AttentionRows<T> loops = attention_rows<T>();
    const T* const from = q.data<T>();
    T* const to = out.mutable_data<T>();
    T* const table = weights ? weights->mutable_data<T>() : nullptr;
    parallel_for(rows, pieces_a_thread(longest * heads * (2 * width + 16)), [&](Dim begin, Dim end) {
      Array scratch({heads, longest}, q.dtype());
      T* const scores = scratch.mutable_data<T>();
      for (Dim n = begin; n < end; ++n) {
        const auto& seen = places[static_cast<std::size_t>(n)];
        attend(loops, from + n * heads * width, seen, heads, width, static_cast<T>(scale), scores, longest, to + n * heads * width);
        for (Dim h = 0; table && h < heads; ++h) std::copy_n(scores + h * longest, seen.size(), table + (n * heads + h) * longest);
      }
    });
  });
  return out;
}

}  // namespace tapeform::kernels
