#include <cmath>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/reduce.hpp>
#include <tapeform/core/ops/softmax.hpp>
#include <tapeform/nn/transformer.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

constexpr Dim B = 3, S = 5, T = 4, D = 8;
const std::vector<Dim> src_lens = {5, 2, 3}, tgt_lens = {1, 4, 3};

/// Which keys a query may attend to: [B, Tq, Tk].
struct Table {
  Dim q_time, k_time;
  std::vector<bool> allowed;
  Table(Dim tq, Dim tk) : q_time(tq), k_time(tk), allowed(static_cast<std::size_t>(B * tq * tk), true) {}
  template <class F>
  void hide(const F& hidden) {
    std::size_t at = 0;
    for (Dim b = 0; b < B; ++b)
      for (Dim i = 0; i < q_time; ++i)
        for (Dim j = 0; j < k_time; ++j, ++at)
          if (hidden(b, i, j)) allowed[at] = false;
  }
  Mask mask() const { return Mask::allow(allowed, {B, q_time, k_time}); }
  /// 0 and −inf.
  Tensor bias() const {
    Array numbers = Array::zeros({B, 1, q_time, k_time}, DType::float64);
    numbers.write<double>([this](std::span<double> values) {
      for (std::size_t i = 0; i < values.size(); ++i)
        if (!allowed[i]) values[i] = -INFINITY;
    });
    return numbers;
  }
};

struct Tables {
  Table src{S, S}, tgt{T, T}, memory{T, S};
};

bool hidden_memory(Dim i, Dim j) { return (2 * i + j) % 3 == 1 && j > 0; }

Tables tables_of(bool target_mask, bool memory_mask, bool src_padding, bool tgt_padding) {
  Tables tables;
  if (target_mask) tables.tgt.hide([](Dim, Dim i, Dim j) { return j > i; });
  if (memory_mask) tables.memory.hide([](Dim, Dim i, Dim j) { return hidden_memory(i, j); });
  const auto beyond_src = [](Dim b, Dim, Dim j) { return j >= src_lens[static_cast<std::size_t>(b)]; };
  if (src_padding) tables.src.hide(beyond_src);
  if (src_padding) tables.memory.hide(beyond_src);
  if (tgt_padding) tables.tgt.hide([](Dim b, Dim, Dim j) { return j >= tgt_lens[static_cast<std::size_t>(b)]; });
  return tables;
}

nn::TransformerCall masks_of(bool target_mask, bool memory_mask, bool src_padding, bool tgt_padding) {
  std::vector<bool> table;
  for (Dim i = 0; i < T; ++i)
    for (Dim j = 0; j < S; ++j) table.push_back(!hidden_memory(i, j));
  const Mask src = src_padding ? Mask::valid_lens({5, 2, 3}) : Mask(), tgt = tgt_padding ? Mask::valid_lens({1, 4, 3}) : Mask();
  return {.src_mask = src,
          .tgt_mask = target_mask ? Mask::causal() & tgt : tgt,
          .memory_mask = memory_mask ? Mask::allow(table, {T, S}) & src : src};
}

Tensor attend(const nn::MultiHeadAttention& mha, const Tensor& q, const Tensor& m, const Table& table) {
  Tensor parts[3];
  for (Dim i = 0; i < 3; ++i)
    parts[i] = nn::split_heads(
        linear(i == 0 ? q : m, slice(mha.in_proj_weight, 0, i * D, (i + 1) * D), slice(mha.in_proj_bias, 0, i * D, (i + 1) * D)), 2);
  const Tensor scores = matmul(parts[0], parts[1], {.transpose_b = true}) / std::sqrt(static_cast<double>(D / 2));  // [B, H, Tq, Tk]
  return mha.out_proj(nn::merge_heads(matmul(masked_softmax(scores, table.mask()), parts[2])));
}

/// The whole Transformer from primitive ops, every row computed, norms last.
Tensor composed(const nn::Transformer& model, const Tensor& src, const Tensor& tgt, const Tables& tables) {
  Tensor m = src;
  for (const nn::TransformerEncoderLayer& layer : model.encoder.layers) {
    m = layer.norm1(m + attend(layer.self_attn, m, m, tables.src));
    m = layer.norm2(m + layer.feed_forward(m));
  }
  m = (*model.encoder.norm)(m);
  Tensor x = tgt;
  for (const nn::TransformerDecoderLayer& layer : model.decoder.layers) {
    x = layer.norm1(x + attend(layer.self_attn, x, x, tables.tgt));
    x = layer.norm2(x + attend(layer.multihead_attn, x, m, tables.memory));
    x = layer.norm3(x + layer.feed_forward(x));
  }
  return (*model.decoder.norm)(x);
}

}  // namespace

TEST_CASE("target mask, memory mask and both paddings, all on and off, boolean and additive, against primitive ops") {
  Rng rng(1);
  const nn::Transformer model =
      exact(nn::Transformer(D, 2, rng, {.num_encoder_layers = 2, .num_decoder_layers = 2, .ffn_num_hiddens = 10, .dropout = 0}));
  const Array src = drawn({B, S, D}, 1), tgt = drawn({B, T, D}, 2), plain_weights = drawn({B, T, D}, 3);
  Array first;  // without any mask
  for (int combination = 0; combination < 16; ++combination) {
    const bool target = combination & 1, memory = combination & 2, src_padding = combination & 4, tgt_padding = combination & 8;
    CAPTURE(target, memory, src_padding, tgt_padding);
    const Tables tables = tables_of(target, memory, src_padding, tgt_padding);
    // Rows beyond a valid length are nobody's: no upstream gradient, and not compared.
    const auto valid = [&](const Array& y) { return tgt_padding ? fill_beyond(y, tgt_lens, 0) : y; };
    const Array weights = valid(plain_weights);
    const auto outcome = [&](const auto& f) {
      Tape tape;
      const Tensor a = tape.watch(src), b = tape.watch(tgt), y = f(a, b);
      tape.backward(sum(y * weights));
      std::vector<Array> all = take_gradients(model);
      all.push_back(tape.grad(a));
      all.push_back(tape.grad(b));
      return std::pair(valid(y.value()), all);
    };
    const auto expected = outcome([&](const Tensor& a, const Tensor& b) { return composed(model, a, b, tables); });
    const auto boolean =
        outcome([&](const Tensor& a, const Tensor& b) { return model(a, b, masks_of(target, memory, src_padding, tgt_padding)); });
    const auto additive = outcome([&](const Tensor& a, const Tensor& b) {
      return model(a, b, {.src_bias = tables.src.bias(), .tgt_bias = tables.tgt.bias(), .memory_bias = tables.memory.bias()});
    });
    CHECK(difference(boolean.first, expected.first) <= 1e-11);
    CHECK(difference(additive.first, expected.first) <= 1e-11);
    CHECK(relative_difference(boolean.second, expected.second) <= 1e-10);
    CHECK(relative_difference(additive.second, expected.second) <= 1e-10);
    if (combination == 0)
      first = expected.first;
    else
      CHECK(difference(valid(first), expected.first) > 1e-3);
  }
}

TEST_CASE("a bias is addressed by the padded sequence when a stack leaves rows out") {
  Rng rng(2);
  const nn::TransformerDecoder decoder = exact(nn::TransformerDecoder(2, D, 2, rng, {.ffn_num_hiddens = 10, .dropout = 0}));
  const Array x = drawn({2, T, D}, 1), memory = drawn({2, S, D}, 2);
  const Array bias = drawn({2, 2, T, T}, 3), memory_bias = drawn({1, 2, T, S}, 4);
  const Mask mask = Mask::valid_lens({2, 4}) & Mask::causal(), memory_mask = Mask::valid_lens({5, 3});
  const Array packed = decoder(x, memory, {.mask = mask, .memory_mask = memory_mask, .bias = bias, .memory_bias = memory_bias}).value();
  Tensor rows = x;
  for (const auto& layer : decoder.layers)
    rows = layer(rows, memory, {.mask = mask, .memory_mask = memory_mask, .bias = bias, .memory_bias = memory_bias});
  CHECK(difference(packed, fill_beyond(rows.value(), {2, 4}, 0)) <= 1e-12);
  const nn::TransformerEncoder encoder = exact(nn::TransformerEncoder(1, 4, 2, rng, {.ffn_num_hiddens = 6, .dropout = 0}));
  CHECK(gradcheck(encoder,
                  [&](const Tensor& a, const Tensor& b) {
                    return encoder(a, {.mask = Mask::valid_lens({2, 3}), .bias = b});
                  },
                  {drawn({2, 3, 4}, 5), drawn({2, 3, 3}, 6).reshape({1, 2, 3, 3})})
            .error <= 1e-10);
}

TEST_CASE("a decoder whose memory has a width of its own") {
  Rng rng(3);
  const nn::TransformerDecoder decoder =
      exact(nn::TransformerDecoder(2, 4, 2, rng, {.ffn_num_hiddens = 6, .dropout = 0, .memory_num_hiddens = 7}));
  const auto names = names_of(decoder);
  const std::vector<std::string> cross = {"layers.0.multihead_attn.q_proj_weight [4, 4]", "layers.0.multihead_attn.k_proj_weight [4, 7]",
                                          "layers.0.multihead_attn.v_proj_weight [4, 7]", "layers.0.multihead_attn.in_proj_bias [12]"};
  CHECK(std::vector<std::string>(names.begin() + 4, names.begin() + 8) == cross);
  const Array x = drawn({2, 3, 4}, 1), memory = drawn({2, 5, 7}, 2);
  const Mask mask = Mask::causal() & Mask::valid_lens({2, 3}), memory_mask = Mask::valid_lens({5, 2});
  CHECK(gradcheck(decoder, [&](const Tensor& a, const Tensor& b) { return decoder(a, b, {.mask = mask, .memory_mask = memory_mask}); },
                  {x, memory})
            .error <= 1e-10);
  const Array packed = decoder(x, memory, {.mask = mask, .memory_mask = memory_mask}).value();
  Tensor rows = x;
  for (const auto& layer : decoder.layers) rows = layer(rows, memory, {.mask = mask, .memory_mask = memory_mask});
  CHECK(difference(packed, fill_beyond(rows.value(), {2, 3}, 0)) <= 1e-12);
  CHECK(message<ShapeError>([&] {
          decoder(x, drawn({2, 5, 4}, 2));
        }) == "TransformerDecoder: transformer_decoder: memory must be [B, T, 7]; got memory [2, 5, 4]");
  CHECK(message<ValueError>([&] { nn::TransformerEncoder(1, 4, 2, rng, {.memory_num_hiddens = 7}); }) ==
        "transformer_encoder_layer: an encoder has no memory; got memory_num_hiddens 7");
}

TEST_CASE("dropout sites are torch's: four in an encoder layer, six in a decoder layer, norms first or last") {
  Rng rng(4);
  for (const bool norm_first : {false, true}) {
    const nn::TransformerLayerOptions options = {.ffn_num_hiddens = 6, .dropout = 0.5, .norm_first = norm_first};
    const nn::TransformerEncoderLayer encoder(4, 2, rng, options);
    const nn::TransformerDecoderLayer decoder(4, 2, rng, options);
    const auto sites = [&](const auto& run) {
      Tape tape(rng);
      const auto position = rng.state().position;
      run(tape.watch(Array::ones({2, 3, 4})));
      int ops = 0;
      for (std::size_t i = 0; i < tape.nodes(); ++i) ops += std::string(tape.op(i)) == "dropout";
      return std::pair(ops, rng.state().position - position);
    };
    // An op each but for the weights of attention, which draw inside it: [2, 2, 3, 3] and [2, 2, 3, 5]; four numbers a block.
    CHECK(sites([&](const Tensor& x) { encoder(x); }) == std::pair(3, std::uint64_t{36 / 4 + (24 + 36 + 24) / 4}));
    CHECK(sites([&](const Tensor& x) {
            decoder(x, Array::ones({2, 5, 4}));
          }) == std::pair(4, std::uint64_t{36 / 4 + 60 / 4 + (24 + 24 + 36 + 24) / 4}));
  }
}
