#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/activation.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/seq2seq.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

constexpr Dim width = 6, heads = 2, ff = 5;
const nn::TransformerLayerOptions swiglu_layer{.ffn_num_hiddens = ff, .dropout = 0, .activation = nn::Activation::silu, .gated = true};

}  // namespace

TEST_CASE("gated layers: an encoder layer is attention, norms, and a SwiGLU of its own maps") {
  Rng rng(1);
  const auto layer = exact(nn::TransformerEncoderLayer(width, heads, rng, swiglu_layer));
  CHECK(layer.feed_forward.linear1.weight.shape() == Shape{2 * ff, width});
  CHECK(layer.feed_forward.linear2.weight.shape() == Shape{width, ff});
  const Tensor x = drawn({2, 3, width}, 2);
  const Tensor h = layer.norm1(x + layer.self_attn(x));
  const Tensor y = layer.norm2(h + layer.feed_forward.linear2(swiglu(layer.feed_forward.linear1(h))));
  CHECK(difference(layer(x).value(), y.value()) <= 1e-14);
  CHECK(gradcheck(layer, {drawn({2, 3, width}, 3)}).error <= 1e-10);
}

TEST_CASE("gated layers: a decoder layer's gradients are right, and every model hands the option on") {
  Rng rng(1);
  CHECK(gradcheck(exact(nn::TransformerDecoderLayer(width, heads, rng, swiglu_layer)), {drawn({2, 3, width}, 4), drawn({2, 4, width}, 5)})
            .error <= 1e-10);

  const auto added = [](const auto& gated, const auto& plain) { return nn::count_parameters(gated) - nn::count_parameters(plain); };
  const Dim a_layer = ff * width + ff;  // the gates' rows and biases
  const nn::CausalLMOptions lm{.num_hiddens = width, .num_heads = heads, .num_layers = 3, .ffn_num_hiddens = ff};
  nn::CausalLMOptions gated_lm = lm;
  gated_lm.gated = true;
  CHECK(added(nn::CausalLM(7, rng, gated_lm), nn::CausalLM(7, rng, lm)) == 3 * a_layer);
  const nn::Seq2SeqOptions translator{
      .num_hiddens = width, .num_heads = heads, .num_encoder_layers = 1, .num_decoder_layers = 2, .ffn_num_hiddens = ff};
  nn::Seq2SeqOptions gated_translator = translator;
  gated_translator.gated = true;
  CHECK(added(nn::Seq2Seq(7, 8, rng, gated_translator), nn::Seq2Seq(7, 8, rng, translator)) == 3 * a_layer);
}
