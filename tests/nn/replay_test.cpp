#include <tapeform/core/checkpoint.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/recorder.hpp>
#include <tapeform/nn/transformer.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

const Ids ids = Ids::rows({{1, 2, 3, 4, 2}, {4, 5, 1, 1, 0}}), targets = Ids::rows({{2, 3, 4, 2, 1}, {5, 1, 1, 0, 3}});

/// The logits of a model with tied table and head, its layers called plainly or checkpointed.
Tensor logits(const nn::CausalLM& model, bool saving) {
  const nn::TransformerEncoderLayerCall call{.mask = Mask::causal()};
  Tensor x = model.pos(model.tok(ids));
  for (const nn::TransformerEncoderLayer& layer : model.encoder.layers) x = saving ? checkpoint(layer, x, call) : layer(x, call);
  return model.logits((*model.encoder.norm)(x));
}

}  // namespace

TEST_CASE("replay: a Transformer with dropout and tied weights keeps every bit of its loss and gradients") {
  Rng rng(1);
  const nn::CausalLM model(7, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 3, .max_len = 6, .dropout = 0.2});
  const auto step = [&](bool saving) {
    std::vector<Array> bits;
    for (const auto& parameter : nn::parameters(model)) parameter.grad() = Array();
    Rng draws(2);
    for (int pass = 0; pass < 2; ++pass) {  // the second adds to what the first left
      Tape tape(draws);
      const Tensor loss = cross_entropy(logits(model, saving), targets);
      tape.backward(loss);
      bits.push_back(loss.value());
    }
    for (const auto& parameter : nn::parameters(model)) bits.push_back(parameter.grad());
    return bits;
  };
  const auto plain = step(false), saving = step(true);
  REQUIRE(plain.size() == saving.size());
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(same_bits(plain[i], saving[i]));
}

TEST_CASE("replay: the memory of all decoder layers is one gradient") {
  Rng rng(1);
  const nn::TransformerDecoderLayer::Options options{.ffn_num_hiddens = 12, .dropout = 0.1};
  std::vector<nn::TransformerDecoderLayer> layers;
  for (int i = 0; i < 3; ++i) layers.emplace_back(8, 2, rng, options);
  const Array x0 = drawn({2, 4, 8}, 1).cast(DType::float32), memory0 = drawn({2, 5, 8}, 2).cast(DType::float32);
  const auto step = [&](bool saving) {
    Rng draws(2);
    Tape tape(draws);
    const Tensor memory = tape.watch(memory0);
    Tensor x = tape.watch(x0);
    const Tensor first = x;
    for (const auto& layer : layers) x = saving ? checkpoint(layer, x, memory) : layer(x, memory);
    return tape.gradients(sum(x * x), {first, memory});
  };
  const auto plain = step(false), saving = step(true);
  CHECK(same_bits(plain[0], saving[0]));
  CHECK(same_bits(plain[1], saving[1]));
}

TEST_CASE("replay: a recorder sees a call once") {
  Rng rng(1);
  const nn::CausalLM model(7, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 2, .max_len = 6});
  const nn::AttentionRecorder recorder(model, {.keep_all = true});
  Tape tape;
  tape.backward(cross_entropy(logits(model, true), targets));
  for (const std::string& name : recorder.names()) CHECK(recorder.calls(name).size() == 1);
}

TEST_CASE("replay: a deep stack holds one layer's memory and the tensors between layers") {
  Rng rng(1);
  const nn::CausalLM model(7, rng, {.num_hiddens = 32, .num_heads = 2, .num_layers = 12, .max_len = 6});
  const Array x0 = drawn({4, 64, 32}, 1).cast(DType::float32);
  const auto peak = [&](bool saving) {
    reset_peak_memory();
    const std::int64_t before = memory_stats().peak_live_bytes;  // of this thread what is live, of others their peaks
    Tape tape;
    const Tensor first = tape.watch(x0);
    Tensor x = first;
    for (const auto& layer : model.encoder.layers) x = saving ? checkpoint(layer, x) : layer(x);
    tape.gradients(sum(x), {first});
    return static_cast<double>(memory_stats().peak_live_bytes - before);
  };
  const double plain = peak(false), saving = peak(true);
  CHECK(saving < plain / 4);
}
