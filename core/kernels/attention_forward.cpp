#include <atomic>
#include <tapeform/core/parallel.hpp>

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
    const Dim tiles = (plan_.Tq + tile_queries(plan_) - 1) / tile_queries(plan_);
    const Dim cost = tile_queries(plan_) * plan_.Tk * 2 * (plan_.width + plan_.value_width + 8);
    parallel_for(plan_.B * plan_.H * tiles, pieces_a_thread(cost), [this, tiles](Dim begin, Dim end) {
      TileScratch<T> scratch(plan_, 1);
      for (Dim piece = begin; piece < end; ++piece) {
        const Dim pair = piece / tiles, first = piece % tiles * tile_queries(plan_);
        const AttentionHead<T> head(plan_, loops_, inputs_, pair / plan_.H, pair % plan_.H);
        if (first < head.queries) run_tile(head, head.tile(first), scratch);
      }
    });
  }

 private:
  void run_tile(const AttentionHead<T>& head, const QueryTile& tile, TileScratch<T>& scratch) const {
    const Dim row = plan_.q_start(head.b) + tile.first, width = plan_.value_width;
    const MutableRows<T> s = scratch.scores, out{out_[row] + head.h * width, out_.stride}, stats{stats_[row] + head.h * 2, stats_.stride};
    head.scores(tile, s);
    for (Dim i = 0; i < tile.count; ++i) {
      const Dim seen = tile.seen[i].limit;
      loops_.exponentials(s[i], seen, stats[i]);
      std::fill(s[i] + seen, s[i] + tile.keys, T{0});
      if (weights_) write_weights(head, tile, i, s[i], stats[i][1]);
      if (plan_.drops()) head.drop(tile, i, s[i], s[i], scratch.words);
    }
    add_values(head, tile, s, out);
    for (Dim i = 0; i < tile.count; ++i) {
      if (stats[i][1] == T{0})
        std::fill_n(out[i], width, T{0});
      else
        loops_.scale(out[i], out[i], stats[i][1], width);
    }
  }

  void add_values(const AttentionHead<T>& head, const QueryTile& tile, MutableRows<T> s, MutableRows<T> out) const {
    const CleanRows<T> v(loops_, head.v, tile.keys, plan_.value_width, look_);
    gemm<T>(false, false, tile.count, plan_.value_width, tile.keys, T{1}, s.data, s.stride, v.rows.data, v.rows.stride, T{0}, out.data,
            out.stride);
    for (const Dim j : v.bad)
      for (Dim i = 0; i < tile.count; ++i)
        if (head.sees(tile, i, j)) loops_.add_scaled(head.v[j], out[i], s[i][j], plan_.value_width);
  }

  void write_weights(const AttentionHead<T>& head, const QueryTile& tile, Dim i, const T* s, T inverse) const {
    T* const to = weights_ + ((head.b * plan_.H + head.h) * plan_.Tq + tile.first + i) * plan_.Tk;
    loops_.scale(s, to, inverse, tile.keys);
    std::fill(to + tile.keys, to + plan_.Tk, T{0});
    if (!std::isfinite(inverse)) head.clear_hidden(tile, i, to);
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

AttentionResult attention_forward(const AttentionPlan& plan, const AttentionInputs& inputs, Array* weights) {
  const DType dtype = inputs.q.array.dtype();
  const Dim rows = plan.q_start(plan.B);
  AttentionResult result{Array({rows, plan.H * plan.value_width}, dtype), Array({rows, plan.H, 2}, dtype)};
  if (weights) {
    const Shape shape{plan.B, plan.H, plan.Tq, plan.Tk};
    *weights = plan.packed() ? Array::zeros(shape, dtype) : Array(shape, dtype);
  }
  dispatch(dtype, [&]<class T>(T) { Forward<T>(plan, inputs, result, weights).run(); });
  return result;
}

}  // namespace tapeform::kernels
