#include <tapeform/nn/attention.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/attention.hpp>
#include <tapeform/core/ops/attention_cache.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/packing.hpp>
#include <tapeform/core/tape.hpp>
#include <tapeform/nn/init.hpp>
#include <tapeform/nn/recorder.hpp>

#include "detail/checks.hpp"

namespace tapeform::nn {

namespace {

Dim checked_width(Dim num_hiddens, Dim num_heads) {
  if (num_hiddens < 1) throw ValueError(fmt::format("multi_head_attention: num_hiddens must be at least 1; got {}", num_hiddens));
  if (num_heads >= 1 && num_hiddens % num_heads == 0) return num_hiddens;
  std::string counts;
  for (Dim count = 1; count <= num_hiddens; ++count)
    if (num_hiddens % count == 0) counts += fmt::format("{}{}", counts.empty() ? "" : ", ", count);
  throw ValueError(
      fmt::format("multi_head_attention: num_heads must divide num_hiddens; got num_hiddens {}, num_heads {}. Counts that do: {}",
                  num_hiddens, num_heads, counts));
}

struct Sizes {
  Dim batch, q_time, k_time;
};

Dim longest(const Ids& lens) {
  const auto values = lens.values();
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

Sizes sizes_of(const Tensor& q, const Tensor& k, const MultiHeadAttentionCall& call) {
  if (call.q_lens.numel() == 0) return {q.dim(0), q.dim(1), k.dim(1)};
  return {call.q_lens.numel(), call.q_time ? call.q_time : longest(call.q_lens), call.k_time ? call.k_time : longest(call.k_lens)};
}

/// 1 for the rows of k that some query may attend to, in k's own layout; holds nothing when no row is hidden from all.
Ids rows_to_keep(const Mask& mask, const Sizes& sizes, const Ids& k_lens) {
  if (!mask) return {};
  Ids visible = mask.visible_keys(sizes.batch, sizes.q_time, sizes.k_time);  // [B, Tk]
  if (k_lens.numel() > 0) {
    std::vector<std::int64_t> rows;
    for (Dim b = 0; b < sizes.batch; ++b) {
      const auto sample = visible.values().subspan(static_cast<std::size_t>(b * sizes.k_time), static_cast<std::size_t>(k_lens[b]));
      rows.insert(rows.end(), sample.begin(), sample.end());
    }
    visible = Ids({1, static_cast<Dim>(rows.size())}, rows);  // [1, N]
  }
  return std::ranges::find(visible.values(), 0) == visible.values().end() ? Ids() : visible;
}

Tensor kept(const Tensor& x, const Ids& rows) {
  if (x.rank() == 3) return keep_rows(x, rows);
  return reshape(keep_rows(reshape(x, {1, x.dim(0), x.dim(1)}), rows), x.shape());
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(Dim num_hiddens, Dim num_heads, Rng& rng, const Options& options)
    : out_proj(checked_width(num_hiddens, num_heads), num_hiddens, rng, {.bias = options.bias}),
      num_hiddens_(num_hiddens),
      num_heads_(num_heads),
      kdim_(options.kdim ? options.kdim : num_hiddens),
      vdim_(options.vdim ? options.vdim : num_hiddens),
      dropout_(detail::checked_dropout("multi_head_attention", options.dropout)) {
  if (kdim_ < 1 || vdim_ < 1)
    throw ValueError(fmt::format("multi_head_attention: widths must be at least 1; got kdim {}, vdim {}", kdim_, vdim_));
  if (kdim_ == num_hiddens && vdim_ == num_hiddens) {
    in_proj_weight = Parameter(Array({3 * num_hiddens, num_hiddens}));
  } else {
    q_proj_weight = Parameter(Array({num_hiddens, num_hiddens}));
    k_proj_weight = Parameter(Array({num_hiddens, kdim_}));
    v_proj_weight = Parameter(Array({num_hiddens, vdim_}));
  }
  if (options.bias) in_proj_bias = Parameter(Array(Shape{3 * num_hiddens}));
  reset_in_proj(rng);
}

void MultiHeadAttention::reset_in_proj(Rng& rng) {
  for (Parameter* const weight : {&in_proj_weight, &q_proj_weight, &k_proj_weight, &v_proj_weight})
    if (*weight) weight->assign(xavier(weight->shape(), rng).cast(weight->dtype()));
  for (Parameter* const bias : {&in_proj_bias, &out_proj.bias})
    if (*bias) bias->assign(Array::zeros(bias->shape(), bias->dtype()));
}

void MultiHeadAttention::reset(Rng& rng) {
  out_proj.reset(rng);
  reset_in_proj(rng);
}

void MultiHeadAttention::check_inputs(const Tensor& q, const Tensor& k, const Tensor& v, const Call& call) const {
  const bool packed = call.q_lens.numel() > 0;
  if (packed != (call.k_lens.numel() > 0))
    throw ShapeError(fmt::format("multi_head_attention: q_lens and k_lens go together; got q_lens {}, k_lens {}", call.q_lens.shape().str(),
                                 call.k_lens.shape().str()));
  const int rank = packed ? 2 : 3;
  const bool ranks = q.rank() == rank && k.rank() == rank && v.rank() == rank;
  const bool widths = ranks && q.dim(-1) == num_hiddens_ && k.dim(-1) == kdim_ && v.dim(-1) == vdim_;
  const bool rows = ranks && k.dim(0) == v.dim(0) && (packed || (q.dim(0) == k.dim(0) && k.dim(1) == v.dim(1)));
  if (widths && rows) return;
  const char* const q_rows = packed ? "N" : "B, Tq";
  const char* const k_rows = packed ? "M" : "B, Tk";
  throw ShapeError(fmt::format("multi_head_attention: q must be [{}, {}], k [{}, {}], v [{}, {}]; got q {}, k {}, v {}", q_rows,
                               num_hiddens_, k_rows, kdim_, k_rows, vdim_, q.shape().str(), k.shape().str(), v.shape().str()));
}

/// Of a call that finds something in its cache.
void MultiHeadAttention::check_step(const Tensor& q, const Tensor& k, const Tensor& v, const Call& call) const {
  const auto is_row = [&q](const Tensor& x, Dim width) { return x.rank() == 3 && x.shape() == Shape{q.dim(0), 1, width}; };
  if (!is_row(q, num_hiddens_) || ((k || v) && !(is_row(k, kdim_) && is_row(v, vdim_))))
    throw ShapeError(
        fmt::format("multi_head_attention: with a cache, q must be [{}, 1, {}] and k, v one position a row or nothing; got q {}, "
                    "k {}, v {}",
                    call.cache->rows(), num_hiddens_, q.shape().str(), k.shape().str(), v.shape().str()));
  if (call.mask || call.bias)
    throw ValueError("multi_head_attention: a query sees all that its row of the cache holds; got a mask or a bias besides");
}

/// Checks a call; returns the rows of k to keep, as `rows_to_keep`.
Ids MultiHeadAttention::checked_rows(const Tensor& q, const Tensor& k, const Tensor& v, const Call& call) const {
  if (call.cache && !call.cache->empty()) {
    check_step(q, k, v, call);
    return {};
  }
  check_inputs(q, k, v, call);
  const Sizes sizes = sizes_of(q, k, call);
  call.mask.check("multi_head_attention", sizes.batch, num_heads_, sizes.q_time, sizes.k_time);
  Ids keep = rows_to_keep(call.mask, sizes, call.k_lens);
  if (call.cache && keep.numel() > 0)
    throw ValueError("multi_head_attention: a cache takes no rows that the mask hides from every query. Pack the rows (q_lens, k_lens)");
  return keep;
}

/// x through rows [first·E, last·E) of the packed projection.
Tensor MultiHeadAttention::project(const Tensor& x, Dim first, Dim last) const {
  const Dim begin = first * num_hiddens_, end = last * num_hiddens_;
  const Tensor bias = in_proj_bias ? slice(in_proj_bias, 0, begin, end) : Tensor();
  if (in_proj_weight) return linear(x, slice(in_proj_weight, 0, begin, end), bias);
  return linear(x, first == 0 ? q_proj_weight : first == 1 ? k_proj_weight : v_proj_weight, bias);
}

Tensor MultiHeadAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                                  const Ids& keep) const {
  const bool hides = keep.numel() > 0;
  const bool one_memory = in_proj_weight && k.is_same(v);
  if (one_memory && q.is_same(k) && !hides) return attention_qkv(linear(q, in_proj_weight, in_proj_bias), options);
  const Tensor keys = hides ? kept(k, keep) : k;
  const Tensor projected_q = project(q, 0, 1);
  if (one_memory) return attention_kv(projected_q, project(keys, 1, 3), options);
  const Tensor values = hides ? kept(v, keep) : v;
  const Tensor projected_k = project(keys, 1, 2);
  return attention(projected_q, projected_k, project(values, 2, 3), options);
}

Tensor MultiHeadAttention::attend_cached(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                                         KeyValueCache& cache) const {
  const bool first = cache.empty();
  const Tensor projected_q = project(q, 0, 1);
  if (k) {
    const Tensor kv = in_proj_weight && k.is_same(v) ? project(k, 1, 3) : concat({project(k, 1, 2), project(v, 2, 3)}, -1);
    cache.append(kv, options.k_lens);
    if (first) return attention_kv(projected_q, kv, options);
  }
  return cache.attend(projected_q, options);
}

Tensor MultiHeadAttention::forward(const Tensor& q, const Tensor& k, const Tensor& v, const Call& call) const {
  const Ids keep = checked_rows(q, k, v, call);
  const bool recorded = detail::wants_attention(this);
  Array recorded_weights;
  Array* const weights = recorded && !call.weights ? &recorded_weights : call.weights;
  const AttentionOptions options{.heads = num_heads_,
                                 .mask = call.mask,
                                 .bias = call.bias,
                                 .dropout = dropout_,
                                 .q_lens = call.q_lens,
                                 .k_lens = call.k_lens,
                                 .q_time = call.q_time,
                                 .k_time = call.k_time,
                                 .weights = weights};
  const Tensor context = call.cache ? attend_cached(q, k, v, options, *call.cache) : attend(q, k, v, options, keep);
  if (recorded) {
    detail::tell_attention(this, *weights);
    if (!call.cache && detail::wants_heads(this)) {
      const NoTape no_tape;
      detail::tell_heads(this, {context, project(v, 2, 3).value(), call.q_lens, call.k_lens});
    }
  }
  return out_proj(context);
}

Tensor split_heads(const Tensor& x, Dim num_heads) {
  if (x.rank() != 3 || num_heads < 1 || x.dim(2) % num_heads != 0)
    throw ShapeError(
        fmt::format("split_heads: x must be [B, T, E] with E a multiple of num_heads; got x {}, num_heads {}", x.shape().str(), num_heads));
  return permute(reshape(x, {x.dim(0), x.dim(1), num_heads, x.dim(2) / num_heads}), {0, 2, 1, 3});  // [B, H, T, E/H]
}

Tensor merge_heads(const Tensor& x) {
  if (x.rank() != 4) throw ShapeError(fmt::format("merge_heads: x must be [B, H, T, E/H]; got x {}", x.shape().str()));
  return reshape(permute(x, {0, 2, 1, 3}), {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});  // [B, T, E]
}

}  // namespace tapeform::nn
