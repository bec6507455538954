#include <atomic>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/profile.hpp>

#include "kernels/attention_tile.hpp"

namespace tapeform::kernels {
namespace {

constexpr Dim group_tiles = 4;  // of queries, which share the packed keys of a tile

template <class T>
class Forward {
 public:
  Forward(const AttentionPlan& plan, const AttentionInputs& inputs, AttentionResult& result, Array* weights)
      : plan_(plan),
        inputs_(inputs),
        out_{result.out.mutable_data<T>(), plan.H * plan.value_width},
        stats_{result.stats.mutable_data<T>(), plan.H * 2},
        weights_(weights ? weights->mutable_data<T>() : nullptr),
        look_(!heads_are_finite(inputs.v, plan.H * plan.value_width)) {}

  void run() const {
    const Dim groups = (query_tiles(plan_) + group_tiles - 1) / group_tiles;
    const Dim queries = std::min(plan_.Tq, group_tiles * tile_queries),
              cost = queries * plan_.Tk * 2 * (plan_.width + plan_.value_width + 8);
    parallel_for(plan_.B * plan_.H * groups, pieces_a_thread(cost), [this, groups](Dim begin, Dim end) {
      TileScratch<T> scratch(plan_, loops_.panels, TileScratch<T>::forward);
      for (Dim piece = begin; piece < end; ++piece) {
        const Dim pair = piece / groups, first = piece % groups * group_tiles * tile_queries;
        const AttentionHead<T> head(plan_, loops_, inputs_, pair / plan_.H, pair % plan_.H);
        if (first < head.queries) run_group(head, Group(head, first), scratch);
      }
    });
  }

 private:
  // Tiles of queries from one on, and [0, keys) that any of them sees.
  struct Group {
    QueryTile tiles[group_tiles];
    Dim count = 0, keys = 0;

    Group(const AttentionHead<T>& head, Dim first) {
      for (; count < group_tiles && first < head.queries; first += tile_queries) {
        tiles[count] = head.tile(first);
        keys = std::max(keys, tiles[count++].keys);
      }
    }
    const QueryTile* begin() const { return tiles; }
    const QueryTile* end() const { return tiles + count; }
  };

  MutableRows<T> out_rows(const AttentionHead<T>& head, const QueryTile& tile) const {
    return {out_[plan_.q_start(head.b) + tile.first] + head.h * plan_.value_width, out_.stride};
  }
  MutableRows<T> stats_rows(const AttentionHead<T>& head, const QueryTile& tile) const {
    return {stats_[plan_.q_start(head.b) + tile.first] + head.h * 2, stats_.stride};
  }

  void run_group(const AttentionHead<T>& head, const Group& group, TileScratch<T>& scratch) const {
    for (const QueryTile& tile : group)
      for (Dim i = 0; i < tile.count; ++i) {
        stats_rows(head, tile)[i][0] = -std::numeric_limits<T>::infinity();
        stats_rows(head, tile)[i][1] = T{0};
      }
    for (Dim key = 0; key < group.keys; key += tile_keys) {
      const KeyTile packed{key, std::min(tile_keys, group.keys - key)};
      const CleanRows<T> v(loops_.rows, {head.v[key], head.v.stride}, packed.count, plan_.value_width, look_);
      head.pack_keys(packed, scratch.k_panels);
      loops_.panels.pack(false, v.rows.data, v.rows.stride, packed.count, plan_.value_width, scratch.v_panels);
      for (const QueryTile& tile : group)
        if (key < tile.keys) add_keys(head, tile, packed, v, scratch);
    }
    for (const QueryTile& tile : group)
      for (Dim i = 0; i < tile.count; ++i) finish_row(out_rows(head, tile)[i], stats_rows(head, tile)[i]);
    if (weights_) write_weights(head, group, scratch);
  }

  // The softmax is taken as keys go by: a larger maximum scales down what was added up before it (Milakov and Gimelshein, "Online
  // normalizer calculation for softmax", 2018, section 3).
  void add_keys(const AttentionHead<T>& head, const QueryTile& tile, const KeyTile& packed, const CleanRows<T>& v,
                TileScratch<T>& scratch) const {
    const KeyTile of = tile.keys_from(packed.first);
    const Dim width = plan_.value_width;
    const MutableRows<T> s = scratch.scores, out = out_rows(head, tile), stats = stats_rows(head, tile);
    head.scores(tile, of, scratch.k_panels, s);
    for (Dim i = 0; i < tile.count; ++i) {
      const Dim seen = tile.seen_in(of, i);
      const T factor = loops_.rows.exponentials(s[i], seen, stats[i][0], stats[i][1]);
      if (of.first > 0 && factor != T{1}) loops_.rows.scale(out[i], out[i], factor, width);
      std::fill(s[i] + seen, s[i] + of.count, T{0});
      if (plan_.drops()) head.drop(tile, of, i, s[i], s[i], scratch.words);
    }
    loops_.panels.multiply({tile.count, width, of.count, T{1}, s.data, s.stride, 1, scratch.v_panels, packed.count,
                            of.first > 0 ? T{1} : T{0}, out.data, out.stride});
    for (const Dim j : v.bad)
      for (Dim i = 0; i < tile.count; ++i)
        if (j < of.count && head.sees(tile, i, of.first + j)) loops_.rows.add_scaled(head.v[of.first + j], out[i], s[i][j], width);
  }

  void finish_row(T* out, T* stats) const {
    if (stats[1] == T{0}) {
      std::fill_n(out, plan_.value_width, T{0});
      stats[0] = T{0};
      return;
    }
    stats[1] = T{1} / stats[1];
    loops_.rows.scale(out, out, stats[1], plan_.value_width);
  }

  void write_weights(const AttentionHead<T>& head, const Group& group, TileScratch<T>& scratch) const {
    T* const table = weights_ + (head.b * plan_.H + head.h) * plan_.Tq * plan_.Tk;
    for (const QueryTile& tile : group)
      for (Dim i = 0; i < tile.count; ++i) std::fill_n(table + (tile.first + i) * plan_.Tk + tile.keys, plan_.Tk - tile.keys, T{0});
    for (Dim key = 0; key < group.keys; key += tile_keys) {
      head.pack_keys({key, std::min(tile_keys, group.keys - key)}, scratch.k_panels);
      for (const QueryTile& tile : group) {
        if (key >= tile.keys) continue;
        const KeyTile of = tile.keys_from(key);
        head.scores(tile, of, scratch.k_panels, scratch.scores);
        for (Dim i = 0; i < tile.count; ++i) {
          head.weights(tile, of, i, stats_rows(head, tile)[i], scratch.scores[i]);
          std::copy_n(scratch.scores[i], of.count, table + (tile.first + i) * plan_.Tk + key);
        }
      }
    }
  }

  const AttentionPlan& plan_;
  const AttentionInputs& inputs_;
  AttentionLoops<T> loops_;
  MutableRows<T> out_, stats_;
  T* weights_;
  bool look_;  // some value is inf or NaN
};

}  // namespace

bool heads_are_finite(const HeadRows& heads, Dim columns) {
  const Dim rows = heads.stride > 0 ? heads.array.numel() / heads.stride : 0;
  std::atomic<bool> finite{true};
  dispatch(heads.array.dtype(), [&]<class T>(T) {
    const auto is_finite = attention_rows<T>().is_finite;
    const T* const from = heads.array.data<T>() + heads.offset;
    parallel_for(rows, pieces_a_thread(columns), [&](Dim begin, Dim end) {
      for (Dim row = begin; row < end; ++row)
        if (!is_finite(from + row * heads.stride, columns)) finite.store(false, std::memory_order_relaxed);
    });
  });
  return finite.load(std::memory_order_relaxed);
}

double attention_pairs(const AttentionPlan& plan) {
  if (!detail::profiling()) return 0;
  double pairs = 0;
  for (Dim b = 0; b < plan.B; ++b)
    for (Dim i = 0; i < plan.q_count(b); ++i)
      pairs += static_cast<double>(std::min(plan.mask.row(b, 0, i, plan.Tq, plan.Tk).limit, plan.k_count(b)));
  return pairs * static_cast<double>(plan.H);
}

AttentionResult attention_forward(const AttentionPlan& plan, const AttentionInputs& inputs, Array* weights) {
  const DType dtype = inputs.q.array.dtype();
  const Dim rows = plan.q_start(plan.B);
  AttentionResult result{Array({rows, plan.H * plan.value_width}, dtype), Array({rows, plan.H, 2}, dtype)};
  if (weights) {
    const Shape shape{plan.B, plan.H, plan.Tq, plan.Tk};
    *weights = plan.packed() ? Array::zeros(shape, dtype) : Array(shape, dtype);
  }
  detail::count_flop(attention_pairs(plan) * 2 * static_cast<double>(plan.width + plan.value_width));
  dispatch(dtype, [&]<class T>(T) { Forward<T>(plan, inputs, result, weights).run(); });
  return result;
}

}  // namespace tapeform::kernels
