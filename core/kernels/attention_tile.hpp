#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/attention_rows.hpp"
#include "kernels/panels.hpp"

namespace tapeform::kernels {

/// Scores are made in tiles of 64 queries by 256 keys: a few tables of them stay in a core's own cache beside what they multiply. The
/// keys of a tile are packed once for all the queries that meet them one after another.
inline constexpr Dim tile_queries = 64;
inline constexpr Dim tile_keys = 256;

/// Distance of rows of scores: whole vectors, and no multiple of a page, whose columns would share few places of the cache.
inline Dim score_stride(const AttentionPlan& plan) { return (std::min(plan.Tk, tile_keys) + 15) / 16 * 16 + 16; }

inline Dim query_tiles(const AttentionPlan& plan) { return (plan.Tq + tile_queries - 1) / tile_queries; }
inline Dim key_tiles(const AttentionPlan& plan) { return (plan.Tk + tile_keys - 1) / tile_keys; }

/// A matrix inside an array: rows `stride` apart.
template <class T>
struct Rows {
  const T* data = nullptr;
  Dim stride = 0;

  const T* operator[](Dim row) const { return data + row * stride; }
};
template <class T>
struct MutableRows {
  T* data = nullptr;
  Dim stride = 0;

  T* operator[](Dim row) const { return data + row * stride; }
};

template <class T>
Rows<T> head_rows(const HeadRows& heads, Dim first_row, Dim head, Dim width) {
  return {heads.array.data<T>() + first_row * heads.stride + heads.offset + head * width, heads.stride};
}

/// Rows as a product may use them: 0 stands in for those that hold inf or NaN, since 0 · NaN of a hidden row would reach the sum. What
/// the rows in `bad` hold is added one by one to those that see them.
template <class T>
struct CleanRows {
  Rows<T> rows;
  std::vector<Dim> bad;
  Array copy;

  CleanRows(const AttentionRows<T>& loops, Rows<T> from, Dim count, Dim width, bool look) : rows(from) {
    if (!look) return;
    for (Dim r = 0; r < count; ++r)
      if (!loops.is_finite(from[r], width)) bad.push_back(r);
    if (bad.empty()) return;
    copy = Array::zeros({count, width}, dtype_of_v<T>);
    T* const to = copy.mutable_data<T>();
    for (Dim r = 0; r < count; ++r)
      if (!std::binary_search(bad.begin(), bad.end(), r)) std::copy_n(from[r], width, to + r * width);
    rows = {to, width};
  }
};

/// Keys [first, first + count).
struct KeyTile {
  Dim first = 0, count = 0;
};

/// Queries [first, first + count) of a head, the keys that each sees, and [0, keys) that any of them sees.
struct QueryTile {
  Dim first = 0, count = 0, keys = 0;
  MaskRow seen[tile_queries];

  KeyTile keys_from(Dim key) const { return {key, std::min(tile_keys, keys - key)}; }
  /// How many keys of a tile lie before the end of what query i sees.
  Dim seen_in(const KeyTile& tile, Dim i) const { return std::clamp<Dim>(seen[i].limit - tile.first, 0, tile.count); }
};

/// The loops that attention is made of, at the vector level in use.
template <class T>
struct AttentionLoops {
  AttentionRows<T> rows = attention_rows<T>();
  Panels<T> panels = kernels::panels<T>();
};

/// One head of one sample: what its tiles have in common.
template <class T>
struct AttentionHead {
  const AttentionPlan& plan;
  const AttentionRows<T>& loops;
  const Panels<T>& panels;
  Dim b, h, queries, keys;
  Rows<T> q, k, v;
  const T* bias = nullptr;
  Dim bias_query = 0, bias_key = 0;  // distances of its elements

  AttentionHead(const AttentionPlan& of, const AttentionLoops<T>& with, const AttentionInputs& inputs, Dim sample, Dim head)
      : plan(of),
        loops(with.rows),
        panels(with.panels),
        b(sample),
        h(head),
        queries(of.q_count(b)),
        keys(of.k_count(b)),
        q(head_rows<T>(inputs.q, of.q_start(b), h, of.width)),
        k(head_rows<T>(inputs.k, of.k_start(b), h, of.width)),
        v(head_rows<T>(inputs.v, of.k_start(b), h, of.value_width)) {
    if (!inputs.bias) return;
    const Dim* const sizes = of.bias_sizes;
    const Dim table = (sizes[0] == 1 ? 0 : b) * sizes[1] + (sizes[1] == 1 ? 0 : h);
    bias = inputs.bias.data<T>() + table * sizes[2] * sizes[3];
    bias_query = sizes[2] == 1 ? 0 : sizes[3];
    bias_key = sizes[3] == 1 ? 0 : 1;
  }

  QueryTile tile(Dim first) const {
    QueryTile tile;
    tile.first = first;
    tile.count = std::min(tile_queries, queries - first);
    for (Dim i = 0; i < tile.count; ++i) {
      MaskRow& row = tile.seen[i] = plan.mask.row(b, h, first + i, plan.Tq, plan.Tk);
      row.limit = std::min(row.limit, keys);
      tile.keys = std::max(tile.keys, row.limit);
    }
    return tile;
  }

  bool sees(const QueryTile& tile, Dim i, Dim j) const {
    return tile.seen[i].sees(j) && !(bias && bias[(tile.first + i) * bias_query + j * bias_key] == -std::numeric_limits<T>::infinity());
  }

  /// kᵀ of a tile, for `scores`.
  void pack_keys(const KeyTile& of, T* k_panels) const { panels.pack(true, k[of.first], k.stride, plan.width, of.count, k_panels); }

  /// scale · q·kᵀ + bias for the keys of a tile; −inf where a query does not see one of those before its limit.
  void scores(const QueryTile& tile, const KeyTile& of, const T* k_panels, MutableRows<T> s) const {
    panels.multiply({tile.count, of.count, plan.width, static_cast<T>(plan.scale), q[tile.first], q.stride, 1, k_panels, plan.width, T{0},
                     s.data, s.stride});
    for (Dim i = 0; i < tile.count; ++i) {
      const Dim n = tile.seen_in(of, i);
      if (bias) add_bias(s[i], bias + (tile.first + i) * bias_query + of.first * bias_key, n);
      if (tile.seen[i].allowed) loops.hide(s[i], tile.seen[i].allowed + of.first, n);
    }
  }

  /// Scores of query i made into weights, 0 for keys that it does not see, even in a row of NaN.
  void weights(const QueryTile& tile, const KeyTile& of, Dim i, const T* stats, T* s) const {
    const Dim n = tile.seen_in(of, i);
    if (n > 0) loops.weights(s, n, stats[0], stats[1]);
    std::fill(s + n, s + of.count, T{0});
    if (std::isfinite(stats[0]) && std::isfinite(stats[1])) return;
    for (Dim j = 0; j < n; ++j)
      if (!sees(tile, i, of.first + j)) s[j] = T{0};
  }

  /// Weights dropped as the plan says, `to` from `from`; they may be the same row.
  void drop(const QueryTile& tile, const KeyTile& of, Dim i, const T* from, T* to, std::uint32_t* words) const {
    const Dim n = tile.seen_in(of, i);
    if (plan.dropout.threshold >> 32) {
      std::fill_n(to, n, T{0});
    } else {
      const Dim begin = ((b * plan.H + h) * plan.Tq + tile.first + i) * plan.Tk + of.first;
      dropout_words(plan.dropout, begin, begin + n, words);
      loops.drop(from, to, words, static_cast<std::uint32_t>(plan.dropout.threshold), static_cast<T>(plan.dropout.factor), n);
    }
    std::fill(to + n, to + of.count, T{0});
  }

 private:
  void add_bias(T* s, const T* row, Dim n) const {
    if (bias_key == 1) {
      loops.add_bias(s, row, n);
      return;
    }
    for (Dim j = 0; j < n; ++j) s[j] = *row == -std::numeric_limits<T>::infinity() ? *row : s[j] + *row;
  }
};

/// What a thread needs for tiles: released when its piece of work is done, to be taken again by the next.
template <class T>
struct TileScratch {
  enum Use { forward, backward };

  MutableRows<T> scores, gradients, dropped;
  T *k_panels = nullptr, *v_panels = nullptr;                              // forward: kᵀ, v; backward: kᵀ, vᵀ
  T *k_row_panels = nullptr, *q_panels = nullptr, *dout_panels = nullptr;  // backward: k, q, dout
  std::uint32_t* words = nullptr;

  TileScratch(const AttentionPlan& plan, const Panels<T>& panels, Use use) {
    const Dim keys = std::min(plan.Tk, tile_keys), queries = std::min(plan.Tq, tile_queries);
    const Dim stride = score_stride(plan), table = queries * stride, gradient_tables = use == forward ? 0 : plan.drops() ? 2 : 1;
    const Dim k_size = panels.packed_size(plan.width, keys), k_row_size = panels.packed_size(keys, plan.width);
    const Dim v_size = use == forward ? panels.packed_size(keys, plan.value_width) : panels.packed_size(plan.value_width, keys);
    const Dim q_size = panels.packed_size(queries, plan.width), dout_size = panels.packed_size(queries, plan.value_width);
    numbers_ =
        Array({(1 + gradient_tables) * table + k_size + v_size + (use == forward ? 0 : k_row_size + q_size + dout_size)}, dtype_of_v<T>);
    next_ = numbers_.template mutable_data<T>();
    scores = {take(table), stride};
    if (gradient_tables > 0) gradients = {take(table), stride};
    if (gradient_tables > 1) dropped = {take(table), stride};
    k_panels = take(k_size);
    v_panels = take(v_size);
    if (use == backward) {
      k_row_panels = take(k_row_size);
      q_panels = take(q_size);
      dout_panels = take(dout_size);
    }
    if (!plan.drops()) return;
    word_buffer_ = detail::BufferRef(static_cast<std::size_t>(keys) * sizeof(std::uint32_t));
    words = reinterpret_cast<std::uint32_t*>(word_buffer_.bytes());
  }

 private:
  T* take(Dim count) {
    T* const part = next_;
    next_ += count;
    return part;
  }

  Array numbers_;
  detail::BufferRef word_buffer_;
  T* next_ = nullptr;
};

/// True when the columns of all heads hold neither inf nor NaN.
bool heads_are_finite(const HeadRows& heads, Dim columns);

/// How many pieces of `cost` operations each make work that is worth handing to a thread.
inline Dim pieces_a_thread(Dim cost) { return std::max<Dim>(1, (Dim{1} << 19) / std::max<Dim>(1, cost)); }

}  // namespace tapeform::kernels
