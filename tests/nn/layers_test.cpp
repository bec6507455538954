#include <algorithm>
#include <cmath>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/embedding.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/reduce.hpp>
#include <tapeform/nn/dropout.hpp>
#include <tapeform/nn/embedding.hpp>
#include <tapeform/nn/feed_forward.hpp>
#include <tapeform/nn/layer_norm.hpp>
#include <tapeform/nn/linear.hpp>
#include <tapeform/nn/positional.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

double largest(const Array& x) { return difference(x, Array::zeros(x.shape(), x.dtype())); }

struct NormStack : nn::Module<NormStack> {
  nn::Linear first;
  nn::LayerNorm norm;
  nn::Linear last;
  explicit NormStack(Rng& rng) : first(64, 64, rng), norm(64), last(64, 3, rng) {}
  Tensor forward(const Tensor& x) const { return last(norm(first(x))); }
  void visit(nn::Fields& field) {
    field("first", first);
    field("norm", norm);
    field("last", last);
  }
};

/// Layer norm from primitive ops.
Tensor composed_norm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor centred = x - mean(x, {-1}, {.keepdims = true});
  const Tensor variance = mean(centred * centred, {-1}, {.keepdims = true});
  return centred / sqrt(variance + 1e-5) * weight + bias;
}

}  // namespace

TEST_CASE("Linear has torch's names, shapes and first values") {
  Rng rng(1);
  const nn::Linear layer(16, 200, rng);
  CHECK(names_of(layer) == std::vector<std::string>{"weight [200, 16]", "bias [200]"});
  CHECK(largest(layer.weight.value()) <= 0.25);
  CHECK(largest(layer.weight.value()) > 0.24);
  CHECK(largest(layer.bias.value()) <= 0.25);
  CHECK(largest(layer.bias.value()) > 0.2);
  const nn::Linear without(16, 4, rng, {.bias = false});
  CHECK(names_of(without) == std::vector<std::string>{"weight [4, 16]"});
  CHECK(gradcheck(exact(nn::Linear(5, 3, rng)), {drawn({2, 4, 5}, 1)}).error <= 1e-10);
  CHECK(gradcheck(exact(nn::Linear(5, 3, rng, {.bias = false})), {drawn({4, 5}, 1)}).error <= 1e-10);
}

TEST_CASE("Embedding starts from N(0, 1) and never trains its padding row") {
  Rng rng(2);
  nn::Embedding table(50, 40, rng, {.padding_id = 3});
  CHECK(names_of(table) == std::vector<std::string>{"weight [50, 40]"});
  CHECK(all_zero(table.weight.value().rows(3, 4)));
  const auto values = table.weight.value().to_vector();
  double squares = 0;
  for (const double value : values) squares += value * value;
  CHECK(squares / (49.0 * 40.0) == Catch::Approx(1.0).margin(0.1));

  Tape tape;
  const Tensor y = table(Ids::rows({{3, 7}, {7, 0}}));
  CHECK(y.shape() == Shape{2, 2, 40});
  tape.backward(sum(y));
  const Array& dweight = table.weight.grad();
  CHECK(all_zero(dweight.rows(3, 4)));
  CHECK(dweight.at({7, 0}) == 2);
  CHECK(dweight.at({0, 5}) == 1);
}

TEST_CASE("LayerNorm without bias or without both") {
  CHECK(names_of(nn::LayerNorm(6)) == std::vector<std::string>{"weight [6]", "bias [6]"});
  CHECK(names_of(nn::LayerNorm(6, {.bias = false})) == std::vector<std::string>{"weight [6]"});
  CHECK(names_of(nn::LayerNorm(6, {.elementwise_affine = false})).empty());
  const Array ones = Array::of({1, 4}, {1, -1, 1, -1});  // variance 1
  CHECK(nn::LayerNorm(4, {.eps = 3.0})(ones).value().to_vector() == std::vector<double>{0.5, -0.5, 0.5, -0.5});
  CHECK(gradcheck(exact(nn::LayerNorm(6)), {drawn({2, 3, 6}, 1)}).error <= 1e-10);
  CHECK(gradcheck(exact(nn::LayerNorm(6, {.bias = false})), {drawn({3, 6}, 2)}).error <= 1e-10);
  CHECK(gradcheck(nn::LayerNorm(6, {.elementwise_affine = false}), {drawn({3, 6}, 3)}).error <= 1e-10);
}

TEST_CASE("LN-10: fused norm cuts the graph", "[case]") {
  Rng rng(3);
  const NormStack model = exact(NormStack(rng));
  const Array rows = drawn({4, 64}, 7), columns = drawn({64, 4}, 8);
  for (const bool transposed : {false, true}) {
    const Tensor x = transposed ? transpose(columns, 0, 1) : Tensor(rows);
    std::vector<Array> gradients[2];
    for (const bool fused : {false, true}) {
      Tape tape;
      const Tensor h = linear(x, model.first.weight, model.first.bias);
      const Tensor y = fused ? model(x) : model.last(composed_norm(h, model.norm.weight, model.norm.bias));
      tape.backward(sum(y * y));
      gradients[fused] = take_gradients(model);
    }
    CHECK(gradients[1].size() == 6);
    for (const Array& gradient : gradients[1]) CHECK(largest(gradient) > 1e-3);
    CHECK(relative_difference(gradients[1], gradients[0]) <= 1e-10);
  }
}

TEST_CASE("Dropout is the identity without a tape and scales what it keeps") {
  const nn::Dropout layer(0.25);
  CHECK(nn::parameters(layer).empty());
  const Array ones = Array::ones({1000});
  CHECK(same_bits(layer(ones).value(), ones));
  Rng rng(4);
  Tape tape(rng);
  const auto values = layer(tape.watch(ones)).value().to_vector();
  const auto zeros = std::ranges::count(values, 0.0);
  CHECK(zeros > 190);
  CHECK(zeros < 310);
  CHECK(std::ranges::all_of(values, [](double value) { return value == 0 || value == static_cast<double>(1.0f / 0.75f); }));
}

TEST_CASE("FeedForward has torch's names and right gradients for every activation") {
  Rng rng(5);
  for (const auto activation : {nn::Activation::relu, nn::Activation::gelu, nn::Activation::gelu_tanh}) {
    const nn::FeedForward ffn = exact(nn::FeedForward(4, 6, rng, {.activation = activation}));
    CHECK(names_of(ffn) ==
          std::vector<std::string>{"linear1.weight [6, 4]", "linear1.bias [6]", "linear2.weight [4, 6]", "linear2.bias [4]"});
    CHECK(gradcheck(ffn, {drawn({2, 3, 4}, 6)}).error <= 1e-10);
  }
  CHECK(names_of(nn::FeedForward(4, 6, rng, {.bias = false})).size() == 2);
}

TEST_CASE("TR-01: odd width positional encoding", "[case]") {
  const Array table = nn::sinusoidal_table(2, 5);
  const std::vector<double> expected = {0.841471, 0.540302, 0.0251162, 0.9996845, 0.00063096};
  const auto first = table.rows(1, 2).to_vector();
  for (std::size_t i = 0; i < 5; ++i) CHECK(first[i] == Catch::Approx(expected[i]).epsilon(1e-5));
  for (const Dim width : {5, 29, 3, 1}) {
    const nn::SinusoidalPositions positions(width, 7);
    const Array zeros = Array::zeros({2, 7, width}, DType::float64);
    const Array y = positions(zeros).value();
    CHECK(same_bits(y.rows(1, 2).reshape({7, width}), nn::sinusoidal_table(7, width)));
    CHECK(message<ShapeError>([&] {
            positions(Array::zeros({2, 8, width}));
          }) == "SinusoidalPositions: sinusoidal_positions: x is longer than the table of positions; got x " + Shape{2, 8, width}.str() +
                    ", table " + Shape{7, width}.str() + ". Build the module with room for 8 positions, or cut the sequence");
  }
}

TEST_CASE("positions are added row by row, from the first on, and learned ones are trained") {
  Rng rng(6);
  const nn::LearnedPositions learned = exact(nn::LearnedPositions(4, 3, rng));
  CHECK(names_of(learned) == std::vector<std::string>{"weight [4, 3]"});
  CHECK(gradcheck(learned, {drawn({2, 3, 3}, 1)}).error <= 1e-10);
  Tape tape;
  tape.backward(sum(learned(drawn({2, 3, 3}, 1))));
  CHECK(learned.weight.grad().to_vector() == std::vector<double>{2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0});

  const Array table = drawn({4, 3}, 9);
  const nn::FixedPositions fixed(table);
  CHECK(nn::parameters(fixed).empty());
  CHECK(same_bits(fixed(Array::zeros({4, 3}, DType::float64)).value(), table));
  CHECK(gradcheck(fixed, {drawn({2, 3, 3}, 1)}).error <= 1e-10);
}

TEST_CASE("cast converts parameters and buffers in place, where handles follow") {
  Rng rng(7);
  const nn::Linear layer(2, 3, rng);
  const auto handles = nn::parameters(layer);
  nn::cast(layer, DType::float64);
  CHECK(layer.weight.dtype() == DType::float64);
  CHECK(handles[0].dtype() == DType::float64);
  nn::FixedPositions fixed(drawn({4, 3}, 9));
  nn::cast(fixed, DType::float32);
  CHECK(fixed.table.dtype() == DType::float32);
}
