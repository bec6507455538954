#include <tapeform/core/ops/attention_cache.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/nn/attention.hpp>
#include <tapeform/nn/transformer.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

TEST_CASE("attention with a cache gives the rows of one call, keys and values of any width") {
  Rng rng(1);
  for (const Dim width : {8, 5}) {  // 5: keys and values are projected apart
    const auto mha = exact(nn::MultiHeadAttention(8, 2, rng, {.kdim = width, .vdim = width}));
    const Array q = drawn({2, 4, 8}, 1), memory = drawn({2, 3, width}, 2);
    const Array whole = mha(q, memory, memory).value();
    KeyValueCache cache;
    for (Dim t = 0; t < 4; ++t) {
      const Tensor one = slice(q, 1, t, t + 1), keys = t == 0 ? Tensor(memory) : Tensor();
      CHECK(difference(mha(one, keys, keys, {.cache = &cache}).value(), slice(whole, 1, t, t + 1).value()) < 1e-12);
    }
    CHECK(cache.lengths() == Ids{3, 3});
  }
  const auto mha = exact(nn::MultiHeadAttention(8, 2, rng));
  const Array x = drawn({2, 4, 8}, 3), whole = mha(x, {.mask = Mask::causal()}).value();
  KeyValueCache cache;
  const Array first = mha(slice(x, 1, 0, 2), {.mask = Mask::causal(), .cache = &cache}).value();
  CHECK(difference(first, slice(whole, 1, 0, 2).value()) < 1e-12);
  for (Dim t = 2; t < 4; ++t)
    CHECK(difference(mha(slice(x, 1, t, t + 1), {.cache = &cache}).value(), slice(whole, 1, t, t + 1).value()) < 1e-12);
}

TEST_CASE("a decoder whose memory has a width of its own goes on with what is kept") {
  Rng rng(2);
  const auto decoder = exact(nn::TransformerDecoder(2, 8, 2, rng, {.ffn_num_hiddens = 12, .dropout = 0, .memory_num_hiddens = 6}));
  const Array x = drawn({2, 3, 8}, 1), memory = drawn({2, 4, 6}, 2);
  const Mask seen = Mask::valid_lens(Ids{4, 2});
  const Array whole = decoder(x, memory, {.mask = Mask::causal(), .memory_mask = seen}).value();
  nn::TransformerCache cache;
  for (Dim t = 0; t < 3; ++t) {
    const Tensor one = slice(x, 1, t, t + 1);
    const Tensor y = t == 0 ? decoder(one, memory, {.mask = Mask::causal(), .memory_mask = seen, .cache = &cache})
                            : decoder(one, Tensor(), {.cache = &cache});
    CHECK(difference(y.value(), slice(whole, 1, t, t + 1).value()) < 1e-12);
  }
}

TEST_CASE("attention with a cache names what does not fit") {
  Rng rng(3);
  const nn::MultiHeadAttention mha(8, 2, rng);
  const Tensor x = drawn({2, 3, 8}, 1).cast(DType::float32), one = slice(x, 1, 0, 1);
  KeyValueCache cache;
  CHECK(message<ValueError>([&] {
          mha(x, {.mask = Mask::valid_lens(Ids{3, 1}), .cache = &cache});
        }) ==
        "MultiHeadAttention: multi_head_attention: a cache takes no rows that the mask hides from every query. Pack the rows (q_lens, "
        "k_lens)");
  {
    Tape tape(Tape::no_dropout);
    CHECK(message<TapeError>([&] { mha(x, {.cache = &cache}); }) ==
          "MultiHeadAttention: key_value_cache: a cache keeps no derivatives, and a tape records. Decode in the scope of a NoTape");
  }
  mha(x, {.cache = &cache});
  CHECK(message<ShapeError>([&] { mha(x, {.cache = &cache}); }) ==
        "MultiHeadAttention: multi_head_attention: with a cache, q must be [2, 1, 8] and k, v one position a row or nothing; got q [2, 3, "
        "8], "
        "k [2, 3, 8], v [2, 3, 8]");
  CHECK(message<ValueError>([&] { mha(one, {.mask = Mask::causal(), .cache = &cache}); }) ==
        "MultiHeadAttention: multi_head_attention: a query sees all that its row of the cache holds; got a mask or a bias besides");
  CHECK(cache.lengths() == Ids{3, 3});
}
