#pragma once
#include <tapeform/core/ids.hpp>
#include <tapeform/core/mask.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/nn/linear.hpp>

namespace tapeform {
struct AttentionOptions;
class KeyValueCache;
}  // namespace tapeform

namespace tapeform::nn {

struct MultiHeadAttentionOptions {
  double dropout = 0.0;  ///< of the attention weights
  bool bias = true;      ///< of all four projections
  Dim kdim = 0;          ///< width of the keys; 0: num_hiddens
  Dim vdim = 0;          ///< width of the values; 0: num_hiddens
};

struct MultiHeadAttentionCall {
  Mask mask = {};                  ///< which keys a query may attend to; all when empty
  Tensor bias = {};                ///< added to the scores: [Tq|1, Tk|1] or [B|1, H|1, Tq|1, Tk|1]
  Array* weights = nullptr;        ///< receives the attention weights, before dropout: [B, H, Tq, Tk]
  Ids q_lens = {};                 ///< [B]: q is packed rows as `pack_rows` makes them, and so is the result
  Ids k_lens = {};                 ///< [B], with q_lens: k and v are packed rows
  Dim q_time = 0, k_time = 0;      ///< Tq and Tk of mask, bias and weights when rows are packed; 0: the longest length
  KeyValueCache* cache = nullptr;  ///< keys and values of earlier calls, to which this one adds its own
};

/// Attention of H heads side by side (Vaswani et al., 2017, section 3.2): with q, k, v projected and head h taking columns
/// [h·E/H, (h+1)·E/H), out = concat_h(softmax(q_h·k_hᵀ/√(E/H))·v_h)·Woᵀ + bo.
///
/// Parameters and their first values are torch's nn.MultiheadAttention. A query that may attend to nothing gives the bias of the out
/// projection. Keys that are hidden from every query are taken out before the projections, so that nothing of them reaches a gradient.
struct MultiHeadAttention : Module<MultiHeadAttention> {
  using Options = MultiHeadAttentionOptions;
  using Call = MultiHeadAttentionCall;

  Parameter in_proj_weight;  ///< [3E, E]: rows for q, for k, for v; nothing when keys or values have a width of their own
  Parameter q_proj_weight;   ///< [E, E], k_proj_weight [E, kdim], v_proj_weight [E, vdim]: only then
  Parameter k_proj_weight, v_proj_weight;
  Parameter in_proj_bias;  ///< [3E], or nothing
  Linear out_proj;         ///< [E, E]

  /// @throws ValueError unless num_heads divides num_hiddens (the text lists the counts that do) and dropout is a probability.
  MultiHeadAttention(Dim num_hiddens, Dim num_heads, Rng& rng, const Options& options = {});

  /// Self-attention: x [B, T, E] → [B, T, E], one product for the three projections. `mha(x, x, x)` is the same, bit for bit.
  Tensor forward(const Tensor& x, const Call& call = {}) const { return forward(x, x, x, call); }
  /// q [B, Tq, E], k [B, Tk, kdim], v [B, Tk, vdim] → [B, Tq, E]. One tensor given as k and v is projected in one product.
  ///
  /// With a cache, what k and v are projected to is appended to it. While it is empty the call is an ordinary one, whose mask hides no key
  /// from all queries; from then on q is one query a row, [N, 1, E], k and v are one position a row (or hold nothing: none is added), and
  /// without a mask every query sees all that its row holds.
  /// @throws ShapeError, DTypeError, ValueError when inputs, mask or bias do not fit.
  Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Call& call = {}) const;

  /// Draws the projections again; biases become 0.
  void reset(Rng& rng);

  Dim num_hiddens() const noexcept { return num_hiddens_; }
  Dim num_heads() const noexcept { return num_heads_; }
  Dim kdim() const noexcept { return kdim_; }
  Dim vdim() const noexcept { return vdim_; }

  void visit(Fields& field) {
    field("in_proj_weight", in_proj_weight);
    field("q_proj_weight", q_proj_weight);
    field("k_proj_weight", k_proj_weight);
    field("v_proj_weight", v_proj_weight);
    field("in_proj_bias", in_proj_bias);
    field("out_proj", out_proj);
  }

 private:
  void reset_in_proj(Rng& rng);
  void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v, const Call& call) const;
  void check_step(const Tensor& q, const Tensor& k, const Tensor& v, const Call& call) const;
  Ids checked_rows(const Tensor& q, const Tensor& k, const Tensor& v, const Call& call) const;
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options, const Ids& keep) const;
  Tensor attend_cached(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options, KeyValueCache& cache) const;
  Tensor project(const Tensor& x, Dim first, Dim last) const;

  Dim num_hiddens_, num_heads_, kdim_, vdim_;
  double dropout_;
};

/// x [B, T, E] → [B, H, T, E/H]. @throws ShapeError unless x has three axes and num_heads divides the last.
Tensor split_heads(const Tensor& x, Dim num_heads);
/// The inverse: x [B, H, T, E/H] → [B, T, E]. @throws ShapeError unless x has four axes.
Tensor merge_heads(const Tensor& x);

}  // namespace tapeform::nn
