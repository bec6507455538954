#pragma once
#include <optional>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/ops/loss.hpp>
#include <tapeform/nn/embedding.hpp>
#include <tapeform/nn/positional.hpp>
#include <tapeform/nn/transformer.hpp>

namespace tapeform::nn {

struct CausalLMOptions {
  Dim num_hiddens = 128;
  Dim num_heads = 4;
  Dim num_layers = 4;
  Dim ffn_num_hiddens = 0;  ///< 0: four times num_hiddens
  Dim max_len = 64;         ///< longest sequence: the context
  double dropout = 0.0;     ///< of embeddings and in every layer
  Activation activation = Activation::gelu;
  double layer_norm_eps = 1e-5;
  bool norm_first = true;
  bool bias = true;
  bool tie_head = true;  ///< the head is the table of ids: `head.weight` is an alias
  bool gated = false;    ///< feed-forward networks are gated
};

struct CausalLMCall {
  Ids lens = {};                      ///< [B]: rows from lens[b] on are left out; all are valid when it is empty
  TransformerCache* cache = nullptr;  ///< of `hiddens`: filled by the first call; then ids are the newest of every row, [N, 1]
};

/// A decoder-only language model: ids in, logits of the next id out; a position sees itself and what stands before it.
///
/// Parameters: `tok.weight` [V, D], `pos.weight` [max_len, D], `encoder.layers.0.…`, `encoder.norm.weight`, `head.weight` [V, D], drawn by
/// `init_gpt2`.
struct CausalLM : Module<CausalLM> {
  using Options = CausalLMOptions;
  using Call = CausalLMCall;

  Embedding tok;
  LearnedPositions pos;
  TransformerEncoder encoder;
  std::optional<Linear> head;

  /// @throws ValueError as Embedding, LearnedPositions and TransformerEncoder.
  CausalLM(Dim vocab, Rng& rng, const Options& options = {});

  /// ids [B, T] → logits [B, T, V]. @throws ShapeError when ids are not [B, T] or T is over max_len, ValueError for an id that is none.
  Tensor forward(const Ids& ids, const Call& call = {}) const;
  /// `cross_entropy(forward(ids, call), targets, options)` without holding all logits; targets [B, T].
  Tensor loss(const Ids& ids, const Ids& targets, const CrossEntropyOptions& options = {}, const Call& call = {}) const;

  /// What the head reads: ids [B, T] → [B, T, D].
  Tensor hiddens(const Ids& ids, const Call& call = {}) const;
  /// hiddens [..., D] → logits [..., V].
  Tensor logits(const Tensor& hiddens) const;

  Dim max_len() const { return pos.weight.dim(0); }

  void visit(Fields& field) {
    field("tok", tok);
    field("pos", pos);
    field("encoder", encoder);
    if (head)
      field("head", head);
    else
      field.alias("head.weight", tok.weight);
  }

 private:
  Tensor run(const Ids& ids, const Call& call) const;

  double dropout_;
};

}  // namespace tapeform::nn
