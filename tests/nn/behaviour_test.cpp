#include <algorithm>
#include <cmath>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/gather.hpp>
#include <tapeform/core/ops/loss.hpp>
#include <tapeform/core/ops/elementwise_loss.hpp>
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/recorder.hpp>
#include <tapeform/nn/seq2seq.hpp>
#include <tapeform/nn/sequential.hpp>
#include <tapeform/optim/adamw.hpp>
#include <tapeform/optim/clip.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

/// `updates` of AdamW on `loss()`, with gradients clipped and a warm-up of 20; returns the first and the last loss.
template <class M, class F>
std::pair<double, double> train(const M& model, int updates, double lr, const F& loss) {
  const auto parameters = nn::parameters(model);
  optim::AdamW adamw(parameters, {.weight_decay = 0});
  std::pair<double, double> losses;
  for (int update = 0; update <= updates; ++update) {
    Tape tape;
    const Tensor value = loss();
    losses.second = value.item();
    if (update == 0) losses.first = losses.second;
    tape.backward(value);
    optim::clip_grad_norm(parameters, 1.0);
    adamw.set_lr(lr * std::min(1.0, (update + 1) / 20.0));
    adamw.step();
    adamw.zero_grad();
  }
  return losses;
}

Ids random_ids(const Shape& shape, std::int64_t vocabulary, Rng& rng) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(shape.numel()));
  for (auto& id : ids) id = rng.below(vocabulary);
  return Ids(shape, ids);
}

/// Numbers of one attention, feed-forward network and norm of width C and F.
struct Counts {
  Dim attention, ffn, norm;
  Counts(Dim C, Dim F, bool bias)
      : attention(4 * C * C + (bias ? 4 * C : 0)), ffn(2 * C * F + (bias ? F + C : 0)), norm(bias ? 2 * C : C) {}
  Dim encoder_layer() const { return attention + ffn + 2 * norm; }
  Dim decoder_layer() const { return 2 * attention + ffn + 3 * norm; }
};

}  // namespace

TEST_CASE("heads 1 to 100 of width 100 build and train, and all have the same number of parameters") {
  const Array x = drawn({2, 6, 100}, 1).cast(DType::float32), y = drawn({2, 6, 100}, 2).cast(DType::float32);
  for (const Dim heads : {1, 2, 4, 5, 10, 20, 25, 50, 100}) {
    CAPTURE(heads);
    Rng rng(3);
    const nn::MultiHeadAttention mha(100, heads, rng);
    CHECK(nn::count_parameters(mha) == 4 * 100 * 100 + 4 * 100);
    Array weights;
    mha(x, {.weights = &weights});
    CHECK(weights.shape() == Shape{2, heads, 6, 6});
    const auto [before, after] = train(mha, 30, 1e-3, [&] { return mse_loss(mha(x), y); });
    CHECK(after < 0.9 * before);
  }
}

TEST_CASE("Sequential(FFN, MHA, FFN) overfits a batch") {
  Rng rng(4);
  const nn::Sequential model{nn::FeedForward(16, 32, rng), nn::MultiHeadAttention(16, 4, rng), nn::FeedForward(16, 32, rng)};
  const Array x = drawn({2, 6, 16}, 1).cast(DType::float32), y = drawn({2, 6, 16}, 2).cast(DType::float32);
  const auto [before, after] = train(model, 400, 1e-2, [&] { return mse_loss(model(x), y); });
  CHECK(before > 0.5);
  CHECK(after < 0.05);
}

TEST_CASE("parameter counts by formula: 4C² an attention without biases, 4C more with them; stacks of 1, 2 and 6") {
  const Dim C = 20, F = 28;
  for (const bool bias : {false, true}) {
    const Counts counts(C, F, bias);
    Rng rng(5);
    CHECK(nn::count_parameters(nn::MultiHeadAttention(C, 4, rng, {.bias = bias})) == counts.attention);
    CHECK(nn::count_parameters(nn::FeedForward(C, F, rng, {.bias = bias})) == counts.ffn);
    for (const Dim layers : {1, 2, 6}) {
      const nn::TransformerStackOptions options = {.ffn_num_hiddens = F, .bias = bias};
      const nn::TransformerEncoder encoder(layers, C, 4, rng, options);
      const nn::TransformerDecoder decoder(layers, C, 4, rng, options);
      CHECK(nn::count_parameters(encoder) == layers * counts.encoder_layer());
      CHECK(nn::count_parameters(decoder) == layers * counts.decoder_layer());
      const nn::Transformer both(C, 4, rng,
                                 {.num_encoder_layers = layers, .num_decoder_layers = layers, .ffn_num_hiddens = F, .bias = bias});
      CHECK(nn::count_parameters(both) == layers * (counts.encoder_layer() + counts.decoder_layer()) + 2 * counts.norm);
      for (const auto& parameter : nn::named_parameters(both)) CHECK((bias || parameter.name.find("bias") == std::string::npos));
    }
  }
}

TEST_CASE("presets have the sizes that they say") {
  Rng rng(6);
  const auto count = [&](nn::Seq2SeqOptions options) {
    options.max_len = 4;
    return nn::count_parameters(nn::Seq2Seq(7, 9, rng, options));
  };
  const auto formula = [](Dim C, Dim F, Dim layers) {
    const Counts counts(C, F, true);
    return layers * (counts.encoder_layer() + counts.decoder_layer()) + 2 * counts.norm + (7 + 9 + 9) * C;
  };
  CHECK(count(nn::Seq2SeqOptions::tiny()) == formula(64, 256, 2));
  CHECK(count(nn::Seq2SeqOptions::small()) == formula(256, 1024, 4));
  CHECK(nn::Seq2SeqOptions::tiny().num_heads == 4);
  CHECK(nn::Seq2SeqOptions::small().num_heads == 4);
  const nn::TransformerConfig base = nn::TransformerConfig::base();
  CHECK(base.num_hiddens == 512);
  CHECK(base.num_hiddens / base.num_heads == 64);
  CHECK((base.num_encoder_layers == 6 && base.num_decoder_layers == 6 && base.ffn_num_hiddens == 2048));
}

TEST_CASE("the base model with two vocabularies of 10,000: (32, 50) in, (32, 50, 10000) out, and its peak of memory", "[slow]") {
  Rng rng(7);
  const nn::Seq2Seq model(10000, 10000, rng, nn::Seq2SeqOptions::base());
  const Counts counts(512, 2048, true);
  const Dim count = 6 * (counts.encoder_layer() + counts.decoder_layer()) + 2 * counts.norm + 3 * 10000 * 512;
  CHECK(nn::count_parameters(model) == count);
  const Ids src = random_ids({32, 50}, 10000, rng), tgt = random_ids({32, 50}, 10000, rng);
  const Ids src_lens = Ids::full({32}, 50);
  constexpr double mega = 1e6;
  const double weights = 4.0 * static_cast<double>(count);
  const auto live = [] { return static_cast<double>(memory_stats().live_bytes); };
  const auto peak = [] { return static_cast<double>(memory_stats().peak_live_bytes); };
  const double before = live();
  CHECK(before >= weights);
  CHECK(before <= 1.2 * weights);
  {
    reset_peak_memory();
    const Tensor logits = model(src, src_lens, tgt);
    CHECK(logits.shape() == Shape{32, 50, 10000});
    CHECK(std::ranges::all_of(logits.value().values<float>(), [](float value) { return std::isfinite(value); }));
    CAPTURE(before / mega, peak() / mega);
    CHECK(peak() - before <= 64 * mega + 80 * mega);  // logits, and what a layer or two hold at a time
  }
  reset_peak_memory();
  Tape tape(rng);
  const Tensor loss = model.loss(src, src_lens, tgt, tgt);
  CHECK(loss.item() == Catch::Approx(std::log(10000.0)).epsilon(0.1));
  tape.backward(loss);
  for (const auto& parameter : nn::named_parameters(model)) {
    CAPTURE(parameter.name);
    REQUIRE(parameter.ref.grad());
  }
  CAPTURE(before / mega, peak() / mega);
  CHECK(peak() <= 2 * 1.2 * weights + 1200 * mega);  // weights, their gradients, activations of 12 layers
}

TEST_CASE("six layers overfit one batch, norms first and last", "[training]") {
  Rng data(8);
  const Ids src = random_ids({4, 6}, 12, data), tgt = random_ids({4, 7}, 12, data), targets = random_ids({4, 7}, 12, data);
  const Ids src_lens{6, 3, 5, 6};
  for (const bool norm_first : {true, false}) {
    CAPTURE(norm_first);
    Rng rng(9);
    auto options = nn::Seq2SeqOptions::tiny();
    options.num_hiddens = 32;
    options.num_encoder_layers = options.num_decoder_layers = 6;
    options.ffn_num_hiddens = 64;
    options.dropout = 0;
    options.norm_first = norm_first;
    options.max_len = 8;
    const nn::Seq2Seq model(12, 12, rng, options);
    const auto [before, after] = train(model, 300, 2e-3, [&] { return model.loss(src, src_lens, tgt, targets); });
    CHECK(before > 2);
    CHECK(after < 0.05);
  }
}

TEST_CASE("permuting positions permutes the output of a feed-forward network, bit for bit") {
  Rng rng(10);
  const nn::FeedForward ffn(16, 40, rng, {.activation = nn::Activation::gelu});
  const Tensor x = drawn({2, 9, 16}, 1).cast(DType::float32);
  const std::vector<std::int64_t> order = rng.permutation(9);
  const Ids places({9}, order);
  CHECK(same_bits(ffn(index_select(x, 1, places)).value(), index_select(ffn(x), 1, places).value()));
  // Attention without positions permutes too, but its sums run in another order.
  const nn::MultiHeadAttention mha = exact(nn::MultiHeadAttention(16, 4, rng));
  const Tensor y = drawn({2, 9, 16}, 2);
  CHECK(difference(mha(index_select(y, 1, places)).value(), index_select(mha(y), 1, places).value()) <= 1e-13);
}

TEST_CASE("a later token changes nothing before it, bit for bit: language model and translation, pre- and post-norm") {
  Rng rng(11);
  const Ids ids = random_ids({2, 9}, 20, rng);
  for (const bool norm_first : {false, true}) {
    const nn::CausalLM lm(20, rng, {.num_hiddens = 16, .num_heads = 2, .num_layers = 3, .max_len = 9, .norm_first = norm_first});
    auto options = nn::Seq2SeqOptions::tiny();
    options.norm_first = norm_first;
    options.max_len = 9;
    const nn::Seq2Seq translator(20, 20, rng, options);
    const auto both = [&](const Ids& target) { return std::vector<Array>{lm(target).value(), translator(ids, Ids(), target).value()}; };
    const auto plain = both(ids);
    for (Dim t = 0; t < 9; ++t) {
      Ids changed = ids;
      changed.write([t](std::span<std::int64_t> values) {
        for (const std::size_t b : {0u, 1u}) {
          auto& id = values[b * 9 + static_cast<std::size_t>(t)];
          id = (id + 7) % 20;
        }
      });
      const auto other = both(changed);
      for (const std::size_t i : {0u, 1u})
        for (const Dim b : {0, 1}) {
          CHECK(same_bits(part(other[i], b, 0, t), part(plain[i], b, 0, t)));
          CHECK_FALSE(same_bits(part(other[i], b, t, t + 1), part(plain[i], b, t, t + 1)));
        }
    }
  }
}

TEST_CASE("a decoder stack tells the cross weights of every layer") {
  Rng rng(12);
  const nn::TransformerDecoder decoder(3, 8, 2, rng, {.ffn_num_hiddens = 10, .dropout = 0});
  const Array tgt = drawn({2, 4, 8}, 1).cast(DType::float32), memory = drawn({2, 5, 8}, 2).cast(DType::float32);
  const Mask memory_mask = Mask::allow(std::vector<bool>{1, 1, 1, 1, 0, 1, 1, 0, 0, 0}, {2, 1, 1, 5});
  nn::AttentionRecorder recorder(decoder);
  const Array y = decoder(tgt, memory, {.mask = Mask::causal(), .memory_mask = memory_mask}).value();
  Tensor x = tgt;
  for (Dim i = 0; i < 3; ++i) {
    const nn::TransformerDecoderLayer& layer = decoder.layers[static_cast<std::size_t>(i)];
    const Array told = recorder["layers." + std::to_string(i) + ".multihead_attn"];
    const Tensor h = layer.norm1(x + layer.self_attn(x, {.mask = Mask::causal()}));
    Array weights;
    const Tensor g = layer.norm2(h + layer.multihead_attn(h, memory, memory, {.mask = memory_mask, .weights = &weights}));
    x = layer.norm3(g + layer.feed_forward(g));
    CHECK(told.shape() == Shape{2, 2, 4, 5});
    CHECK(same_bits(told, weights));
    for (const Dim head : {0, 1}) {
      CHECK(told.at({0, head, 3, 4}) == 0);
      CHECK(told.at({1, head, 0, 2}) == 0);
      CHECK(told.at({1, head, 2, 0}) + told.at({1, head, 2, 1}) == Catch::Approx(1).epsilon(1e-6));
    }
  }
  CHECK(same_bits(x.value(), y));
}
