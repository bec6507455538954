#pragma once
#include <tapeform/core/array.hpp>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/mask.hpp>
#include <vector>

#include "kernels/dropout.hpp"

namespace tapeform::kernels {

/// Heads inside the rows of an array: head h of row r begins at `r * stride + offset + h * width` elements.
struct HeadRows {
  Array array;
  Dim stride = 0;
  Dim offset = 0;
};

/// Everything about one attention but its numbers.
struct AttentionPlan {
  Dim B = 0, H = 0, Tq = 0, Tk = 0;
  Dim width = 0;        // of a head of q and k
  Dim value_width = 0;  // of a head of v
  double scale = 1;
  Mask mask;
  Ids q_starts, k_starts;  // [B + 1]: where a sample's rows begin, when they are packed; empty: sample b begins at b * T
  Dim bias_sizes[4] = {};  // [B or 1, H or 1, Tq or 1, Tk or 1]
  DropoutDraw dropout;     // over [B, H, Tq, Tk]; threshold 0: none

  bool drops() const noexcept { return dropout.threshold > 0; }
  bool packed() const noexcept { return q_starts.numel() > 0; }
  Dim q_start(Dim b) const noexcept { return packed() ? q_starts.values()[static_cast<std::size_t>(b)] : b * Tq; }
  Dim k_start(Dim b) const noexcept { return packed() ? k_starts.values()[static_cast<std::size_t>(b)] : b * Tk; }
  Dim q_count(Dim b) const noexcept { return q_start(b + 1) - q_start(b); }
  Dim k_count(Dim b) const noexcept { return k_start(b + 1) - k_start(b); }
};

/// What forward reads, and backward reads again.
struct AttentionInputs {
  HeadRows q, k, v;
  Array bias;  // may hold nothing
};

/// out [rows of q, H * value_width]; stats [rows of q, H, 2]: of every row of scores the number taken out before exp, and one over
/// the sum of exp, 0 for a query that sees nothing.
struct AttentionResult {
  Array out, stats;
};

/// Pairs of a query and a key before the end of what it sees, over all samples and heads: what a Profile counts products by; 0 without one.
double attention_pairs(const AttentionPlan& plan);

/// `weights`, if given, receives [B, H, Tq, Tk], before dropout.
AttentionResult attention_forward(const AttentionPlan& plan, const AttentionInputs& inputs, Array* weights);

/// Where gradients are written, every row that a sample has: arrays that hold nothing are left out; dk and dv come together. Packed
/// projections have one array in two or three of them.
struct AttentionGradients {
  Array* dq;
  Array* dk;
  Array* dv;
  Array* dbias;
};

/// Attention of one query a row, q [N, 1, E], to the positions at places[n]: each has E numbers of k and E of v, head by head.
/// `weights`, if given, receives [N, H, 1, longest row], zeros beyond a row's end.
Array attention_cached(const Array& q, const std::vector<std::vector<const void*>>& places, Dim heads, double scale, Array* weights);

void attention_backward(const AttentionPlan& plan, const AttentionInputs& inputs, const AttentionResult& result, const Array& dout,
                        const AttentionGradients& gradients);

}  // namespace tapeform::kernels
