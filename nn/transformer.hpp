#pragma once
#include <optional>
#include <span>
#include <tapeform/core/ops/attention_cache.hpp>
#include <tapeform/nn/attention.hpp>
#include <tapeform/nn/feed_forward.hpp>
#include <tapeform/nn/layer_norm.hpp>
#include <vector>

namespace tapeform::nn {

struct TransformerLayerOptions {
  Dim ffn_num_hiddens = 2048;
  double dropout = 0.1;  ///< of attention weights, inside the feed-forward network, and of each part before it is added
  Activation activation = Activation::relu;
  double layer_norm_eps = 1e-5;
  bool norm_first = false;     ///< false: norm(x + f(x)) (Vaswani et al., 2017); true: x + f(norm(x)) (Xiong et al., 2020)
  bool bias = true;            ///< of every map and every norm
  Dim memory_num_hiddens = 0;  ///< width of a decoder's memory; 0: num_hiddens
  bool gated = false;          ///< feed-forward networks are gated, as FeedForward's: ReGLU, GEGLU, SwiGLU
};

/// What the layers of a stack have projected before: its next call computes new positions alone.
struct TransformerCache {
  std::vector<KeyValueCache> self;    ///< of each layer's self-attention
  std::vector<KeyValueCache> memory;  ///< of each decoder layer's attention to the memory

  bool empty() const noexcept { return self.empty(); }
  /// [N]: positions that every row has gone by.
  Ids lengths() const { return empty() ? Ids() : self[0].lengths(); }
  /// Row i is from now on what row from[i] was, in every layer. @throws ShapeError when there is no such row.
  void keep(std::span<const Dim> from);
};

struct TransformerEncoderLayerCall {
  Mask mask = {};                  ///< which rows a row may attend to; all when empty
  Tensor bias = {};                ///< added to the scores, as MultiHeadAttention's
  Ids lens = {};                   ///< [B]: x is packed rows as `pack_rows` makes them, and so is the result
  Dim time = 0;                    ///< T of the mask when rows are packed; 0: the longest length
  KeyValueCache* cache = nullptr;  ///< of self-attention
};

/// Self-attention, then the feed-forward network, each with a residual connection and a norm; names and shapes of torch's
/// nn.TransformerEncoderLayer. Used alone it computes every row.
struct TransformerEncoderLayer : Module<TransformerEncoderLayer> {
  using Options = TransformerLayerOptions;
  using Call = TransformerEncoderLayerCall;

  MultiHeadAttention self_attn;
  FeedForward feed_forward;  ///< `linear1`, `linear2`
  LayerNorm norm1, norm2;

  /// @throws ValueError as MultiHeadAttention and FeedForward, and for a width of a memory that it does not have.
  TransformerEncoderLayer(Dim num_hiddens, Dim num_heads, Rng& rng, const Options& options = {});
  /// x [B, T, D] → [B, T, D]. @throws ShapeError, DTypeError when x or the mask does not fit.
  Tensor forward(const Tensor& x, const Call& call = {}) const;
  void visit(Fields& field) {
    field("self_attn", self_attn);
    field("", feed_forward);
    field("norm1", norm1);
    field("norm2", norm2);
  }

 private:
  Tensor attend(const Tensor& x, const Call& call) const;
  Tensor feed(const Tensor& x) const;

  double dropout_;
  bool norm_first_;
};

struct TransformerDecoderLayerCall {
  Mask mask = {};                         ///< which target rows a target row may attend to; causal only when it says so
  Mask memory_mask = {};                  ///< which memory rows a target row may attend to
  Tensor bias = {};                       ///< added to the scores of self-attention
  Tensor memory_bias = {};                ///< added to the scores of the memory
  Ids lens = {};                          ///< [B], with memory_lens: x is packed rows, and so is the result
  Ids memory_lens = {};                   ///< [B]: memory is packed rows
  Dim time = 0, memory_time = 0;          ///< Tq and Tk of the masks when rows are packed; 0: the longest length
  KeyValueCache* cache = nullptr;         ///< of self-attention
  KeyValueCache* memory_cache = nullptr;  ///< of attention to the memory
};

/// Self-attention, attention to the memory, then the feed-forward network; names and shapes of torch's nn.TransformerDecoderLayer.
/// Used alone it computes every row.
struct TransformerDecoderLayer : Module<TransformerDecoderLayer> {
  using Options = TransformerLayerOptions;
  using Call = TransformerDecoderLayerCall;

  MultiHeadAttention self_attn, multihead_attn;
  FeedForward feed_forward;  ///< `linear1`, `linear2`
  LayerNorm norm1, norm2, norm3;

  /// @throws ValueError as MultiHeadAttention and FeedForward.
  TransformerDecoderLayer(Dim num_hiddens, Dim num_heads, Rng& rng, const Options& options = {});
  /// x [B, Tq, D], memory [B, Tk, memory's width] → [B, Tq, D]. @throws ShapeError, DTypeError when x, memory or a mask does not fit.
  Tensor forward(const Tensor& x, const Tensor& memory, const Call& call = {}) const;
  void visit(Fields& field) {
    field("self_attn", self_attn);
    field("multihead_attn", multihead_attn);
    field("", feed_forward);
    field("norm1", norm1);
    field("norm2", norm2);
    field("norm3", norm3);
  }

 private:
  Tensor attend(const Tensor& x, const Call& call) const;
  Tensor attend_memory(const Tensor& x, const Tensor& memory, const Call& call) const;
  Tensor feed(const Tensor& x) const;

  double dropout_;
  bool norm_first_;
};

struct TransformerStackOptions {
  Dim ffn_num_hiddens = 2048;
  double dropout = 0.1;
  Activation activation = Activation::relu;
  double layer_norm_eps = 1e-5;
  bool norm_first = false;
  bool bias = true;
  bool final_norm = false;     ///< a norm after the last layer, which a stack of `norm_first` layers wants
  Dim memory_num_hiddens = 0;  ///< width of a decoder's memory; 0: num_hiddens
  bool gated = false;          ///< feed-forward networks are gated

  TransformerLayerOptions layer() const {
    return {ffn_num_hiddens, dropout, activation, layer_norm_eps, norm_first, bias, memory_num_hiddens, gated};
  }
};

struct TransformerEncoderCall {
  Mask mask = {};    ///< which rows a row may attend to; all when empty
  Tensor bias = {};  ///< added to the scores of every layer, [T|1, T|1] or [B|1, H|1, T|1, T|1]: distances (ALiBi), or 0 and −inf
  TransformerCache* cache = nullptr;  ///< filled by the first call; then x is one new position a row, [N, 1, D], without a mask
};

/// Encoder layers one after the other (`layers.0`, …) and, if asked for, a final `norm`.
///
/// When the mask has one valid length for every sample, rows beyond it are left out of all layers: their output and their gradient are
/// exactly 0, and nothing that stands in them reaches anything.
struct TransformerEncoder : Module<TransformerEncoder> {
  using Options = TransformerStackOptions;
  using Call = TransformerEncoderCall;

  std::vector<TransformerEncoderLayer> layers;
  std::optional<LayerNorm> norm;

  /// @throws ValueError unless num_layers ≥ 1, and as MultiHeadAttention and FeedForward.
  TransformerEncoder(Dim num_layers, Dim num_hiddens, Dim num_heads, Rng& rng, const Options& options = {});
  /// x [B, T, D] → [B, T, D]. @throws ShapeError, DTypeError, ValueError when x or the mask does not fit.
  Tensor forward(const Tensor& x, const Call& call = {}) const;
  void visit(Fields& field) {
    field("layers", layers);
    field("norm", norm);
  }

 private:
  Tensor run(Tensor x, TransformerEncoderLayer::Call call, TransformerCache* cache) const;
};

struct TransformerDecoderCall {
  Mask mask = {};                     ///< which target rows a target row may attend to; causal only when it says so: `Mask::causal()`
  Mask memory_mask = {};              ///< which memory rows a target row may attend to
  Tensor bias = {};                   ///< added to the scores of every self-attention, as an encoder's
  Tensor memory_bias = {};            ///< added to the scores of every attention to the memory
  TransformerCache* cache = nullptr;  ///< as an encoder's; it holds the memory's keys and values too, so that memory may then be nothing
};

/// Decoder layers one after the other (`layers.0`, …) and, if asked for, a final `norm`.
///
/// When a mask has one valid length for every sample, rows of x (by `mask`) and of memory (by `memory_mask`) beyond it are left out of
/// all layers: output and gradient of such rows are exactly 0, and nothing that stands in them reaches anything.
struct TransformerDecoder : Module<TransformerDecoder> {
  using Options = TransformerStackOptions;
  using Call = TransformerDecoderCall;

  std::vector<TransformerDecoderLayer> layers;
  std::optional<LayerNorm> norm;

  /// @throws ValueError unless num_layers ≥ 1, and as MultiHeadAttention and FeedForward.
  TransformerDecoder(Dim num_layers, Dim num_hiddens, Dim num_heads, Rng& rng, const Options& options = {});
  /// x [B, Tq, D], memory [B, Tk, memory's width] → [B, Tq, D].
  /// @throws ShapeError, DTypeError, ValueError when x, memory, a mask or a bias does not fit.
  Tensor forward(const Tensor& x, const Tensor& memory, const Call& call = {}) const;
  void visit(Fields& field) {
    field("layers", layers);
    field("norm", norm);
  }

 private:
  Tensor run(Tensor x, const Tensor& memory, TransformerDecoderLayer::Call call, TransformerCache* cache) const;
};

struct TransformerOptions {
  Dim num_encoder_layers = 6;
  Dim num_decoder_layers = 6;
  Dim ffn_num_hiddens = 2048;
  double dropout = 0.1;
  Activation activation = Activation::relu;
  double layer_norm_eps = 1e-5;
  bool norm_first = false;
  bool bias = true;
  bool gated = false;  ///< feed-forward networks are gated

  /// Both stacks end with a norm.
  TransformerStackOptions stack() const { return {ffn_num_hiddens, dropout, activation, layer_norm_eps, norm_first, bias, true, 0, gated}; }
};

struct TransformerCall {
  Mask src_mask = {};       ///< which source rows a source row may attend to
  Mask tgt_mask = {};       ///< which target rows a target row may attend to; causal only when it says so: `Mask::causal()`
  Mask memory_mask = {};    ///< which encoded source rows a target row may attend to
  Tensor src_bias = {};     ///< added to the scores of every encoder layer
  Tensor tgt_bias = {};     ///< of every decoder layer's self-attention
  Tensor memory_bias = {};  ///< of every decoder layer's attention to the memory
};

/// Encoder and decoder (Vaswani et al., 2017), names, shapes and first values of nn.Transformer in torch: `encoder.layers.0.…`,
/// `encoder.norm`, `decoder.layers.0.…`, `decoder.norm`; every matrix drawn by `xavier`.
struct Transformer : Module<Transformer> {
  using Options = TransformerOptions;
  using Call = TransformerCall;

  TransformerEncoder encoder;
  TransformerDecoder decoder;

  /// @throws ValueError as the stacks.
  Transformer(Dim num_hiddens, Dim num_heads, Rng& rng, const Options& options = {});
  /// src [B, S, D], tgt [B, T, D] → [B, T, D]. @throws ShapeError, DTypeError, ValueError when an input or a mask does not fit.
  Tensor forward(const Tensor& src, const Tensor& tgt, const Call& call = {}) const;
  void visit(Fields& field) {
    field("encoder", encoder);
    field("decoder", decoder);
  }
};

}  // namespace tapeform::nn
