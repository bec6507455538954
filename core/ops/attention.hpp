#pragma once
#include <tapeform/core/ids.hpp>
#include <tapeform/core/mask.hpp>
#include <tapeform/core/tensor.hpp>

namespace tapeform {

struct AttentionOptions {
  Dim heads = 1;             ///< must divide the widths of queries and of values
  Mask mask = {};            ///< true = may attend
  Tensor bias = {};          ///< added to the scaled scores: [Tq or 1, Tk or 1] or [B or 1, H or 1, Tq or 1, Tk or 1]; −inf hides
  double dropout = 0;        ///< probability that a weight is set to 0 (the others grow by 1/(1 − p)); only under a `Tape tape(rng)`
  double scale = 0;          ///< factor of the scores; 0: 1/√(width of a head)
  Ids q_lens = {};           ///< [B], with k_lens: queries are packed rows [Σ q_lens, E], in batch order
  Ids k_lens = {};           ///< [B]: keys and values are packed rows
  Dim q_time = 0;            ///< Tq of masks, bias, dropout and weights when rows are packed; 0: the longest of q_lens
  Dim k_time = 0;            ///< Tk likewise
  Array* weights = nullptr;  ///< receives the weights [B, H, Tq, Tk], before dropout; asking changes no bit of the result
};

/// Scaled dot-product attention of H heads, side by side in the last axis of q, k, v (head h has columns [h·d, (h + 1)·d)):
///
///     S = scale · q·kᵀ + bias     P = softmax over the keys that the mask allows     out = dropout(P)·v
///
/// Shapes: q [B, Tq, E], k [B, Tk, E], v [B, Tk, Ev] → [B, Tq, Ev]. Packed (`q_lens`, `k_lens`): [N, E], [M, E], [M, Ev] → [N, Ev];
/// packed rows give what the padded ones would, without their padding.
///
/// A query that sees nothing has weights, context and gradients 0. A key hidden from a query changes no bit of its result nor of
/// gradients that come from it, whatever k and v hold there; queries that see it get what it holds. A query whose gradient is 0
/// everywhere adds nothing to any gradient, even when its row is NaN. A weight of exactly 0 passes no gradient to its score.
///
/// Derivative, with P̃ = dropout(P), D = Σ out·dout over a head's width:
///
///     dv = P̃ᵀ·dout     dS = P ∘ (dropout(dout·vᵀ) − D)     dq = scale·dS·k     dk = scale·dSᵀ·q     dbias = dS, summed where it was spread
///
/// Scores are made in tiles of queries, and made again in backward, so memory grows with Tq + Tk; two numbers a row are kept.
/// Dropout treats element (b, h, i, j) as `dropout(P, p)` on [B, H, Tq, Tk] would, row-major.
///
/// @throws ShapeError for widths that heads do not divide, and for shapes, a mask or a bias that do not fit; DTypeError for two
/// dtypes; ValueError for dropout outside [0, 1], a scale that is not finite, lengths over the rows that there are; TapeError for
/// dropout under a tape without randomness.
/// Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2; tiles with recomputation: Dao et al., "FlashAttention",
/// 2022, section 3.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});

/// Self-attention on a packed projection qkv [B, T, 3E] (or [N, 3E] with q_lens = k_lens), columns q, k, v in this order, → [B, T, E].
/// Same numbers as `attention` on the three slices; the gradient is written into one dqkv.
Tensor attention_qkv(const Tensor& qkv, const AttentionOptions& options = {});

/// Cross-attention on q [B, Tq, E] and a packed kv [B, Tk, 2E], columns k, v in this order, → [B, Tq, E].
Tensor attention_kv(const Tensor& q, const Tensor& kv, const AttentionOptions& options = {});

}  // namespace tapeform
