#include <tapeform/nn/seq2seq.hpp>
#include <cmath>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/dropout.hpp>
#include <tapeform/core/ops/matmul.hpp>

#include "detail/checks.hpp"

namespace tapeform::nn {

namespace {

Dim checked_vocab(Dim src_vocab, Dim tgt_vocab, const Seq2SeqOptions& options) {
  if (options.share_embeddings && src_vocab != tgt_vocab)
    throw ValueError(fmt::format("seq2seq: shared embeddings need one vocabulary; got src_vocab {}, tgt_vocab {}", src_vocab, tgt_vocab));
  return src_vocab;
}

TransformerOptions transformer_of(const Seq2SeqOptions& options) {
  return {options.num_encoder_layers,
          options.num_decoder_layers,
          options.ffn_num_hiddens,
          options.dropout,
          options.activation,
          options.layer_norm_eps,
          options.norm_first,
          options.bias,
          options.gated};
}

}  // namespace

Seq2SeqOptions Seq2SeqOptions::small() {
  return {.num_hiddens = 256, .num_heads = 4, .num_encoder_layers = 4, .num_decoder_layers = 4, .ffn_num_hiddens = 1024};
}

Seq2SeqOptions Seq2SeqOptions::tiny() {
  return {.num_hiddens = 64, .num_heads = 4, .num_encoder_layers = 2, .num_decoder_layers = 2, .ffn_num_hiddens = 256};
}

Seq2Seq::Seq2Seq(Dim src_vocab, Dim tgt_vocab, Rng& rng, const Options& options)
    : src_embed(checked_vocab(src_vocab, tgt_vocab, options), options.num_hiddens, rng),
      transformer(options.num_hiddens, options.num_heads, rng, transformer_of(options)),
      options_(options) {
  const Dim width = options.num_hiddens;
  if (!options.share_embeddings) tgt_embed.emplace(tgt_vocab, width, rng);
  if (options.positions == Positions::learned) {
    src_pos.emplace(options.max_len, width, rng);
    tgt_pos.emplace(options.max_len, width, rng);
  } else {
    sinusoidal_.emplace(width, options.max_len);
  }
  const auto draw_small = [&](Embedding& table) {
    table.weight.assign(normal(table.weight.shape(), 0.0, 1.0 / std::sqrt(static_cast<double>(width)), rng));
  };
  if (options.share_head || options.scale_embeddings) draw_small(target_table());
  if (options.scale_embeddings && !options.share_embeddings) draw_small(src_embed);
  if (!options.share_head) head.emplace(width, tgt_vocab, rng, Linear::Options{.bias = false});
}

Tensor Seq2Seq::embedded(const Embedding& table, const std::optional<LearnedPositions>& learned, const Ids& ids, const Ids& begin) const {
  Tensor x = table(ids);  // [B, T, D]
  if (options_.scale_embeddings) x = x * std::sqrt(static_cast<double>(options_.num_hiddens));
  x = learned ? (*learned)(x, {.begin = begin}) : (*sinusoidal_)(x, {.begin = begin});
  return dropout(x, options_.dropout);
}

Tensor Seq2Seq::encoded(const Ids& src, const Ids& src_lens) const {
  detail::check_ids("seq2seq", "src", src);
  const Mask mask = detail::valid_mask("seq2seq", "src_lens", src_lens);
  return transformer.encoder(embedded(src_embed, src_pos, src), {.mask = mask});
}

Tensor Seq2Seq::decoded(const Ids& tgt, const Tensor& memory, const Ids& src_lens, const Call& call) const {
  detail::check_ids("seq2seq", "tgt", tgt);
  const Tensor x = embedded(target_table(), tgt_pos, tgt, call.cache ? call.cache->lengths() : Ids());
  if (call.cache && !call.cache->empty()) return transformer.decoder(x, Tensor(), {.cache = call.cache});
  const Mask mask = Mask::causal() & detail::valid_mask("seq2seq", "tgt_lens", call.tgt_lens);
  return transformer.decoder(x, memory,
                             {.mask = mask, .memory_mask = detail::valid_mask("seq2seq", "src_lens", src_lens), .cache = call.cache});
}

Tensor Seq2Seq::forward(const Ids& src, const Ids& src_lens, const Ids& tgt, const Call& call) const {
  const Tensor memory = encoded(src, src_lens);
  return linear(decoded(tgt, memory, src_lens, call), head_weight());  // [B, T, V]
}

Tensor Seq2Seq::loss(const Ids& src, const Ids& src_lens, const Ids& tgt, const Ids& targets, const CrossEntropyOptions& options,
                     const Call& call) const {
  const detail::Running<Seq2Seq> running(this);
  const Tensor memory = encoded(src, src_lens);
  const Tensor h = decoded(tgt, memory, src_lens, call);  // [B, T, D]
  const Ids valid = detail::valid_targets("seq2seq", targets, tgt, call.tgt_lens, options.ignore_id);
  return linear_cross_entropy(h, head_weight(), valid, options);
}

Tensor Seq2Seq::encode(const Ids& src, const Ids& src_lens) const {
  const detail::Running<Seq2Seq> running(this);
  return encoded(src, src_lens);
}

Tensor Seq2Seq::decode(const Ids& tgt, const Tensor& memory, const Ids& src_lens, const Call& call) const {
  const detail::Running<Seq2Seq> running(this);
  return decoded(tgt, memory, src_lens, call);
}

Tensor Seq2Seq::logits(const Tensor& hiddens) const {
  const detail::Running<Seq2Seq> running(this);
  return linear(hiddens, head_weight());
}

}  // namespace tapeform::nn
