#include <tapeform/nn/transformer.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/dropout.hpp>
#include <tapeform/core/ops/packing.hpp>
#include <tapeform/nn/init.hpp>

namespace tapeform::nn {

namespace {

MultiHeadAttentionOptions attention_of(const TransformerLayerOptions& options) {
  return {.dropout = options.dropout, .bias = options.bias};
}
FeedForwardOptions feed_forward_of(const TransformerLayerOptions& options) {
  return {.activation = options.activation, .dropout = options.dropout, .bias = options.bias, .gated = options.gated};
}
MultiHeadAttentionOptions memory_attention_of(const TransformerLayerOptions& options) {
  return {.dropout = options.dropout, .bias = options.bias, .kdim = options.memory_num_hiddens, .vdim = options.memory_num_hiddens};
}
/// An encoder's width.
Dim without_memory(Dim num_hiddens, const TransformerLayerOptions& options) {
  if (options.memory_num_hiddens != 0)
    throw ValueError(
        fmt::format("transformer_encoder_layer: an encoder has no memory; got memory_num_hiddens {}", options.memory_num_hiddens));
  return num_hiddens;
}
nn::LayerNormOptions norm_of(const TransformerLayerOptions& options) { return {.eps = options.layer_norm_eps, .bias = options.bias}; }

template <class Layer>
std::vector<Layer> make_layers(const char* op, Dim num_layers, Dim num_hiddens, Dim num_heads, Rng& rng,
                               const TransformerStackOptions& options) {
  if (num_layers < 1) throw ValueError(fmt::format("{}: num_layers must be at least 1; got {}", op, num_layers));
  std::vector<Layer> layers;
  for (Dim i = 0; i < num_layers; ++i) layers.emplace_back(num_hiddens, num_heads, rng, options.layer());
  return layers;
}

std::optional<LayerNorm> make_norm(Dim num_hiddens, const TransformerStackOptions& options) {
  if (!options.final_norm) return std::nullopt;
  return LayerNorm(num_hiddens, norm_of(options.layer()));
}

void check_sequence(const char* op, const char* name, const Tensor& x, Dim num_hiddens) {
  if (x.rank() != 3 || x.dim(2) != num_hiddens)
    throw ShapeError(fmt::format("{}: {} must be [B, T, {}]; got {} {}", op, name, num_hiddens, name, x.shape().str()));
}

Ids lens_or_all(const Mask& mask, const Tensor& x) { return mask.has_lens() ? mask.lens() : Ids::full({x.dim(0)}, x.dim(1)); }

bool follows(const TransformerCache* cache) { return cache && !cache->empty(); }

/// True when a valid length leaves rows of x out.
bool leaves_out(const Mask& mask, const Tensor& x) {
  return mask.has_lens() && std::ranges::any_of(mask.lens().values(), [time = x.dim(1)](std::int64_t length) { return length < time; });
}

}  // namespace

void TransformerCache::keep(std::span<const Dim> from) {
  for (std::vector<KeyValueCache>* const caches : {&self, &memory})
    for (KeyValueCache& cache : *caches) cache.keep(from);
}

TransformerEncoderLayer::TransformerEncoderLayer(Dim num_hiddens, Dim num_heads, Rng& rng, const Options& options)
    : self_attn(without_memory(num_hiddens, options), num_heads, rng, attention_of(options)),
      feed_forward(num_hiddens, options.ffn_num_hiddens, rng, feed_forward_of(options)),
      norm1(num_hiddens, norm_of(options)),
      norm2(num_hiddens, norm_of(options)),
      dropout_(options.dropout),
      norm_first_(options.norm_first) {}

Tensor TransformerEncoderLayer::attend(const Tensor& x, const Call& call) const {
  return dropout(self_attn(x, {.mask = call.mask,
                               .bias = call.bias,
                               .q_lens = call.lens,
                               .k_lens = call.lens,
                               .q_time = call.time,
                               .k_time = call.time,
                               .cache = call.cache}),
                 dropout_);
}

Tensor TransformerEncoderLayer::feed(const Tensor& x) const { return dropout(feed_forward(x), dropout_); }

Tensor TransformerEncoderLayer::forward(const Tensor& x, const Call& call) const {
  if (norm_first_) {
    const Tensor h = x + attend(norm1(x), call);
    return h + feed(norm2(h));
  }
  const Tensor h = norm1(x + attend(x, call));
  return norm2(h + feed(h));
}

TransformerDecoderLayer::TransformerDecoderLayer(Dim num_hiddens, Dim num_heads, Rng& rng, const Options& options)
    : self_attn(num_hiddens, num_heads, rng, attention_of(options)),
      multihead_attn(num_hiddens, num_heads, rng, memory_attention_of(options)),
      feed_forward(num_hiddens, options.ffn_num_hiddens, rng, feed_forward_of(options)),
      norm1(num_hiddens, norm_of(options)),
      norm2(num_hiddens, norm_of(options)),
      norm3(num_hiddens, norm_of(options)),
      dropout_(options.dropout),
      norm_first_(options.norm_first) {}

Tensor TransformerDecoderLayer::attend(const Tensor& x, const Call& call) const {
  return dropout(self_attn(x, {.mask = call.mask,
                               .bias = call.bias,
                               .q_lens = call.lens,
                               .k_lens = call.lens,
                               .q_time = call.time,
                               .k_time = call.time,
                               .cache = call.cache}),
                 dropout_);
}

Tensor TransformerDecoderLayer::attend_memory(const Tensor& x, const Tensor& memory, const Call& call) const {
  return dropout(multihead_attn(x, memory, memory,
                                {.mask = call.memory_mask,
                                 .bias = call.memory_bias,
                                 .q_lens = call.lens,
                                 .k_lens = call.memory_lens,
                                 .q_time = call.time,
                                 .k_time = call.memory_time,
                                 .cache = call.memory_cache}),
                 dropout_);
}

Tensor TransformerDecoderLayer::feed(const Tensor& x) const { return dropout(feed_forward(x), dropout_); }

Tensor TransformerDecoderLayer::forward(const Tensor& x, const Tensor& memory, const Call& call) const {
  if (norm_first_) {
    const Tensor h = x + attend(norm1(x), call);
    const Tensor g = h + attend_memory(norm2(h), memory, call);
    return g + feed(norm3(g));
  }
  const Tensor h = norm1(x + attend(x, call));
  const Tensor g = norm2(h + attend_memory(h, memory, call));
  return norm3(g + feed(g));
}

TransformerEncoder::TransformerEncoder(Dim num_layers, Dim num_hiddens, Dim num_heads, Rng& rng, const Options& options)
    : layers(make_layers<TransformerEncoderLayer>("transformer_encoder", num_layers, num_hiddens, num_heads, rng, options)),
      norm(make_norm(num_hiddens, options)) {}

Tensor TransformerEncoder::run(Tensor x, TransformerEncoderLayer::Call call, TransformerCache* cache) const {
  if (cache) cache->self.resize(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    call.cache = cache ? &cache->self[i] : nullptr;
    x = layers[i](x, call);
  }
  return norm ? (*norm)(x) : x;
}

Tensor TransformerEncoder::forward(const Tensor& x, const Call& call) const {
  const MultiHeadAttention& attention = layers.at(0).self_attn;
  check_sequence("transformer_encoder", "x", x, attention.num_hiddens());
  if (follows(call.cache)) return run(x, {.mask = call.mask, .bias = call.bias}, call.cache);
  const Dim time = x.dim(1);
  call.mask.check("transformer_encoder", x.dim(0), attention.num_heads(), time, time);
  if (!leaves_out(call.mask, x)) return run(x, {.mask = call.mask, .bias = call.bias}, call.cache);
  const Ids& lens = call.mask.lens();
  const Tensor rows = run(pack_rows(x, lens), {.mask = call.mask, .bias = call.bias, .lens = lens, .time = time}, call.cache);
  return unpack_rows(rows, lens, time);
}

TransformerDecoder::TransformerDecoder(Dim num_layers, Dim num_hiddens, Dim num_heads, Rng& rng, const Options& options)
    : layers(make_layers<TransformerDecoderLayer>("transformer_decoder", num_layers, num_hiddens, num_heads, rng, options)),
      norm(make_norm(num_hiddens, options)) {}

Tensor TransformerDecoder::run(Tensor x, const Tensor& memory, TransformerDecoderLayer::Call call, TransformerCache* cache) const {
  if (cache) {
    cache->self.resize(layers.size());
    cache->memory.resize(layers.size());
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    call.cache = cache ? &cache->self[i] : nullptr;
    call.memory_cache = cache ? &cache->memory[i] : nullptr;
    x = layers[i](x, memory, call);
  }
  return norm ? (*norm)(x) : x;
}

Tensor TransformerDecoder::forward(const Tensor& x, const Tensor& memory, const Call& call) const {
  const MultiHeadAttention& attention = layers.at(0).self_attn;
  check_sequence("transformer_decoder", "x", x, attention.num_hiddens());
  TransformerDecoderLayer::Call each{
      .mask = call.mask, .memory_mask = call.memory_mask, .bias = call.bias, .memory_bias = call.memory_bias};
  if (follows(call.cache)) return run(x, Tensor(), each, call.cache);
  check_sequence("transformer_decoder", "memory", memory, layers[0].multihead_attn.kdim());
  if (x.dim(0) != memory.dim(0))
    throw ShapeError(fmt::format("transformer_decoder: x and memory must have the same batch; got x {}, memory {}", x.shape().str(),
                                 memory.shape().str()));
  const Dim time = x.dim(1), memory_time = memory.dim(1);
  call.mask.check("transformer_decoder mask", x.dim(0), attention.num_heads(), time, time);
  call.memory_mask.check("transformer_decoder memory_mask", x.dim(0), attention.num_heads(), time, memory_time);
  if (!leaves_out(call.mask, x) && !leaves_out(call.memory_mask, memory)) return run(x, memory, each, call.cache);
  each.lens = lens_or_all(call.mask, x);
  each.memory_lens = lens_or_all(call.memory_mask, memory);
  each.time = time;
  each.memory_time = memory_time;
  const Tensor rows = run(pack_rows(x, each.lens), pack_rows(memory, each.memory_lens), each, call.cache);
  return unpack_rows(rows, each.lens, time);
}

Transformer::Transformer(Dim num_hiddens, Dim num_heads, Rng& rng, const Options& options)
    : encoder(options.num_encoder_layers, num_hiddens, num_heads, rng, options.stack()),
      decoder(options.num_decoder_layers, num_hiddens, num_heads, rng, options.stack()) {
  init_xavier(*this, rng);
}

Tensor Transformer::forward(const Tensor& src, const Tensor& tgt, const Call& call) const {
  const Tensor memory = encoder(src, {.mask = call.src_mask, .bias = call.src_bias});
  return decoder(tgt, memory,
                 {.mask = call.tgt_mask, .memory_mask = call.memory_mask, .bias = call.tgt_bias, .memory_bias = call.memory_bias});
}

}  // namespace tapeform::nn
