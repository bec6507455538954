#include <tapeform/nn/recorder.hpp>
#include <tapeform/tapeform.hpp>

#include "catch.hpp"
#include "message.hpp"
#include "nn/common.hpp"

using namespace tapeform;
using nn::AttentionRecorder;

namespace {

const Ids src = Ids::rows({{1, 2, 3, 4}, {4, 5, 0, 0}}), src_lens{4, 2}, tgt = Ids::rows({{0, 1, 2}, {0, 4, 5}});
const std::string cross = "transformer.decoder.layers.1.multihead_attn";

nn::Seq2Seq small() {
  Rng rng(1);
  return nn::Seq2Seq(
      7, 7, rng, {.num_hiddens = 8, .num_heads = 2, .num_encoder_layers = 1, .num_decoder_layers = 2, .ffn_num_hiddens = 10, .max_len = 6});
}

}  // namespace

TEST_CASE("a recorder keeps what heads gave where it is asked to, on the tape, and changes no bit") {
  const nn::Seq2Seq model = small();
  const Array plain = model(src, src_lens, tgt).value();
  AttentionRecorder recorder(model, {.keep_heads = true});
  const AttentionRecorder other(model);
  Tape tape(Tape::no_dropout);
  CHECK(same_bits(model(src, src_lens, tgt).value(), plain));
  const nn::AttentionHeads& heads = recorder.heads(cross);
  CHECK(heads.out.tape_id() == tape.id());
  CHECK(heads.out.shape() == Shape{6, 8});  // packed
  CHECK(heads.values.shape() == Shape{6, 8});
  CHECK(heads.k_lens == src_lens);
  // out = P·v, head by head.
  const Array& weights = recorder[cross];
  for (const Dim h : {0, 1})
    for (Dim c = 4 * h; c < 4 * (h + 1); ++c) {
      double sum = 0;
      for (const Dim j : {0, 1}) sum += weights.at({1, h, 2, j}) * heads.values.at({4 + j, c});
      CHECK(heads.out.value().at({5, c}) == Catch::Approx(sum).margin(1e-6));
    }
  CHECK_THROWS_AS(other.heads(cross), ValueError);
  recorder.clear();
  CHECK(message<ValueError>([&] { recorder.heads(cross); }) ==
        "attention_recorder: nothing was kept of the heads of 'transformer.decoder.layers.1.multihead_attn'. Give the recorder "
        "{.keep_heads = "
        "true} and call the whole model");
  CHECK_THROWS_AS(recorder.heads("nowhere"), ValueError);
}

TEST_CASE("what a recorder keeps of heads is the last call's: nothing after a decoder with caches") {
  const nn::Seq2Seq model = small();
  const AttentionRecorder recorder(model, {.keep_heads = true});
  model(src, src_lens, tgt);
  CHECK(recorder.heads(cross).out.tape_id() == 0);
  nn::generate(model, src, src_lens, {.max_new_ids = 3, .start_id = 1});
  CHECK_THROWS_AS(recorder.heads(cross), ValueError);
}
