#include <limits>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/nn/dropout.hpp>
#include <tapeform/nn/generate.hpp>
#include <tapeform/nn/recorder.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

Rng rng_of(std::uint64_t seed) { return Rng(seed); }

nn::TransformerEncoder encoder_of(Dim layers = 3) {
  Rng rng(1);
  return nn::TransformerEncoder(layers, 8, 2, rng, {.ffn_num_hiddens = 10, .dropout = 0});
}

nn::Seq2SeqOptions small() {
  return {.num_hiddens = 8, .num_heads = 2, .num_encoder_layers = 1, .num_decoder_layers = 1, .ffn_num_hiddens = 10, .max_len = 4};
}

Array zeros(const Shape& shape) { return Array::zeros(shape); }

/// A model whose third encoder layer is fed by hand, so that its attention meets what does not fit.
struct Model : nn::Module<Model> {
  nn::TransformerEncoder encoder;
  Model() : encoder(encoder_of()) {}
  Tensor forward(const Tensor& x, const Mask& mask) const { return encoder.layers[2](x, {.mask = mask}); }
  void visit(nn::Fields& field) { field("encoder", encoder); }
};

}  // namespace

TEST_CASE("MA-31: width not divisible by heads", "[case]") {
  Rng rng = rng_of(1);
  const auto text = [&](Dim width, Dim heads) { return message<ValueError>([&] { nn::MultiHeadAttention(width, heads, rng); }); };
  CHECK(text(10, 3) ==
        "multi_head_attention: num_heads must divide num_hiddens; got num_hiddens 10, num_heads 3. Counts that do: 1, 2, 5, 10");
  CHECK(
      text(4096, 7) ==
      "multi_head_attention: num_heads must divide num_hiddens; got num_hiddens 4096, num_heads 7. Counts that do: 1, 2, 4, 8, 16, 32, 64, "
      "128, 256, 512, 1024, 2048, 4096");
  CHECK(text(4, 0) == "multi_head_attention: num_heads must divide num_hiddens; got num_hiddens 4, num_heads 0. Counts that do: 1, 2, 4");
  CHECK(text(4, -1) == "multi_head_attention: num_heads must divide num_hiddens; got num_hiddens 4, num_heads -1. Counts that do: 1, 2, 4");
  CHECK(text(0, 1) == "multi_head_attention: num_hiddens must be at least 1; got 0");
}

TEST_CASE("MA-32: more heads than width", "[case]") {
  Rng rng = rng_of(1);
  CHECK(message<ValueError>([&] { nn::MultiHeadAttention(2, 8, rng); }) ==
        "multi_head_attention: num_heads must divide num_hiddens; got num_hiddens 2, num_heads 8. Counts that do: 1, 2");
}

TEST_CASE("misuse: options out of range are named by the constructor") {
  Rng rng = rng_of(1);
  CHECK(message<ValueError>([&] { nn::Linear(3, 0, rng); }) == "linear: both widths must be at least 1; got in 3, out 0");
  CHECK(message<ValueError>([&] { nn::Embedding(5, 2, rng, {.padding_id = 5}); }) ==
        "embedding: padding_id must be -1 (none) or an id below 5; got 5");
  CHECK(message<ValueError>([&] { nn::LayerNorm(4, {.eps = -1.0}); }) == "layer_norm: eps must be finite and at least 0; got -1");
  CHECK(message<ValueError>([&] { nn::Dropout(1.5); }) == "dropout: dropout must be a probability between 0 and 1; got 1.5");
  CHECK(message<ValueError>([&] { nn::FeedForward(4, 8, rng, {.dropout = -0.1}); }) ==
        "feed_forward: dropout must be a probability between 0 and 1; got -0.1");
  CHECK(message<ValueError>([&] { nn::MultiHeadAttention(4, 2, rng, {.dropout = nan_value}); }) ==
        "multi_head_attention: dropout must be a probability between 0 and 1; got nan");
  CHECK(message<ValueError>([&] { encoder_of(0); }) == "transformer_encoder: num_layers must be at least 1; got 0");
  CHECK(message<ShapeError>([&] { nn::FixedPositions(zeros({4})); }) == "fixed_positions: the table must be [length, D]; got [4]");
  auto options = small();
  options.share_embeddings = true;
  CHECK(message<ValueError>([&] { nn::Seq2Seq(7, 9, rng, options); }) ==
        "seq2seq: shared embeddings need one vocabulary; got src_vocab 7, tgt_vocab 9");
}

TEST_CASE("misuse: a width that does not fit names op, path, both shapes and the cure") {
  const nn::TransformerEncoder encoder = encoder_of();
  CHECK(message<ShapeError>([&] {
          encoder(zeros({2, 5, 6}));
        }) == "TransformerEncoder: transformer_encoder: x must be [B, T, 8]; got x [2, 5, 6]");
  CHECK(message<ShapeError>([&] {
          encoder(zeros({5, 8}));
        }) == "TransformerEncoder: transformer_encoder: x must be [B, T, 8]; got x [5, 8]");
  const Model model;
  CHECK(
      message<ShapeError>([&] {
        model(zeros({2, 5, 6}), Mask());
      }) ==
      "encoder.layers.2.self_attn: multi_head_attention: q must be [B, Tq, 8], k [B, Tk, 8], v [B, Tk, 8]; got q [2, 5, 6], k [2, 5, 6], v "
      "[2, 5, 6]");
  CHECK(message<ShapeError>([&] {
          encoder.layers[0].feed_forward.linear1(zeros({2, 7}));
        }) ==
        "Linear: linear: x must end in in_features 8; got x [2, 7], weight [10, 8]. Build the layer for 7 or change the last axis of x");
  CHECK(message<ShapeError>([&] {
          encoder.layers[0].norm1(zeros({2, 7}));
        }) == "LayerNorm: layer_norm: the last axis must be the module's num_hiddens, 8; got x [2, 7]");
}

TEST_CASE("misuse: MA-16, a mask of the wrong shape is never dropped") {
  const Model model;
  const Mask table = Mask::allow(std::vector<bool>(3, true), {3, 1});
  for (const Mask& mask : {table, table & Mask::causal()})
    CHECK_THAT(message<ShapeError>([&] {
                 model(zeros({2, 8, 8}), mask);
               }),
               Contains("encoder.layers.2.self_attn: multi_head_attention: ") && Contains("[3, 1]") && Contains("[2, 2, 8, 8]"));
  CHECK_THAT(
      message<ShapeError>([&] {
        model(zeros({2, 8, 8}), Mask::valid_lens({3, 4, 5}));
      }),
      Equals("encoder.layers.2.self_attn: multi_head_attention: valid lengths must be [B], one a sample; got lengths [3], scores [2, 2, "
             "8, 8]"));
  CHECK(message<ValueError>([&] {
          model(zeros({2, 8, 8}), Mask::valid_lens({3, 9}));
        }) == "encoder.layers.2.self_attn: multi_head_attention: a valid length may not exceed the 8 keys; got 9 for sample 1");
}

TEST_CASE("misuse: query, key and value that do not fit each other") {
  Rng rng = rng_of(1);
  const nn::MultiHeadAttention mha(8, 2, rng, {.kdim = 6, .vdim = 4});
  CHECK(message<ShapeError>([&] {
          mha(zeros({2, 3, 8}));
        }) ==
        "MultiHeadAttention: multi_head_attention: q must be [B, Tq, 8], k [B, Tk, 6], v [B, Tk, 4]; got q [2, 3, 8], k [2, 3, 8], v [2, "
        "3, 8]");
  CHECK(message<ShapeError>([&] {
          mha(zeros({2, 3, 8}), zeros({2, 5, 6}), zeros({2, 4, 4}));
        }) ==
        "MultiHeadAttention: multi_head_attention: q must be [B, Tq, 8], k [B, Tk, 6], v [B, Tk, 4]; got q [2, 3, 8], k [2, 5, 6], v [2, "
        "4, 4]");
  CHECK(message<ShapeError>([&] {
          mha(zeros({3, 8}), zeros({5, 6}), zeros({5, 4}), {.q_lens = {1, 2}});
        }) == "MultiHeadAttention: multi_head_attention: q_lens and k_lens go together; got q_lens [2], k_lens [0]");
  const nn::TransformerDecoder decoder(1, 8, 2, rng, {.ffn_num_hiddens = 10});
  CHECK(message<ShapeError>([&] {
          decoder(zeros({2, 3, 8}), zeros({1, 4, 8}));
        }) == "TransformerDecoder: transformer_decoder: x and memory must have the same batch; got x [2, 3, 8], memory [1, 4, 8]");
  CHECK(message<ShapeError>([&] {
          nn::split_heads(zeros({2, 3, 8}), 3);
        }) == "split_heads: x must be [B, T, E] with E a multiple of num_heads; got x [2, 3, 8], num_heads 3");
  CHECK(message<ShapeError>([&] { nn::merge_heads(zeros({2, 3, 8})); }) == "merge_heads: x must be [B, H, T, E/H]; got x [2, 3, 8]");
}

TEST_CASE("misuse: two dtypes are an error that names both") {
  const Model model;
  CHECK(message<DTypeError>([&] {
          model(Array::zeros({2, 5, 8}, DType::float64), Mask());
        }) == "encoder.layers.2.self_attn: linear: dtypes must agree; got x float64, weight float32. Use cast()");
}

TEST_CASE("misuse: ids outside a vocabulary, of the wrong rank, too many, or with other targets") {
  Rng rng = rng_of(1);
  const nn::Seq2Seq model(7, 9, rng, small());
  const Ids src = Ids::rows({{1, 2}, {3, 4}}), lens{2, 1};
  CHECK(message<ValueError>([&] {
          model(Ids::rows({{1, 7}, {0, 0}}), lens, src);
        }) == "src_embed: embedding: ids must lie in [0, 7), a row of the weight each; got 7 at [0, 1] of ids [2, 2], weight [7, 8]");
  CHECK(message<ShapeError>([&] { model(Ids{1, 2}, lens, src); }) == "Seq2Seq: seq2seq: src must be ids [B, T]; got src [2]");
  CHECK(message<ShapeError>([&] {
          model(src, Ids::rows({{2, 1}}), src);
        }) == "Seq2Seq: seq2seq: src_lens must be [B]; got src_lens [1, 2]");
  CHECK(message<ValueError>([&] {
          model(src, Ids{2, 3}, src);
        }) == "transformer.encoder: transformer_encoder: a valid length may not exceed the 2 keys; got 3 for sample 1");
  CHECK(message<ShapeError>([&] {
          model(src, lens, Ids::rows({{1, 2}}));
        }) == "transformer.decoder: transformer_decoder: x and memory must have the same batch; got x [1, 2, 8], memory [2, 2, 8]");
  CHECK(message<ShapeError>([&] {
          model.loss(src, lens, src, Ids{1, 2});
        }) == "Seq2Seq: seq2seq: targets must have the shape of the ids that they follow; got ids [2, 2], targets [2]");
  CHECK_THAT(message<ValueError>([&] {
               model.loss(src, lens, src, Ids::rows({{1, 2}, {3, 9}}));
             }),
             Contains("Seq2Seq: linear_cross_entropy: ") && Contains("got 9 at [1, 1] of targets [2, 2]"));

  const nn::CausalLM lm(9, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 1, .max_len = 4});
  CHECK(message<ShapeError>([&] {
          lm(Ids::full({1, 5}, 0));
        }) ==
        "pos: learned_positions: x is longer than the table of positions; got x [1, 5, 8], table [4, 8]. Build the module with room for 5 "
        "positions, or cut the sequence");
  CHECK(message<ShapeError>([&] { lm(Ids{1, 2}); }) == "CausalLM: causal_lm: ids must be ids [B, T]; got ids [2]");
  CHECK(message<ValueError>([&] {
          lm.loss(src, src, {}, {.lens = {2, -1}});
        }) == "CausalLM: valid_lens: a length may not be negative; got -1 for sample 1");
}

TEST_CASE("misuse: dropout under a tape without randomness names both cures") {
  Rng rng = rng_of(1);
  const nn::TransformerEncoder encoder(1, 8, 2, rng, {.ffn_num_hiddens = 10, .dropout = 0.1});
  Tape tape;
  CHECK_THAT(
      message<TapeError>([&] {
        encoder(tape.watch(zeros({1, 3, 8})));
      }),
      Contains("layers.0.self_attn: attention_qkv: this tape has no randomness for p = 0.1. Write Tape tape(rng) to train with dropout, "
               "or Tape tape(Tape::no_dropout)"));
}

TEST_CASE("misuse: a tensor of another tape is named with the module that met it") {
  const Model model;
  Tensor x;
  {
    Tape tape;
    x = tape.watch(zeros({1, 3, 8})) + 1.0;
  }
  Tape tape;
  CHECK(message<TapeError>([&] { model(x, Mask()); }) ==
        "encoder.layers.2.self_attn: linear: an input of shape [1, 3, 8] belongs to a tape that has ended or to another thread's. Use "
        "stop_gradient(x) to carry a value from one tape to another");
  CHECK_NOTHROW(model(stop_gradient(x), Mask()));
}

TEST_CASE("misuse: generation and recording") {
  Rng rng = rng_of(1);
  const nn::CausalLM lm(9, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 1, .max_len = 4});
  const Ids prompt = Ids::rows({{1, 2}});
  CHECK(message<ValueError>([&] { nn::generate(lm, prompt, {.max_new_ids = -1}); }) == "generate: max_new_ids must be at least 0; got -1");
  CHECK(message<ShapeError>([&] {
          nn::generate(lm, Ids{1, 2});
        }) == "generate: the prompt must be ids [B, T] with at least one in every row; got [2]");
  CHECK(message<ValueError>([&] { nn::generate(lm, prompt, rng, {.temperature = -1}); }) ==
        "generate: temperature must be finite and at least 0; got -1");
  CHECK(message<ValueError>([&] { nn::generate(lm, prompt, rng, {.top_p = 0}); }) == "generate: top_p must be over 0 and at most 1; got 0");
  CHECK(message<ValueError>([&] { nn::generate(lm, prompt, rng, {.top_k = -2}); }) ==
        "generate: top_k must be at least 0 (0: all); got -2");
  CHECK(message<ValueError>([&] {
          nn::sample_id(Array::of({2}, {0.0, nan_value}), rng);
        }) == "generate: the logit of id 1 is nan. Training has diverged, or a weight is not finite");
  CHECK(message<ShapeError>([&] { nn::sample_id(zeros({2, 3}), rng); }) == "sample_id: logits must be [V] with at least one; got [2, 3]");
  const nn::Seq2Seq model(7, 9, rng, small());
  CHECK(message<ValueError>([&] { nn::generate(model, prompt, {}, {.max_new_ids = 5}); }) ==
        "generate: max_new_ids must not be over the model's max_len; got max_new_ids 5, max_len 4");

  const nn::Linear linear(2, 2, rng);
  CHECK(message<ValueError>([&] { nn::AttentionRecorder recorder(linear); }) == "attention_recorder: the model has no MultiHeadAttention");
  const nn::AttentionRecorder recorder(lm);
  CHECK(message<ValueError>([&] { recorder["encoder.layers.1.self_attn"]; }) ==
        "attention_recorder: the model has no attention module 'encoder.layers.1.self_attn'. It has: encoder.layers.0.self_attn");
  CHECK(message<ValueError>([&] { recorder["encoder.layers.0.self_attn"]; }) ==
        "attention_recorder: 'encoder.layers.0.self_attn' has not been called yet. Call the model while the recorder lives");
}
