#include <optional>
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/recorder.hpp>
#include <tapeform/nn/seq2seq.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;
using nn::AttentionKind;
using nn::AttentionRecorder;
using nn::detail::AttentionSteps;

namespace {

struct Reader : nn::Module<Reader> {  // somebody's own model: attention outside of any layer
  nn::MultiHeadAttention pool;
  std::optional<nn::TransformerEncoder> encoder;
  explicit Reader(Rng& rng) : pool(4, 2, rng) { encoder.emplace(2, 4, 1, rng, nn::TransformerEncoder::Options{.ffn_num_hiddens = 4}); }
  Tensor forward(const Tensor& x) const { return pool((*encoder)(x)); }
  void visit(nn::Fields& field) {
    field("pool", pool);
    field("encoder", encoder);
  }
};

void tell_step(const nn::MultiHeadAttention& module, const Array& weights) {
  const AttentionSteps::Step step;
  nn::detail::tell_attention(&module, weights);
}

/// Weights [R, H, n, Tk] whose element (r, h, i, j) tells where it is from.
Array numbered(Dim step, const Shape& shape) {
  Array weights(shape);
  weights.write<float>([&](std::span<float> to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(1000 * step + static_cast<Dim>(i));
  });
  return weights;
}

}  // namespace

TEST_CASE("a recorder tells kinds and layers of a model's attention modules") {
  Rng rng(1);
  const nn::Seq2Seq model(
      7, 7, rng, {.num_hiddens = 8, .num_heads = 2, .num_encoder_layers = 2, .num_decoder_layers = 2, .ffn_num_hiddens = 8, .max_len = 6});
  const AttentionRecorder recorder(model);
  using Names = std::vector<std::string>;
  CHECK(recorder.names(AttentionKind::encoder_self) ==
        Names{"transformer.encoder.layers.0.self_attn", "transformer.encoder.layers.1.self_attn"});
  CHECK(recorder.names(AttentionKind::decoder_self) ==
        Names{"transformer.decoder.layers.0.self_attn", "transformer.decoder.layers.1.self_attn"});
  CHECK(recorder.names(AttentionKind::cross) ==
        Names{"transformer.decoder.layers.0.multihead_attn", "transformer.decoder.layers.1.multihead_attn"});
  CHECK(recorder.names(AttentionKind::other).empty());
  const auto places = recorder.places();
  REQUIRE(places.size() == 6);
  CHECK(places[5].name == "transformer.decoder.layers.1.multihead_attn");
  CHECK(places[5].layer == 1);
  CHECK(places[2].layer == 0);
  CHECK(std::string(nn::name(places[5].kind)) == "cross-attention");

  const nn::CausalLM lm(5, rng, {.num_hiddens = 4, .num_heads = 1, .num_layers = 2, .max_len = 4});
  CHECK(AttentionRecorder(lm).names(AttentionKind::decoder_self) == Names{"encoder.layers.0.self_attn", "encoder.layers.1.self_attn"});
  const Reader reader(rng);
  const AttentionRecorder other(reader);
  CHECK(other.names(AttentionKind::other) == Names{"pool"});
  CHECK(other.names(AttentionKind::encoder_self) == Names{"encoder.layers.0.self_attn", "encoder.layers.1.self_attn"});
}

TEST_CASE("steps of a decoder with caches become one call: rows leave, change places, and see one key more each time") {
  Rng rng(1);
  const nn::MultiHeadAttention attention(4, 2, rng);
  AttentionRecorder recorder(attention, {.keep_all = true});
  {
    const AttentionSteps steps;
    CHECK(AttentionSteps::wanted());
    tell_step(attention, numbered(0, {3, 2, 2, 2}));  // a prompt of two positions
    tell_step(attention, numbered(1, {3, 2, 1, 3}));
    tell_step(attention, numbered(2, {2, 2, 1, 4}));  // one row has left
    CHECK(recorder.calls("").empty());
    steps.join({{2, 1, 0}, {0, 0}});
  }
  REQUIRE(recorder.calls("").size() == 1);
  const Array& call = recorder[""];
  REQUIRE(call.shape() == Shape{2, 2, 4, 4});
  const Array first = numbered(0, {3, 2, 2, 2}), second = numbered(1, {3, 2, 1, 3}), third = numbered(2, {2, 2, 1, 4});
  for (const Dim h : {0, 1})
    for (const Dim j : {0, 1, 2, 3}) {
      for (const Dim i : {0, 1}) {
        CHECK(call.at({0, h, i, j}) == (j < 2 ? first.at({2, h, i, j}) : 0));
        CHECK(call.at({1, h, i, j}) == (j < 2 ? first.at({0, h, i, j}) : 0));
      }
      CHECK(call.at({0, h, 2, j}) == (j < 3 ? second.at({1, h, 0, j}) : 0));
      CHECK(call.at({1, h, 2, j}) == (j < 3 ? second.at({0, h, 0, j}) : 0));
      CHECK(call.at({0, h, 3, j}) == third.at({0, h, 0, j}));
      CHECK(call.at({1, h, 3, j}) == 0);
    }
  nn::detail::tell_attention(&attention, numbered(5, {1, 2, 1, 1}));  // a call again
  CHECK(recorder.calls("").size() == 2);
}

TEST_CASE("steps after prompts of several lengths: each sequence goes on behind its own") {
  Rng rng(1);
  const nn::MultiHeadAttention attention(4, 1, rng);
  const AttentionRecorder recorder(attention);
  const AttentionSteps steps;
  const Array prompts = Array::of({2, 1, 2, 2}, {1, 0, 0.5, 0.5, 1, 0, 0, 0});  // the second has one position
  tell_step(attention, prompts);
  tell_step(attention, Array::of({2, 1, 1, 3}, {0.25, 0.25, 0.5, 0.75, 0.25, 0}));
  steps.join({{0, 0}, {1, 1}});
  CHECK(recorder[""].shape() == Shape{2, 1, 3, 3});
  CHECK(recorder[""].to_vector() == std::vector<double>{1, 0, 0, 0.5, 0.5, 0, 0.25, 0.25, 0.5, 1, 0, 0, 0.75, 0.25, 0, 0, 0, 0});
}

TEST_CASE("steps that nobody joins are forgotten, and a row that there was not is an error") {
  Rng rng(1);
  const nn::MultiHeadAttention attention(4, 2, rng);
  CHECK_FALSE(AttentionSteps::wanted());
  const AttentionRecorder recorder(attention);
  {
    const AttentionSteps steps;
    tell_step(attention, numbered(0, {1, 2, 1, 1}));
  }
  {
    const AttentionSteps steps;
    steps.join({{0}});
    CHECK(recorder.calls("").empty());
    tell_step(attention, numbered(0, {1, 2, 1, 1}));
    CHECK_THROWS_AS(steps.join({{1}}), ShapeError);
  }
  CHECK(recorder.calls("").empty());
}
