#include <atomic>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/profile.hpp>

#include "kernels/attention_tile.hpp"

namespace tapeform::kernels {
namespace {

template <class T>
class Forward {
 public:
  Forward(const AttentionPlan& plan, const AttentionInputs& inputs, AttentionResult& result, Array* weights)
      : plan_(plan),
        inputs_(inputs),
        loops_(attention_rows<T>()),
        out_{result.out.mutable_data<T>(), plan.H * plan.value_width},
        stats_{result.stats.mutable_data<T>(), plan.H * 2},
        weights_(weights ? weights->mutable_data<T>() : nullptr),
        look_(!heads_are_finite(inputs.v, plan.H * plan.value_width)) {}

  void run() const {
    const Dim tiles = query_tiles(plan_), cost = tile_queries * plan_.Tk * 2 * (plan_.width + plan_.value_width + 8);
    parallel_for(plan_.B * plan_.H * tiles, pieces_a_thread(cost), [this, tiles](Dim begin, Dim end) {
      TileScratch<T> scratch(plan_, 1);
      for (Dim piece = begin; piece < end; ++piece) {
        const Dim pair = piece / tiles, first = piece % tiles * tile_queries;
        const AttentionHead<T> head(plan_, loops_, inputs_, pair / plan_.H, pair % plan_.H);
        if (first < head.queries) run_tile(head, head.tile(first), scratch);
      }
    });
  }

 private:
  // The softmax is taken as keys go by: a larger maximum scales down what was added up before it (Milakov and Gimelshein, "Online
  // normalizer calculation for softmax", 2018, section 3).
  void run_tile(const AttentionHead<T>& head, const QueryTile& tile, TileScratch<T>& scratch) const {
    const Dim row = plan_.q_start(head.b) + tile.first, width = plan_.value_width;
    const MutableRows<T> s = scratch.scores, out{out_[row] + head.h * width, out_.stride}, stats{stats_[row] + head.h * 2, stats_.stride};
    for (Dim i = 0; i < tile.count; ++i) {
      stats[i][0] = -std::numeric_limits<T>::infinity();
      stats[i][1] = T{0};
    }
    for (Dim key = 0; key < tile.keys; key += tile_keys) {
      const KeyTile of = tile.keys_from(key);
      head.scores(tile, of, s);
      for (Dim i = 0; i < tile.count; ++i) {
        const Dim seen = tile.seen_in(of, i);
        const T factor = loops_.exponentials(s[i], seen, stats[i][0], stats[i][1]);
        if (key > 0 && factor != T{1}) loops_.scale(out[i], out[i], factor, width);
        std::fill(s[i] + seen, s[i] + of.count, T{0});
        if (plan_.drops()) head.drop(tile, of, i, s[i], s[i], scratch.words);
      }
      add_values(head, tile, of, s, out);
    }
    for (Dim i = 0; i < tile.count; ++i) finish_row(out[i], stats[i]);
    if (weights_) write_weights(head, tile, stats, s);
  }

  void add_values(const AttentionHead<T>& head, const QueryTile& tile, const KeyTile& of, MutableRows<T> s, MutableRows<T> out) const {
    const CleanRows<T> v(loops_, {head.v[of.first], head.v.stride}, of.count, plan_.value_width, look_);
    gemm<T>(false, false, tile.count, plan_.value_width, of.count, T{1}, s.data, s.stride, v.rows.data, v.rows.stride,
            of.first > 0 ? T{1} : T{0}, out.data, out.stride);
    for (const Dim j : v.bad)
      for (Dim i = 0; i < tile.count; ++i)
        if (head.sees(tile, i, of.first + j)) loops_.add_scaled(head.v[of.first + j], out[i], s[i][j], plan_.value_width);
  }

  void finish_row(T* out, T* stats) const {
    if (stats[1] == T{0}) {
      std::fill_n(out, plan_.value_width, T{0});
      stats[0] = T{0};
      return;
    }
    stats[1] = T{1} / stats[1];
    loops_.scale(out, out, stats[1], plan_.value_width);
  }

  void write_weights(const AttentionHead<T>& head, const QueryTile& tile, MutableRows<T> stats, MutableRows<T> s) const {
    const MutableRows<T> to{weights_ + ((head.b * plan_.H + head.h) * plan_.Tq + tile.first) * plan_.Tk, plan_.Tk};
    for (Dim i = 0; i < tile.count; ++i) std::fill(to[i] + tile.keys, to[i] + plan_.Tk, T{0});
    for (Dim key = 0; key < tile.keys; key += tile_keys) {
      const KeyTile of = tile.keys_from(key);
      head.scores(tile, of, s);
      for (Dim i = 0; i < tile.count; ++i) {
        head.weights(tile, of, i, stats[i], s[i]);
        std::copy_n(s[i], of.count, to[i] + key);
      }
    }
  }

  const AttentionPlan& plan_;
  const AttentionInputs& inputs_;
  AttentionRows<T> loops_;
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
