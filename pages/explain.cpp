#include <tapeform/pages/explain.hpp>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/tape.hpp>
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/seq2seq.hpp>

#include "detail/steps.hpp"
#include "detail/watcher.hpp"

namespace tapeform::pages {

namespace {

using detail::Steps;
using detail::Watcher;
using Tokens = Steps::Tokens;

/// One sentence, [T, E] or [1, T, E], as [1, T, E].
Tensor sentence(const char* name, const Array& x) {
  const bool one = x.rank() == 3 && x.dim(0) == 1;
  if (!one && x.rank() != 2) throw ShapeError(fmt::format("explain: {} must be [T, E] or [1, T, E]; got {}", name, x.shape().str()));
  return one ? x : x.reshape({1, x.dim(0), x.dim(1)});
}

Ids sentence(const char* name, const Ids& ids) {
  const bool one = ids.rank() == 2 && ids.dim(0) == 1;
  if (!one && ids.rank() != 1) throw ShapeError(fmt::format("explain: {} must be [T] or [1, T]; got {}", name, ids.shape().str()));
  return one ? ids : ids.reshape({1, ids.dim(0)});
}

/// A layer's feed-forward network and what comes after it.
void feed_forward_steps(Steps& steps, const Watcher& watched, const nn::FeedForward& network, const Tensor& x, const Tensor& out,
                        const Tokens& rows) {
  const bool gated = network.linear1.weight.shape()[0] != network.linear2.weight.shape()[1];
  const auto plus = [](const Parameter& bias, const char* name) { return bias ? fmt::format(" + {}", name) : ""; };
  const std::string first = "W₁·x" + plus(network.linear1.bias, "b₁"), b2 = plus(network.linear2.bias, "b₂");
  steps.begin("");
  steps.add("feed-forward in", "what the network gets", "[T, D]", watched.input(network, x), rows);
  steps.add("feed-forward, first map", first + (gated ? ": values a, then as many gates g" : ", before the activation"),
            gated ? "[T, 2F]" : "[T, F]", watched.result(network.linear1), rows);
  steps.add("feed-forward out", (gated ? "W₂·(a·activation(g))" : fmt::format("W₂·activation({})", first)) + b2, "[T, D]",
            watched.result(network), rows);
  steps.add("block out", "what the next block gets", "[T, D]", out, rows);
}

/// `x` went in and `out` came out, while `watched` looked on.
void block_steps(Steps& steps, const Watcher& watched, const nn::TransformerEncoderLayer& layer, const Tensor& x, const Tensor& out,
                 const Mask& mask, const Tokens& rows) {
  steps.add("block in", "X", "[T, D]", x, rows);
  steps.begin("self-attention: ");
  const Tensor& input = watched.input(layer.self_attn, x);
  detail::attention_steps(steps, layer.self_attn, input, input, input, mask, rows, rows);
  feed_forward_steps(steps, watched, layer.feed_forward, x, out, rows);
}

void block_steps(Steps& steps, const Watcher& watched, const nn::TransformerDecoderLayer& layer, const Tensor& x, const Tensor& memory,
                 const Tensor& out, const ExplainOptions& options) {
  steps.add("block in", "X", "[T, D]", x, options.queries);
  steps.add("memory", "what the encoder gave", "[S, D]", memory, options.keys);
  steps.begin("self-attention: ");
  const Tensor& input = watched.input(layer.self_attn, x);
  detail::attention_steps(steps, layer.self_attn, input, input, input, options.mask, options.queries, options.queries);
  steps.begin("attention to the memory: ");
  detail::attention_steps(steps, layer.multihead_attn, watched.input(layer.multihead_attn, x), memory, memory, options.memory_mask,
                          options.queries, options.keys);
  feed_forward_steps(steps, watched, layer.feed_forward, x, out, options.queries);
}

/// What went into a layer of a stack is what the one before it gave, and into the first what the stack got.
template <class Layers>
Tensor into(const Watcher& watched, const Layers& layers, std::size_t i, const Tensor& first) {
  return i == 0 ? first : watched.result(layers[i - 1]);
}

void put(std::vector<Panel>& panels, Steps& steps, const std::string& part) {
  for (Panel& panel : steps.take()) {
    panel.choice.insert(panel.choice.begin(), {"part", part});
    panels.push_back(std::move(panel));
  }
}

void put_layers(std::vector<Panel>& panels, const Watcher& watched, const nn::TransformerEncoder& encoder, const Tensor& in,
                const Mask& mask, const char* name, const Tokens& rows) {
  for (std::size_t i = 0; i < encoder.layers.size(); ++i) {
    Steps block;
    block_steps(block, watched, encoder.layers[i], into(watched, encoder.layers, i, in), watched.result(encoder.layers[i]), mask, rows);
    put(panels, block, fmt::format("{} {}", name, i));
  }
}

/// The rows of the positional matrix that [1, T, D] gets.
Tensor positions(const std::optional<nn::LearnedPositions>& learned, const Tensor& x) {
  return learned ? slice(learned->weight, 0, 0, x.dim(1)) : Tensor(nn::sinusoidal_table(x.dim(1), x.dim(2)));
}

void side_steps(Steps& steps, const std::string& side, const Tensor& embedded, const Tensor& table, const Tensor& in, const Tokens& rows) {
  steps.add(side + " embeddings", "a row of the table for every id", "[T, D]", embedded, rows);
  steps.add(side + " positions", "the positional matrix: a row for every position", "[T, D]", table, rows);
  steps.add(side + " in", "embeddings (times √D in a model that scales them) + positions", "[T, D]", in, rows);
}

std::string page(const std::vector<Panel>& panels, const ExplainOptions& options, const char* title) {
  return html(panels, {.title = options.title.empty() ? title : options.title,
                       .lead = "Every step in the order in which it is computed, with its formula and its shape. A row is a position."});
}

}  // namespace

std::vector<Panel> explanation(const nn::MultiHeadAttention& attention, const Array& x, const ExplainOptions& options) {
  return explanation(attention, x, x, x, options);
}

std::vector<Panel> explanation(const nn::MultiHeadAttention& attention, const Array& q, const Array& k, const Array& v,
                               const ExplainOptions& options) {
  const NoTape no_tape;
  const Tensor queries = sentence("q", q), keys = sentence("k", k), values = sentence("v", v);
  attention(queries, keys, values, {.mask = options.mask});  // its checks are the ones to fail
  Steps steps;
  const Tokens& key_tokens = q.is_same(k) && options.keys.empty() ? options.queries : options.keys;
  detail::attention_steps(steps, attention, queries, keys, values, options.mask, options.queries, key_tokens);
  return steps.take();
}

std::vector<Panel> explanation(const nn::TransformerEncoderLayer& layer, const Array& x, const ExplainOptions& options) {
  const NoTape no_tape;
  const Watcher watched;
  const Tensor in = sentence("x", x), out = layer(in, {.mask = options.mask});
  Steps steps;
  block_steps(steps, watched, layer, in, out, options.mask, options.queries);
  return steps.take();
}

std::vector<Panel> explanation(const nn::TransformerDecoderLayer& layer, const Array& x, const Array& memory,
                               const ExplainOptions& options) {
  const NoTape no_tape;
  const Watcher watched;
  const Tensor in = sentence("x", x), seen = sentence("memory", memory);
  const Tensor out = layer(in, seen, {.mask = options.mask, .memory_mask = options.memory_mask});
  Steps steps;
  block_steps(steps, watched, layer, in, seen, out, options);
  return steps.take();
}

std::vector<Panel> explanation(const nn::Seq2Seq& model, const Ids& src, const Ids& tgt, const ExplainOptions& options) {
  const NoTape no_tape;
  const Watcher watched;
  const Ids source = sentence("src", src), target = sentence("tgt", tgt);
  const Tensor logits = model(source, Ids(), target);
  const nn::TransformerEncoder& encoder = model.transformer.encoder;
  const nn::TransformerDecoder& decoder = model.transformer.decoder;
  const Tensor encoder_in = watched.input(encoder, {}), memory = watched.result(encoder), decoder_in = watched.input(decoder, {});
  const std::vector<Tensor> embedded = watched.results<nn::Embedding>();

  Steps steps;
  side_steps(steps, "encoder", embedded.at(0), positions(model.src_pos, encoder_in), encoder_in, options.keys);
  steps.add("encoder out", "the memory", "[S, D]", memory, options.keys);
  side_steps(steps, "decoder", embedded.at(1), positions(model.tgt_pos, decoder_in), decoder_in, options.queries);
  steps.add("decoder out", "what the head reads", "[T, D]", watched.result(decoder), options.queries);
  steps.add("logits", "of the id that follows: its row of the head times the decoder's", "[T, V]", logits, options.queries);
  std::vector<Panel> panels;
  put(panels, steps, "model");

  put_layers(panels, watched, encoder, encoder_in, {}, "encoder layer", options.keys);
  ExplainOptions causal = options;
  causal.mask = Mask::causal();
  causal.memory_mask = {};
  for (std::size_t i = 0; i < decoder.layers.size(); ++i) {
    Steps block;
    block_steps(block, watched, decoder.layers[i], into(watched, decoder.layers, i, decoder_in), memory, watched.result(decoder.layers[i]),
                causal);
    put(panels, block, fmt::format("decoder layer {}", i));
  }
  return panels;
}

std::vector<Panel> explanation(const nn::CausalLM& model, const Ids& ids, const ExplainOptions& options) {
  const NoTape no_tape;
  const Watcher watched;
  const Tensor logits = model(sentence("ids", ids)), in = watched.input(model.encoder, {});
  Steps steps;
  side_steps(steps, "model", watched.result(model.tok), slice(model.pos.weight, 0, 0, in.dim(1)), in, options.queries);
  steps.add("model out", "what the head reads", "[T, D]", watched.result(model.encoder), options.queries);
  steps.add("logits", "of the id that follows: its row of the head times the model's", "[T, V]", logits, options.queries);
  std::vector<Panel> panels;
  put(panels, steps, "model");
  put_layers(panels, watched, model.encoder, in, Mask::causal(), "layer", options.queries);
  return panels;
}

std::string explain(const nn::MultiHeadAttention& attention, const Array& x, const ExplainOptions& options) {
  return page(explanation(attention, x, options), options, "An attention, step by step");
}

std::string explain(const nn::MultiHeadAttention& attention, const Array& q, const Array& k, const Array& v,
                    const ExplainOptions& options) {
  return page(explanation(attention, q, k, v, options), options, "An attention, step by step");
}

std::string explain(const nn::TransformerEncoderLayer& layer, const Array& x, const ExplainOptions& options) {
  return page(explanation(layer, x, options), options, "An encoder layer, step by step");
}

std::string explain(const nn::TransformerDecoderLayer& layer, const Array& x, const Array& memory, const ExplainOptions& options) {
  return page(explanation(layer, x, memory, options), options, "A decoder layer, step by step");
}

std::string explain(const nn::Seq2Seq& model, const Ids& src, const Ids& tgt, const ExplainOptions& options) {
  return page(explanation(model, src, tgt, options), options, "A model, step by step");
}

std::string explain(const nn::CausalLM& model, const Ids& ids, const ExplainOptions& options) {
  return page(explanation(model, ids, options), options, "A language model, step by step");
}

}  // namespace tapeform::pages
