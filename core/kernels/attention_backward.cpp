#include <tapeform/core/parallel.hpp>
#include <tapeform/core/profile.hpp>

#include "kernels/accumulate.hpp"
#include "kernels/attention_tile.hpp"

namespace tapeform::kernels {
namespace {

constexpr Dim wanted_pieces = 8;  // of backward: fewer heads than this are shared out by queries too

template <class T>
MutableRows<T> head_rows_of(T* base, const HeadRows& like, Dim first_row, Dim head, Dim width) {
  return {base + first_row * like.stride + like.offset + head * width, like.stride};
}

template <class T>
class Backward {
 public:
  Backward(const AttentionPlan& plan, const AttentionInputs& inputs, const AttentionResult& result, const Array& dout)
      : plan_(plan),
        inputs_(inputs),
        loops_(attention_rows<T>()),
        out_{result.out.data<T>(), plan.H * plan.value_width},
        dout_{dout.data<T>(), plan.H * plan.value_width},
        stats_{result.stats.data<T>(), plan.H * 2},
        look_q_(!heads_are_finite(inputs.q, plan.H * plan.width)),
        look_k_(!heads_are_finite(inputs.k, plan.H * plan.width)),
        look_dout_(!heads_are_finite({dout, plan.H * plan.value_width, 0}, plan.H * plan.value_width)) {}

  void run(const AttentionGradients& gradients);
  void run_bias(Array& dbias) const;

 private:
  struct KeyGradients {
    MutableRows<T> dk, dv;
  };
  // Queries and the gradients of their results, as products may use them; their D = Σ out·dout.
  struct LiveTile : QueryTile {
    CleanRows<T> q, dout;
    T dots[tile_queries];
  };

  const T* stats(const AttentionHead<T>& head, Dim query) const { return stats_[plan_.q_start(head.b) + query] + head.h * 2; }
  Rows<T> dout_rows(const AttentionHead<T>& head, Dim i) const {
    return {dout_[plan_.q_start(head.b) + i] + head.h * plan_.value_width, dout_.stride};
  }

  LiveTile live_tile(const AttentionHead<T>& head, Dim first) const;
  void remake(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, TileScratch<T>& scratch) const;
  void add_keys(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, const TileScratch<T>& scratch,
                const KeyGradients& to) const;
  void add_queries(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, const CleanRows<T>& k, MutableRows<T> ds,
                   MutableRows<T> dq) const;
  void run_share(Dim pair, Dim share, TileScratch<T>& scratch) const;
  KeyGradients key_gradients(Dim b, Dim h, Dim share) const;
  void add_shares(Dim pair) const;
  void add_bias_slice(Dim slice, Dim first_tile, Dim last_tile, TileScratch<T>& scratch, T* dbias) const;
  void add_bias_tile(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, MutableRows<T> ds, T* dbias) const;

  Dim tables() const { return plan_.drops() ? 3 : 2; }
  Dim tile_cost() const { return tile_queries * plan_.Tk * (6 * plan_.width + 4 * plan_.value_width + 16); }

  const AttentionPlan& plan_;
  const AttentionInputs& inputs_;
  AttentionRows<T> loops_;
  Rows<T> out_, dout_, stats_;
  bool look_q_, look_k_, look_dout_;  // some number is inf or NaN
  T *dq_ = nullptr, *dk_ = nullptr, *dv_ = nullptr;
  Dim shares_ = 1;        // of the queries of a head: each adds into key gradients of its own
  T* partial_ = nullptr;  // those of the shares after the first: [B, H, shares - 1, Tk, width + value_width]
};

// The tile without the queries that have no part in any gradient: those that see nothing, and those whose result nobody used. Their
// rows may hold NaN.
template <class T>
typename Backward<T>::LiveTile Backward<T>::live_tile(const AttentionHead<T>& head, Dim first) const {
  const Rows<T> dout = dout_rows(head, first);
  const QueryTile all = head.tile(first);
  LiveTile tile{all,
                {loops_, {head.q[first], head.q.stride}, all.count, plan_.width, look_q_},
                {loops_, dout, all.count, plan_.value_width, look_dout_},
                {}};
  tile.keys = 0;
  for (Dim i = 0; i < tile.count; ++i) {
    const T* const row = dout[i];
    const bool unused = std::all_of(row, row + plan_.value_width, [](T x) { return x == T{0}; });
    if (unused || stats(head, first + i)[1] == T{0})
      tile.seen[i].limit = 0;
    else
      tile.dots[i] = loops_.dot(row, out_[plan_.q_start(head.b) + first + i] + head.h * plan_.value_width, plan_.value_width);
    tile.keys = std::max(tile.keys, tile.seen[i].limit);
  }
  return tile;
}

// Weights into scratch.scores, dropped weights into scratch.dropped (the weights again, without dropout), dS into scratch.gradients.
template <class T>
void Backward<T>::remake(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, TileScratch<T>& scratch) const {
  const MutableRows<T> p = scratch.scores, ds = scratch.gradients;
  if (!plan_.drops()) scratch.dropped = p;
  head.scores(tile, of, p);
  const Rows<T> dout = dout_rows(head, tile.first);
  gemm<T>(false, true, tile.count, of.count, plan_.value_width, T{1}, dout.data, dout.stride, head.v[of.first], head.v.stride, T{0},
          ds.data, ds.stride);
  for (Dim i = 0; i < tile.count; ++i) {
    const Dim seen = tile.seen_in(of, i);
    head.weights(tile, of, i, stats(head, tile.first + i), p[i]);
    if (plan_.drops()) {
      head.drop(tile, of, i, p[i], scratch.dropped[i], scratch.words);
      loops_.dropped_score_gradient(p[i], scratch.dropped[i], ds[i], static_cast<T>(plan_.dropout.factor), tile.dots[i], seen);
    } else {
      loops_.score_gradient(p[i], ds[i], tile.dots[i], seen);
    }
    std::fill(ds[i] + seen, ds[i] + of.count, T{0});
  }
}

// dk += scale · dSᵀ·q and dv += P̃ᵀ·dout
template <class T>
void Backward<T>::add_keys(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, const TileScratch<T>& scratch,
                           const KeyGradients& to) const {
  const T scale = static_cast<T>(plan_.scale);
  const MutableRows<T> p = scratch.dropped, ds = scratch.gradients;
  gemm<T>(true, false, of.count, plan_.value_width, tile.count, T{1}, p.data, p.stride, tile.dout.rows.data, tile.dout.rows.stride, T{1},
          to.dv[of.first], to.dv.stride);
  for (const Dim i : tile.dout.bad)
    for (Dim j = 0; j < of.count; ++j)
      if (head.sees(tile, i, of.first + j))
        loops_.add_scaled(dout_rows(head, tile.first)[i], to.dv[of.first + j], p[i][j], plan_.value_width);
  gemm<T>(true, false, of.count, plan_.width, tile.count, scale, ds.data, ds.stride, tile.q.rows.data, tile.q.rows.stride, T{1},
          to.dk[of.first], to.dk.stride);
  for (const Dim i : tile.q.bad)
    for (Dim j = 0; j < of.count; ++j)
      if (head.sees(tile, i, of.first + j)) loops_.add_scaled(head.q[tile.first + i], to.dk[of.first + j], scale * ds[i][j], plan_.width);
}

// dq += scale · dS·k
template <class T>
void Backward<T>::add_queries(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, const CleanRows<T>& k,
                              MutableRows<T> ds, MutableRows<T> dq) const {
  const T scale = static_cast<T>(plan_.scale);
  gemm<T>(false, false, tile.count, plan_.width, of.count, scale, ds.data, ds.stride, k.rows[of.first], k.rows.stride,
          of.first > 0 ? T{1} : T{0}, dq.data, dq.stride);
  for (auto j = std::lower_bound(k.bad.begin(), k.bad.end(), of.first); j != k.bad.end() && *j < of.first + of.count; ++j)
    for (Dim i = 0; i < tile.count; ++i)
      if (head.sees(tile, i, *j)) loops_.add_scaled(head.k[*j], dq[i], scale * ds[i][*j - of.first], plan_.width);
}

// The first share adds where the result belongs, the others beside it.
template <class T>
typename Backward<T>::KeyGradients Backward<T>::key_gradients(Dim b, Dim h, Dim share) const {
  const Dim first = plan_.k_start(b);
  if (share == 0) return {head_rows_of(dk_, inputs_.k, first, h, plan_.width), head_rows_of(dv_, inputs_.v, first, h, plan_.value_width)};
  const Dim place = ((b * plan_.H + h) * (shares_ - 1) + share - 1) * plan_.Tk;
  T* const dk = partial_ + place * (plan_.width + plan_.value_width);
  return {{dk, plan_.width}, {dk + plan_.Tk * plan_.width, plan_.value_width}};
}

// Every tile of a share, in order: tiles share, share + shares, …, so that causal work is shared out evenly.
template <class T>
void Backward<T>::run_share(Dim pair, Dim share, TileScratch<T>& scratch) const {
  const AttentionHead<T> head(plan_, loops_, inputs_, pair / plan_.H, pair % plan_.H);
  const KeyGradients to = dk_ ? key_gradients(head.b, head.h, share) : KeyGradients{};
  for (Dim j = 0; dk_ && j < head.keys; ++j) {
    std::fill_n(to.dk[j], plan_.width, T{0});
    std::fill_n(to.dv[j], plan_.value_width, T{0});
  }
  const CleanRows<T> k(loops_, head.k, head.keys, plan_.width, look_k_);
  for (Dim first = share * tile_queries; first < head.queries; first += shares_ * tile_queries) {
    const LiveTile tile = live_tile(head, first);
    const MutableRows<T> dq = dq_ ? head_rows_of(dq_, inputs_.q, plan_.q_start(head.b) + first, head.h, plan_.width) : MutableRows<T>{};
    for (Dim key = 0; key < tile.keys; key += tile_keys) {
      const KeyTile of = tile.keys_from(key);
      remake(head, tile, of, scratch);
      if (dk_) add_keys(head, tile, of, scratch, to);
      if (dq_) add_queries(head, tile, of, k, scratch.gradients, dq);
    }
    for (Dim i = 0; dq_ && i < tile.count; ++i)
      if (tile.seen[i].limit == 0) std::fill_n(dq[i], plan_.width, T{0});
  }
}

template <class T>
void Backward<T>::add_shares(Dim pair) const {
  const Dim b = pair / plan_.H, h = pair % plan_.H;
  const KeyGradients to = key_gradients(b, h, 0);
  for (Dim share = 1; share < shares_; ++share) {
    const KeyGradients from = key_gradients(b, h, share);
    for (Dim j = 0; j < plan_.k_count(b); ++j) {
      loops_.add_scaled(from.dk[j], to.dk[j], T{1}, plan_.width);
      loops_.add_scaled(from.dv[j], to.dv[j], T{1}, plan_.value_width);
    }
  }
}

template <class T>
void Backward<T>::run(const AttentionGradients& gradients) {
  dq_ = *gradients.dq ? gradients.dq->mutable_data<T>() : nullptr;
  dk_ = *gradients.dk ? gradients.dk->mutable_data<T>() : nullptr;
  dv_ = *gradients.dv ? gradients.dv->mutable_data<T>() : nullptr;
  const Dim pairs = plan_.B * plan_.H;
  if (pairs == 0) return;
  shares_ = std::clamp<Dim>((wanted_pieces + pairs - 1) / pairs, 1, std::max<Dim>(1, query_tiles(plan_)));
  Array partial;
  if (dk_ && shares_ > 1) {
    partial = Array({pairs * (shares_ - 1), plan_.Tk, plan_.width + plan_.value_width}, dtype_of_v<T>);
    partial_ = partial.mutable_data<T>();
  }
  const Dim cost = (query_tiles(plan_) + shares_ - 1) / shares_ * tile_cost();
  parallel_for(pairs * shares_, pieces_a_thread(cost), [this](Dim begin, Dim end) {
    TileScratch<T> scratch(plan_, tables());
    for (Dim piece = begin; piece < end; ++piece) run_share(piece / shares_, piece % shares_, scratch);
  });
  if (partial)
    parallel_for(pairs, 1, [this](Dim begin, Dim end) {
      for (Dim pair = begin; pair < end; ++pair) add_shares(pair);
    });
}

template <class T>
void Backward<T>::add_bias_tile(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, MutableRows<T> ds, T* dbias) const {
  for (Dim i = 0; i < tile.count; ++i) {
    T* const to = dbias + (tile.first + i) * head.bias_query + of.first * head.bias_key;
    if (head.bias_key == 1)
      loops_.add_scaled(ds[i], to, T{1}, of.count);
    else
      for (Dim j = 0; j < of.count; ++j) *to += ds[i][j];
  }
}

// One table of the bias, from every sample and head that it was spread over, in order.
template <class T>
void Backward<T>::add_bias_slice(Dim slice, Dim first_tile, Dim last_tile, TileScratch<T>& scratch, T* dbias) const {
  const Dim* const sizes = plan_.bias_sizes;
  const Dim sample = slice / sizes[1], only_head = slice % sizes[1];
  for (Dim b = sizes[0] == 1 ? 0 : sample; b < (sizes[0] == 1 ? plan_.B : sample + 1); ++b)
    for (Dim h = sizes[1] == 1 ? 0 : only_head; h < (sizes[1] == 1 ? plan_.H : only_head + 1); ++h) {
      const AttentionHead<T> head(plan_, loops_, inputs_, b, h);
      for (Dim first = first_tile * tile_queries; first < std::min(last_tile * tile_queries, head.queries); first += tile_queries) {
        const LiveTile tile = live_tile(head, first);
        for (Dim key = 0; key < tile.keys; key += tile_keys) {
          remake(head, tile, tile.keys_from(key), scratch);
          add_bias_tile(head, tile, tile.keys_from(key), scratch.gradients, dbias);
        }
      }
    }
}

// A pass of its own: tables spread over samples or heads are added up in order, whatever thread makes them.
template <class T>
void Backward<T>::run_bias(Array& dbias) const {
  const Dim* const sizes = plan_.bias_sizes;
  const Dim tiles = query_tiles(plan_), parts = sizes[2] == 1 ? 1 : tiles, tiles_a_part = sizes[2] == 1 ? tiles : 1;
  T* const to = dbias.mutable_data<T>();
  std::fill_n(to, dbias.numel(), T{0});
  parallel_for(sizes[0] * sizes[1] * parts, pieces_a_thread(tiles_a_part * tile_cost()),
               [this, sizes, parts, tiles_a_part, to](Dim begin, Dim end) {
                 TileScratch<T> scratch(plan_, tables());
                 for (Dim piece = begin; piece < end; ++piece) {
                   const Dim slice = piece / parts, first = piece % parts * tiles_a_part;
                   add_bias_slice(slice, first, first + tiles_a_part, scratch, to + slice * sizes[2] * sizes[3]);
                 }
               });
}

}  // namespace

void attention_backward(const AttentionPlan& plan, const AttentionInputs& inputs, const AttentionResult& result, const Array& dout,
                        const AttentionGradients& gradients) {
  const Dim products = (*gradients.dq ? 1 : 0) * plan.width + (*gradients.dk ? 1 : 0) * (plan.width + plan.value_width);
  const Dim remade = ((products > 0 ? 1 : 0) + (*gradients.dbias ? 1 : 0)) * (plan.width + plan.value_width);
  detail::count_flop(attention_pairs(plan) * 2 * static_cast<double>(products + remade));
  dispatch(dout.dtype(), [&]<class T>(T) {
    Backward<T> backward(plan, inputs, result, dout);
    if (*gradients.dq || *gradients.dk) backward.run(gradients);
    if (*gradients.dbias) backward.run_bias(*gradients.dbias);
  });
}

}  // namespace tapeform::kernels
