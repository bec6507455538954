#pragma once
#include <cstdint>
#include <optional>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/ops/loss.hpp>
#include <tapeform/nn/embedding.hpp>
#include <tapeform/nn/positional.hpp>
#include <tapeform/nn/transformer.hpp>

namespace tapeform::nn {

enum class Positions : std::uint8_t { sinusoidal, learned };

struct Seq2SeqOptions {
  Dim num_hiddens = 512;
  Dim num_heads = 8;
  Dim num_encoder_layers = 6;
  Dim num_decoder_layers = 6;
  Dim ffn_num_hiddens = 2048;
  double dropout = 0.1;  ///< of embeddings and in every layer
  Activation activation = Activation::relu;
  double layer_norm_eps = 1e-5;
  bool norm_first = false;
  bool bias = true;
  Positions positions = Positions::sinusoidal;
  Dim max_len = 1000;             ///< longest source and target
  bool share_embeddings = false;  ///< source and target use one table: `tgt_embed.weight` is an alias
  bool share_head = false;        ///< the head is the target's table: `head.weight` is an alias
  bool scale_embeddings = false;  ///< embeddings times √num_hiddens
  bool gated = false;             ///< feed-forward networks are gated

  /// The base model of the paper (table 3): width 512, 8 heads, 6 + 6 layers, feed-forward width 2048. These are the defaults.
  static Seq2SeqOptions base() { return {}; }
  /// Width 256, 4 heads, 4 + 4 layers, feed-forward width 1024: some hours on a laptop.
  static Seq2SeqOptions small();
  /// Width 64, 4 heads, 2 + 2 layers, feed-forward width 256: minutes.
  static Seq2SeqOptions tiny();
};

/// The sizes of a whole Transformer: `TransformerConfig::base()`, `small()`, `tiny()`.
using TransformerConfig = Seq2SeqOptions;

struct Seq2SeqCall {
  Ids tgt_lens = {};                  ///< [B]: target rows from tgt_lens[b] on are left out; all are valid when it is empty
  TransformerCache* cache = nullptr;  ///< of `decode`: filled by the first call; then tgt is the newest id of every row, [N, 1]
};

/// A Transformer from ids to logits (Vaswani et al., 2017, figure 1). It makes its masks itself: source rows beyond their valid length
/// are hidden, and a target position sees itself and what stands before it.
///
/// Parameters: `src_embed.weight` [Vs, D], `tgt_embed.weight` [Vt, D], `transformer.…`, `head.weight` [Vt, D], and with learned positions
/// `src_pos.weight`, `tgt_pos.weight` [max_len, D]. Tables are drawn from N(0, 1); from N(0, 1/D) one that is the head too,
/// so that first logits are small, and all of them with `scale_embeddings`, which brings them back to 1 beside the positions.
struct Seq2Seq : Module<Seq2Seq> {
  using Options = Seq2SeqOptions;
  using Call = Seq2SeqCall;

  Embedding src_embed;
  std::optional<Embedding> tgt_embed;
  std::optional<LearnedPositions> src_pos, tgt_pos;
  Transformer transformer;
  std::optional<Linear> head;

  /// @throws ValueError when shared embeddings have two vocabularies, and as Embedding and Transformer.
  Seq2Seq(Dim src_vocab, Dim tgt_vocab, Rng& rng, const Options& options = {});

  /// Logits of the id that follows each target position: src [B, S] with valid lengths src_lens [B] (`Ids()`: all valid),
  /// tgt [B, T] → [B, T, Vt].
  /// @throws ShapeError, ValueError when ids or lengths do not fit.
  Tensor forward(const Ids& src, const Ids& src_lens, const Ids& tgt, const Call& call = {}) const;
  /// `cross_entropy(forward(src, src_lens, tgt, call), targets, options)` without holding all logits; targets [B, T].
  Tensor loss(const Ids& src, const Ids& src_lens, const Ids& tgt, const Ids& targets, const CrossEntropyOptions& options = {},
              const Call& call = {}) const;

  /// The memory: src [B, S] → [B, S, D], zeros beyond a valid length.
  Tensor encode(const Ids& src, const Ids& src_lens) const;
  /// What the head reads: tgt [B, T], memory [B, S, D] → [B, T, D]. A cache that is not empty stands for the memory and what went by.
  Tensor decode(const Ids& tgt, const Tensor& memory, const Ids& src_lens, const Call& call = {}) const;
  /// hiddens [..., D] → logits [..., Vt].
  Tensor logits(const Tensor& hiddens) const;

  Dim max_len() const noexcept { return options_.max_len; }

  void visit(Fields& field) {
    field("src_embed", src_embed);
    if (tgt_embed)
      field("tgt_embed", tgt_embed);
    else
      field.alias("tgt_embed.weight", src_embed.weight);
    field("src_pos", src_pos);
    field("tgt_pos", tgt_pos);
    field("transformer", transformer);
    if (head)
      field("head", head);
    else
      field.alias("head.weight", target_table().weight);
  }

 private:
  Embedding& target_table() { return tgt_embed ? *tgt_embed : src_embed; }
  const Embedding& target_table() const { return tgt_embed ? *tgt_embed : src_embed; }
  const Parameter& head_weight() const { return head ? head->weight : target_table().weight; }
  Tensor embedded(const Embedding& table, const std::optional<LearnedPositions>& learned, const Ids& ids, const Ids& begin = {}) const;
  Tensor encoded(const Ids& src, const Ids& src_lens) const;
  Tensor decoded(const Ids& tgt, const Tensor& memory, const Ids& src_lens, const Call& call) const;

  std::optional<SinusoidalPositions> sinusoidal_;
  Options options_;
};

}  // namespace tapeform::nn
