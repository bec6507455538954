#include <tapeform/core/parallel.hpp>
#include <tapeform/core/profile.hpp>

#include "kernels/accumulate.hpp"
#include "kernels/attention_tile.hpp"

namespace tapeform::kernels {
namespace {

constexpr Dim wanted_pieces = 8;  // of backward: fewer heads than this are shared out by keys too

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
        out_{result.out.data<T>(), plan.H * plan.value_width},
        dout_{dout.data<T>(), plan.H * plan.value_width},
        stats_{result.stats.data<T>(), plan.H * 2},
        look_q_(!heads_are_finite(inputs.q, plan.H * plan.width)),
        look_k_(!heads_are_finite(inputs.k, plan.H * plan.width)),
        look_dout_(!heads_are_finite({dout, plan.H * plan.value_width, 0}, plan.H * plan.value_width)),
        dots_array_(row_dots()),
        dots_{dots_array_.data<T>(), plan.H * 2} {}

  void run(const AttentionGradients& gradients);
  void run_bias(Array& dbias) const;

 private:
  // Queries and the gradients of their results, as products may use them; their D = Σ out·dout.
  struct LiveTile : QueryTile {
    CleanRows<T> q, dout;
    T dots[tile_queries];
  };

  const T* stats(const AttentionHead<T>& head, Dim query) const { return stats_[plan_.q_start(head.b) + query] + head.h * 2; }
  Rows<T> dout_rows(const AttentionHead<T>& head, Dim i) const {
    return {dout_[plan_.q_start(head.b) + i] + head.h * plan_.value_width, dout_.stride};
  }

  Array row_dots() const;
  LiveTile live_tile(const AttentionHead<T>& head, const QueryTile& all) const;
  void pack_keys(const AttentionHead<T>& head, const KeyTile& of, TileScratch<T>& scratch) const;
  void remake(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, TileScratch<T>& scratch) const;
  void add_keys(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, TileScratch<T>& scratch) const;
  void add_queries(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& packed, const CleanRows<T>& k,
                   const TileScratch<T>& scratch, MutableRows<T> dq) const;
  void run_keys(const AttentionHead<T>& head, const KeyTile& packed, TileScratch<T>& scratch, MutableRows<T> dq) const;
  void run_share(Dim pair, Dim share, TileScratch<T>& scratch) const;
  MutableRows<T> query_gradients(Dim b, Dim h, Dim share) const;
  void add_shares(Dim pair) const;
  void add_bias_slice(Dim slice, Dim first_tile, Dim last_tile, TileScratch<T>& scratch, T* dbias) const;
  void add_bias_tile(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, MutableRows<T> ds, T* dbias) const;

  Dim key_cost() const { return plan_.Tq * (6 * plan_.width + 4 * plan_.value_width + 16); }

  const AttentionPlan& plan_;
  const AttentionInputs& inputs_;
  AttentionLoops<T> loops_;
  Rows<T> out_, dout_, stats_;
  bool look_q_, look_k_, look_dout_;  // some number is inf or NaN
  Array dots_array_;
  Rows<T> dots_;  // of every row and head Σ out·dout, and 1 when it has a part in gradients
  T *dq_ = nullptr, *dk_ = nullptr, *dv_ = nullptr;
  Dim shares_ = 1;        // of the keys of a head: each adds into query gradients of its own
  T* partial_ = nullptr;  // those of the shares after the first: [B, H, shares - 1, Tq, width]
};

// Queries that see nothing and those whose result nobody used have no part in any gradient.
template <class T>
Array Backward<T>::row_dots() const {
  const Dim rows = plan_.q_start(plan_.B), width = plan_.value_width;
  Array dots({rows, plan_.H, 2}, dtype_of_v<T>);
  T* const to = dots.mutable_data<T>();
  parallel_for(rows, pieces_a_thread(plan_.H * width * 4), [this, width, to](Dim begin, Dim end) {
    for (Dim i = begin * plan_.H; i < end * plan_.H; ++i) {
      const T* const dout = dout_.data + i * width;
      const bool unused = stats_.data[2 * i + 1] == T{0} || std::all_of(dout, dout + width, [](T x) { return x == T{0}; });
      to[2 * i] = unused ? T{0} : loops_.rows.dot(dout, out_.data + i * width, width);
      to[2 * i + 1] = unused ? T{0} : T{1};
    }
  });
  return dots;
}

// The tile without the queries that have no part in any gradient: their rows may hold NaN.
template <class T>
typename Backward<T>::LiveTile Backward<T>::live_tile(const AttentionHead<T>& head, const QueryTile& all) const {
  const Rows<T> dout = dout_rows(head, all.first);
  LiveTile tile{all,
                {loops_.rows, {head.q[all.first], head.q.stride}, all.count, plan_.width, look_q_},
                {loops_.rows, dout, all.count, plan_.value_width, look_dout_},
                {}};
  tile.keys = 0;
  for (Dim i = 0; i < tile.count; ++i) {
    const T* const dot = dots_[plan_.q_start(head.b) + all.first + i] + head.h * 2;
    if (dot[1] == T{0}) tile.seen[i].limit = 0;
    tile.dots[i] = dot[0];
    tile.keys = std::max(tile.keys, tile.seen[i].limit);
  }
  return tile;
}

// kᵀ and vᵀ, for `remake`.
template <class T>
void Backward<T>::pack_keys(const AttentionHead<T>& head, const KeyTile& of, TileScratch<T>& scratch) const {
  head.pack_keys(of, scratch.k_panels);
  loops_.panels.pack(true, head.v[of.first], head.v.stride, plan_.value_width, of.count, scratch.v_panels);
}

// Weights into scratch.scores, dropped weights into scratch.dropped (the weights again, without dropout), dS into scratch.gradients.
template <class T>
void Backward<T>::remake(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, TileScratch<T>& scratch) const {
  const MutableRows<T> p = scratch.scores, ds = scratch.gradients;
  if (!plan_.drops()) scratch.dropped = p;
  head.scores(tile, of, scratch.k_panels, p);
  const Rows<T> dout = dout_rows(head, tile.first);
  loops_.panels.multiply({tile.count, of.count, plan_.value_width, T{1}, dout.data, dout.stride, 1, scratch.v_panels, plan_.value_width,
                          T{0}, ds.data, ds.stride});
  for (Dim i = 0; i < tile.count; ++i) {
    const Dim seen = tile.seen_in(of, i);
    head.weights(tile, of, i, stats(head, tile.first + i), p[i]);
    if (plan_.drops()) {
      head.drop(tile, of, i, p[i], scratch.dropped[i], scratch.words);
      loops_.rows.dropped_score_gradient(p[i], scratch.dropped[i], ds[i], static_cast<T>(plan_.dropout.factor), tile.dots[i], seen);
    } else {
      loops_.rows.score_gradient(p[i], ds[i], tile.dots[i], seen);
    }
    std::fill(ds[i] + seen, ds[i] + of.count, T{0});
  }
}

// dk += scale · dSᵀ·q and dv += P̃ᵀ·dout
template <class T>
void Backward<T>::add_keys(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& of, TileScratch<T>& scratch) const {
  const T scale = static_cast<T>(plan_.scale);
  const Dim row = plan_.k_start(head.b) + of.first, width = plan_.width, value_width = plan_.value_width;
  const MutableRows<T> p = scratch.dropped, ds = scratch.gradients;
  const MutableRows<T> dk = head_rows_of(dk_, inputs_.k, row, head.h, width), dv = head_rows_of(dv_, inputs_.v, row, head.h, value_width);
  loops_.panels.pack(false, tile.dout.rows.data, tile.dout.rows.stride, tile.count, value_width, scratch.dout_panels);
  loops_.panels.multiply(
      {of.count, value_width, tile.count, T{1}, p.data, 1, p.stride, scratch.dout_panels, tile.count, T{1}, dv.data, dv.stride});
  for (const Dim i : tile.dout.bad)
    for (Dim j = 0; j < of.count; ++j)
      if (head.sees(tile, i, of.first + j)) loops_.rows.add_scaled(dout_rows(head, tile.first)[i], dv[j], p[i][j], value_width);
  loops_.panels.pack(false, tile.q.rows.data, tile.q.rows.stride, tile.count, width, scratch.q_panels);
  loops_.panels.multiply(
      {of.count, width, tile.count, scale, ds.data, 1, ds.stride, scratch.q_panels, tile.count, T{1}, dk.data, dk.stride});
  for (const Dim i : tile.q.bad)
    for (Dim j = 0; j < of.count; ++j)
      if (head.sees(tile, i, of.first + j)) loops_.rows.add_scaled(head.q[tile.first + i], dk[j], scale * ds[i][j], width);
}

// dq += scale · dS·k
template <class T>
void Backward<T>::add_queries(const AttentionHead<T>& head, const LiveTile& tile, const KeyTile& packed, const CleanRows<T>& k,
                              const TileScratch<T>& scratch, MutableRows<T> dq) const {
  const T scale = static_cast<T>(plan_.scale);
  const KeyTile of = tile.keys_from(packed.first);
  const MutableRows<T> ds = scratch.gradients;
  loops_.panels.multiply({tile.count, plan_.width, of.count, scale, ds.data, ds.stride, 1, scratch.k_row_panels, packed.count, T{1},
                          dq[tile.first], dq.stride});
  for (const Dim j : k.bad)
    for (Dim i = 0; i < tile.count; ++i)
      if (j < of.count && head.sees(tile, i, of.first + j))
        loops_.rows.add_scaled(head.k[of.first + j], dq[tile.first + i], scale * ds[i][j], plan_.width);
}

// The first share adds where the result belongs, the others beside it.
template <class T>
MutableRows<T> Backward<T>::query_gradients(Dim b, Dim h, Dim share) const {
  if (share == 0) return head_rows_of(dq_, inputs_.q, plan_.q_start(b), h, plan_.width);
  return {partial_ + ((b * plan_.H + h) * (shares_ - 1) + share - 1) * plan_.Tq * plan_.width, plan_.width};
}

// All queries that see some of the packed keys.
template <class T>
void Backward<T>::run_keys(const AttentionHead<T>& head, const KeyTile& packed, TileScratch<T>& scratch, MutableRows<T> dq) const {
  const CleanRows<T> k(loops_.rows, {head.k[packed.first], head.k.stride}, packed.count, plan_.width, look_k_);
  pack_keys(head, packed, scratch);
  if (dq_) loops_.panels.pack(false, k.rows.data, k.rows.stride, packed.count, plan_.width, scratch.k_row_panels);
  for (Dim first = 0; first < head.queries; first += tile_queries) {
    const QueryTile all = head.tile(first);
    if (all.keys <= packed.first) continue;
    const LiveTile tile = live_tile(head, all);
    if (tile.keys <= packed.first) continue;
    const KeyTile of = tile.keys_from(packed.first);
    remake(head, tile, of, scratch);
    if (dk_) add_keys(head, tile, of, scratch);
    if (dq_) add_queries(head, tile, packed, k, scratch, dq);
  }
}

// Every tile of keys of a share, in order: tiles share, share + shares, …, so that causal work is shared out evenly.
template <class T>
void Backward<T>::run_share(Dim pair, Dim share, TileScratch<T>& scratch) const {
  const AttentionHead<T> head(plan_, loops_, inputs_, pair / plan_.H, pair % plan_.H);
  const MutableRows<T> dq = dq_ ? query_gradients(head.b, head.h, share) : MutableRows<T>{};
  for (Dim i = 0; dq_ && i < head.queries; ++i) std::fill_n(dq[i], plan_.width, T{0});
  for (Dim key = share * tile_keys; key < head.keys; key += shares_ * tile_keys) {
    const KeyTile packed{key, std::min(tile_keys, head.keys - key)};
    const Dim row = plan_.k_start(head.b) + key;
    for (Dim j = 0; dk_ && j < packed.count; ++j) {
      std::fill_n(head_rows_of(dk_, inputs_.k, row, head.h, plan_.width)[j], plan_.width, T{0});
      std::fill_n(head_rows_of(dv_, inputs_.v, row, head.h, plan_.value_width)[j], plan_.value_width, T{0});
    }
    run_keys(head, packed, scratch, dq);
  }
}

template <class T>
void Backward<T>::add_shares(Dim pair) const {
  const Dim b = pair / plan_.H, h = pair % plan_.H;
  const MutableRows<T> to = query_gradients(b, h, 0);
  for (Dim share = 1; share < shares_; ++share)
    for (Dim i = 0; i < plan_.q_count(b); ++i) loops_.rows.add_scaled(query_gradients(b, h, share)[i], to[i], T{1}, plan_.width);
}

template <class T>
void Backward<T>::run(const AttentionGradients& gradients) {
  dq_ = *gradients.dq ? gradients.dq->mutable_data<T>() : nullptr;
  dk_ = *gradients.dk ? gradients.dk->mutable_data<T>() : nullptr;
  dv_ = *gradients.dv ? gradients.dv->mutable_data<T>() : nullptr;
  const Dim pairs = plan_.B * plan_.H;
  if (pairs == 0) return;
  shares_ = std::clamp<Dim>((wanted_pieces + pairs - 1) / pairs, 1, std::max<Dim>(1, key_tiles(plan_)));
  Array partial;
  if (dq_ && shares_ > 1) {
    partial = Array({pairs * (shares_ - 1), plan_.Tq, plan_.width}, dtype_of_v<T>);
    partial_ = partial.mutable_data<T>();
  }
  const Dim cost = (plan_.Tk + shares_ - 1) / shares_ * key_cost();
  parallel_for(pairs * shares_, pieces_a_thread(cost), [this](Dim begin, Dim end) {
    TileScratch<T> scratch(plan_, loops_.panels, TileScratch<T>::backward);
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
      loops_.rows.add_scaled(ds[i], to, T{1}, of.count);
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
        const LiveTile tile = live_tile(head, head.tile(first));
        for (Dim key = 0; key < tile.keys; key += tile_keys) {
          pack_keys(head, tile.keys_from(key), scratch);
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
  parallel_for(sizes[0] * sizes[1] * parts, pieces_a_thread(plan_.Tk * key_cost() / parts),
               [this, sizes, parts, tiles_a_part, to](Dim begin, Dim end) {
                 TileScratch<T> scratch(plan_, loops_.panels, TileScratch<T>::backward);
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
