#include <memory>
#include <tapeform/nn/recorder.hpp>
#include <tapeform/nn/seq2seq.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;
using nn::AttentionRecorder;

namespace {

const Ids src = Ids::rows({{1, 2, 3, 4}, {4, 5, 0, 0}}), src_lens{4, 2}, tgt = Ids::rows({{0, 1, 2}, {0, 4, 5}});

nn::Seq2Seq small(std::uint64_t seed) {
  Rng rng(seed);
  return nn::Seq2Seq(
      7, 7, rng, {.num_hiddens = 8, .num_heads = 2, .num_encoder_layers = 1, .num_decoder_layers = 2, .ffn_num_hiddens = 10, .max_len = 6});
}

}  // namespace

TEST_CASE("a recorder keeps what a model attends to, by path, and changes no bit") {
  const nn::Seq2Seq model = small(1);
  const Array plain = model(src, src_lens, tgt).value();
  AttentionRecorder recorder(model);
  CHECK(recorder.names() == std::vector<std::string>{"transformer.encoder.layers.0.self_attn", "transformer.decoder.layers.0.self_attn",
                                                     "transformer.decoder.layers.0.multihead_attn",
                                                     "transformer.decoder.layers.1.self_attn",
                                                     "transformer.decoder.layers.1.multihead_attn"});
  CHECK(same_bits(model(src, src_lens, tgt).value(), plain));
  const Array& cross = recorder["transformer.decoder.layers.1.multihead_attn"];
  CHECK(cross.shape() == Shape{2, 2, 3, 4});
  CHECK(recorder["transformer.encoder.layers.0.self_attn"].shape() == Shape{2, 2, 4, 4});
  for (const Dim b : {0, 1})
    for (const Dim h : {0, 1})
      for (const Dim i : {0, 1, 2}) {
        double total = 0;
        for (const Dim j : {0, 1, 2, 3}) {
          total += cross.at({b, h, i, j});
          if (j >= src_lens[b]) CHECK(cross.at({b, h, i, j}) == 0);
        }
        CHECK(total == Catch::Approx(1.0).epsilon(1e-6));
      }
  const Array& self = recorder["transformer.decoder.layers.0.self_attn"];
  CHECK(self.at({1, 1, 0, 0}) == 1);
  CHECK(self.at({1, 1, 0, 1}) == 0);
}

TEST_CASE("a recorder keeps the last call or all of them, of its own model only, while it lives") {
  const nn::Seq2Seq model = small(1), other = small(2);
  const std::string name = "transformer.decoder.layers.0.multihead_attn";
  {
    AttentionRecorder last(model);
    {
      AttentionRecorder all(model, {.keep_all = true}), others(other);
      model(src, src_lens, tgt);
      model(src, src_lens, Ids::rows({{0}, {0}}));
      CHECK(all.calls(name).size() == 2);
      CHECK(all.calls(name)[0].shape() == Shape{2, 2, 3, 4});
      CHECK(all[name].shape() == Shape{2, 2, 1, 4});
      CHECK(others.calls(name).empty());
      all.clear();
      CHECK(all.calls(name).empty());
    }
    CHECK(last.calls(name).size() == 1);
    CHECK(last[name].shape() == Shape{2, 2, 1, 4});
  }
  // Asked for by the caller as well, both get them.
  Rng rng(3);
  const nn::MultiHeadAttention mha(8, 2, rng);
  AttentionRecorder recorder(mha);
  Array weights;
  mha(drawn({1, 3, 8}, 1).cast(DType::float32), {.weights = &weights});
  CHECK(same_bits(recorder[""], weights));
}

TEST_CASE("a recorder that ends before another, out of order, leaves it recording") {
  const nn::Seq2Seq model = small(1);
  auto first = std::make_unique<AttentionRecorder>(model);
  const AttentionRecorder second(model);
  first.reset();
  model(src, src_lens, tgt);
  CHECK(second.calls(second.names()[0]).size() == 1);
}
