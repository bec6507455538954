#include "detail/steps.hpp"

#include <cmath>
#include <fmt/format.h>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/softmax.hpp>

namespace tapeform::pages::detail {

namespace {

/// Rows [part·E, (part + 1)·E) of the packed projection, or the weight that stands by itself.
Tensor project(const nn::MultiHeadAttention& attention, const Tensor& x, Dim part) {
  const Dim width = attention.num_hiddens(), begin = part * width, end = begin + width;
  const Tensor bias = attention.in_proj_bias ? slice(attention.in_proj_bias, 0, begin, end) : Tensor();
  if (attention.in_proj_weight) return linear(x, slice(attention.in_proj_weight, 0, begin, end), bias);
  return linear(x, part == 0 ? attention.q_proj_weight : part == 1 ? attention.k_proj_weight : attention.v_proj_weight, bias);
}

std::string projection(const char* result, const char* input, const char* name, bool bias) {
  return fmt::format("{} = {}·W{}ᵀ{}", result, input, name, bias ? fmt::format(" + b{}", name) : "");
}

/// 1 where a query may attend, [H, Tq, Tk], or [Tq, Tk] when all heads see the same.
Array mask_table(const Mask& mask, Dim heads, Dim queries, Dim keys) {
  Array table = Array::zeros({heads, queries, keys});
  bool same = true;
  table.write<float>([&](std::span<float> cells) {
    std::size_t at = 0;
    for (Dim h = 0; h < heads; ++h)
      for (Dim i = 0; i < queries; ++i) {
        const MaskRow row = mask.row(0, h, i, queries, keys);
        for (Dim j = 0; j < keys; ++j, ++at) {
          cells[at] = row.sees(j) ? 1.0f : 0.0f;
          same = same && cells[at] == cells[at % static_cast<std::size_t>(queries * keys)];
        }
      }
  });
  return same ? table.rows(0, 1).reshape({queries, keys}) : table;
}

void inputs(Steps& steps, const Tensor& q, const Tensor& k, const Tensor& v, const Steps::Tokens& queries, const Steps::Tokens& keys) {
  if (q.is_same(k) && k.is_same(v)) return steps.add("queries, keys and values", "X, three times", "[T, E]", q, queries);
  steps.add("queries", "Xq", "[Tq, E]", q, queries);
  if (k.is_same(v)) return steps.add("keys and values", "Xk = Xv", "[Tk, E]", k, keys);
  steps.add("keys", "Xk", "[Tk, Ek]", k, keys);
  steps.add("values", "Xv", "[Tk, Ev]", v, keys);
}

}  // namespace

void Steps::add(const std::string& title, const std::string& formula, const std::string& axes, const Tensor& values, const Tokens& rows,
                const Tokens& columns, bool weights) {
  Array numbers = values.value();
  const Shape& shape = numbers.shape();
  if (shape.rank() == 4)
    numbers = numbers.reshape({shape[1], shape[2], shape[3]});
  else if (shape.rank() == 3 && shape[0] == 1)
    numbers = numbers.reshape({shape[1], shape[2]});
  panels_.push_back({.title = prefix_ + title,
                     .formula = formula,
                     .axes = axes,
                     .values = numbers,
                     .rows = rows,
                     .columns = columns,
                     .weights = weights});
}

Tensor attention_steps(Steps& steps, const nn::MultiHeadAttention& attention, const Tensor& q, const Tensor& k, const Tensor& v,
                       const Mask& mask, const Steps::Tokens& queries, const Steps::Tokens& keys) {
  const Dim heads = attention.num_heads(), head_width = attention.num_hiddens() / heads;
  mask.check("explain", 1, heads, q.dim(1), k.dim(1));
  const bool bias = static_cast<bool>(attention.in_proj_bias), one = q.is_same(k) && k.is_same(v);
  inputs(steps, q, k, v, queries, keys);

  const Tensor projected_q = project(attention, q, 0), projected_k = project(attention, k, 1), projected_v = project(attention, v, 2);
  const std::string columns = fmt::format("; head h has columns h·{0} to h·{0} + {1}", head_width, head_width - 1);
  steps.add("projected queries", projection("Q", one ? "X" : "Xq", "q", bias) + columns, "[Tq, E]", projected_q, queries);
  steps.add("projected keys", projection("K", one ? "X" : "Xk", "k", bias), "[Tk, E]", projected_k, keys);
  steps.add("projected values", projection("V", one ? "X" : "Xv", "v", bias), "[Tk, E]", projected_v, keys);

  const Tensor heads_q = nn::split_heads(projected_q, heads), heads_k = nn::split_heads(projected_k, heads);  // [1, H, T, E/H]
  const Tensor scores = matmul(heads_q, heads_k, {.transpose_b = true});                                      // [1, H, Tq, Tk]
  steps.add("scores", "Q·Kᵀ, of each head", "[H, Tq, Tk]", scores, queries, keys);
  const Tensor scaled = scores * (1.0 / std::sqrt(static_cast<double>(head_width)));
  steps.add("scaled scores", fmt::format("S = Q·Kᵀ/√{}: the root of a head's width", head_width), "[H, Tq, Tk]", scaled, queries, keys);
  const Array table = mask_table(mask, heads, q.dim(1), k.dim(1));
  steps.add("mask", "1: may attend", table.rank() == 2 ? "[Tq, Tk]" : "[H, Tq, Tk]", table, queries, keys, true);
  const Tensor weights = masked_softmax(scaled, mask);
  steps.add("weights", "P = softmax of S over the keys that the mask allows: a row sums to 1", "[H, Tq, Tk]", weights, queries, keys, true);
  const Tensor contexts = matmul(weights, nn::split_heads(projected_v, heads));  // [1, H, Tq, E/H]
  steps.add("output of a head", "O = P·V", "[H, Tq, E/H]", contexts, queries);
  const Tensor joined = nn::merge_heads(contexts);  // [1, Tq, E]
  steps.add("heads joined", "O of all heads, side by side", "[Tq, E]", joined, queries);
  const Tensor output = linear(joined, attention.out_proj.weight, attention.out_proj.bias);
  steps.add("output", projection("Y", "O", "o", static_cast<bool>(attention.out_proj.bias)), "[Tq, E]", output, queries);
  return output;
}

}  // namespace tapeform::pages::detail
