#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/nn/attention.hpp>
#include <tapeform/nn/embedding.hpp>
#include <tapeform/nn/init.hpp>
#include <tapeform/nn/layer_norm.hpp>
#include <tapeform/nn/positional.hpp>

#include "catch.hpp"
#include "message.hpp"

using namespace tapeform;

TEST_CASE("misuse: sizes of layers and of first values are named") {
  Rng rng(1);
  CHECK(message<ValueError>([&] { nn::MultiHeadAttention(4, 2, rng, {.kdim = -3}); }) ==
        "multi_head_attention: widths must be at least 1; got kdim -3, vdim 4");
  CHECK(message<ValueError>([&] { nn::Embedding(0, 4, rng); }) == "embedding: both sizes must be at least 1; got num_ids 0, num_hiddens 4");
  CHECK(message<ValueError>([&] { nn::LayerNorm(0); }) == "layer_norm: num_hiddens must be at least 1; got 0");
  CHECK(message<ValueError>([&] { nn::LearnedPositions(4, 0, rng); }) ==
        "learned_positions: both sizes must be at least 1; got max_len 4, num_hiddens 0");
  CHECK(message<ValueError>([&] { nn::sinusoidal_table(-1, 4); }) ==
        "sinusoidal_positions: length must be at least 0 and num_hiddens at least 1; got -1 and 4");
  CHECK(message<ValueError>([&] { nn::fan_in_uniform({2, 2}, 0, rng); }) == "fan_in_uniform: fan_in must be at least 1; got 0");
  CHECK(message<ShapeError>([&] { nn::xavier({2}, rng); }) == "xavier: the weight must be [out, in]; got [2]");
}
