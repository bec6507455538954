#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/ops/loss.hpp>
#include <tapeform/nn/attention.hpp>
#include <tapeform/nn/linear.hpp>
#include <tapeform/nn/transformer.hpp>
#include <tapeform/optim/adamw.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

/// Cases at the level of modules whose ops have tests of their own.

using namespace tapeform;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using Numbers = std::vector<double>;

/// Equal scores: queries and keys are projected to 0.
nn::MultiHeadAttention even(Dim width) {
  Rng rng(1);
  nn::MultiHeadAttention mha(width, 1, rng);
  nn::cast(mha, DType::float64);
  mha.in_proj_weight.ref().value() = Array::zeros({3 * width, width}, DType::float64);
  return mha;
}

Numbers weights_of(const nn::MultiHeadAttention& mha, const Array& x, nn::MultiHeadAttentionCall call) {
  Array weights;
  call.weights = &weights;
  mha(x, call);
  return weights.rows(0, 1).to_vector();
}

}  // namespace

TEST_CASE("MA-07: boolean mask polarity, through the module", "[case]") {
  const nn::MultiHeadAttention mha = even(2);
  const Array x = drawn({1, 3, 2}, 1), q = x.rows(0, 1);
  const Numbers hidden{.5, .5, 0, .5, .5, 0, .5, .5, 0}, reversed{0, 0, 1, 0, 0, 1, 0, 0, 1};
  CHECK(weights_of(mha, x, {.mask = Mask::block(std::vector<bool>{false, false, true}, {1, 3})}) == hidden);
  CHECK(weights_of(mha, x, {.mask = Mask::allow(std::vector<bool>{true, true, false}, {1, 3})}) == hidden);
  CHECK(weights_of(mha, x, {.bias = Array::of({1, 3}, {0, 0, -infinity}, DType::float64)}) == hidden);
  CHECK(weights_of(mha, x, {.mask = Mask::allow(std::vector<bool>{false, false, true}, {1, 3})}) == reversed);
}

TEST_CASE("MA-09: padding as a bias, through the module", "[case]") {
  // Only a Mask holds truths; numbers are a bias, added as they are.
  const nn::MultiHeadAttention mha = even(2);
  const Numbers hidden{1, 0, 1, 0};
  const Array x = drawn({1, 2, 2}, 1);
  CHECK(weights_of(mha, x, {.bias = Array::of({1, 1, 1, 2}, {0, -infinity}, DType::float64)}) == hidden);
  CHECK(weights_of(mha, x, {.mask = Mask::valid_lens({1})}) == hidden);
  CHECK(weights_of(mha, x, {.mask = Mask::block(std::vector<bool>{false, true}, {1, 1, 1, 2})}) == hidden);
}

TEST_CASE("MA-16: a mask of the wrong shape through an encoder layer, with and without causal", "[case]") {
  Rng rng(2);
  const nn::TransformerEncoderLayer layer(4, 1, rng, {.ffn_num_hiddens = 8, .dropout = 0});
  const Mask wrong = Mask::allow(std::vector<bool>(3, true), Shape{3, 1});
  const Array x = Array::zeros({2, 8, 4});
  for (const Mask& mask : {wrong, wrong & Mask::causal()}) {
    const std::string text = message<ShapeError>([&] { layer(x, {.mask = mask}); });
    CHECK_THAT(text, Contains("the mask must fit the scores [B, H, Tq, Tk]; got mask [3, 1], scores [2, 1, 8, 8]"));
    CHECK_THAT(text, Contains("self_attn"));
  }
}

TEST_CASE("MA-39: inference through six layers holds no more than through one", "[case]") {
  Rng rng(3);
  const Dim T = 1024, D = 64;
  const Array x = Array::zeros({1, T, D});
  const auto peak_of = [&](Dim layers) {
    const nn::TransformerEncoder encoder(layers, D, 8, rng, {.ffn_num_hiddens = 8, .dropout = 0});
    encoder(x.rows(0, 1));
    reset_peak_memory();
    const std::int64_t before = memory_stats().live_bytes;
    encoder(x);
    return memory_stats().peak_live_bytes - before;
  };
  const std::int64_t one = peak_of(1), six = peak_of(6);
  CHECK(one < (std::int64_t{8} << 20));  // a table of scores takes 32 MiB
  CHECK(six <= one + 2 * T * D * 4);
}

TEST_CASE("SL-04: every target ignored; an optimizer's step leaves the weights", "[case]") {
  Rng rng(4);
  const nn::Linear layer(3, 3, rng);
  const Array before = layer.weight.value();
  optim::AdamW adam(named_parameters(layer), {.lr = 0.1, .weight_decay = 0});
  for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
    Tape tape;
    tape.backward(cross_entropy(layer(Array::zeros({2, 3})), {-100, -100}, {.ignore_id = -100, .reduction = reduction}));
    CHECK(layer.weight.grad().to_vector() == Numbers(9, 0));
    CHECK(layer.bias.grad().to_vector() == Numbers(3, 0));
    adam.step();
    adam.zero_grad();
  }
  CHECK(same_bits(layer.weight.value(), before));
}
