#include <array>
#include <memory>
#include <optional>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/io/checkpoint.hpp>
#include <tapeform/core/ops/activation.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/reduce.hpp>
#include <tapeform/nn/attention.hpp>
#include <tapeform/nn/feed_forward.hpp>
#include <tapeform/nn/layer_norm.hpp>
#include <tapeform/nn/positional.hpp>
#include <tapeform/nn/rms_norm.hpp>
#include <tapeform/nn/seq2seq.hpp>
#include <tapeform/nn/sequential.hpp>

#include "catch.hpp"
#include "core/files.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

/// A layer that is chosen at run time.
struct AnyLayer : nn::Module<AnyLayer> {
  virtual ~AnyLayer() = default;
  virtual Tensor forward(const Tensor& x) const = 0;
  virtual void visit(nn::Fields& field) = 0;
};

struct Dense final : AnyLayer {
  nn::Linear map;
  Dense(Dim in, Dim out, Rng& rng) : map(in, out, rng) {}
  Tensor forward(const Tensor& x) const override { return map(x); }
  void visit(nn::Fields& field) override { field("map", map); }
};

struct Scale final : AnyLayer {
  Parameter factor{Array::full({1}, 2.0)};
  Tensor forward(const Tensor& x) const override { return x * factor; }
  void visit(nn::Fields& field) override { field("factor", factor); }
};

struct Chosen : nn::Module<Chosen> {
  std::vector<std::unique_ptr<AnyLayer>> layers;
  Tensor forward(Tensor x) const {
    for (const auto& layer : layers) x = (*layer)(x);
    return x;
  }
  void visit(nn::Fields& field) { field("layers", layers); }
};

struct Containers : nn::Module<Containers> {
  std::vector<nn::Linear> many;
  std::array<nn::Linear, 2> pair;
  std::optional<nn::LayerNorm> norm;
  std::vector<std::array<Parameter, 2>> nested;
  Containers(Rng& rng, Dim count, bool with_norm)
      : pair{nn::Linear(3, 3, rng, {.bias = false}), nn::Linear(3, 2, rng, {.bias = false})}, nested(1) {
    for (Dim i = 0; i < count; ++i) many.emplace_back(3, 3, rng, nn::LinearOptions{.bias = i > 0});
    if (with_norm) norm.emplace(3, nn::LayerNormOptions{.bias = false});
    nested[0][1] = Parameter(Array::ones({2}));
  }
  Tensor forward(Tensor x) const {
    for (const nn::Linear& layer : many) x = layer(x);
    if (norm) x = (*norm)(x);
    return pair[1](pair[0](x)) * nested[0][1];
  }
  void visit(nn::Fields& field) {
    field("many", many);
    field("pair", pair);
    field("norm", norm);
    field("nested", nested);
  }
};

/// Divides by the largest magnitude that it has seen.
struct Normaliser : nn::Module<Normaliser> {
  Array largest = Array::ones({1});
  Tensor forward(const Tensor& x) {
    double seen = largest.item();
    for (const double value : x.value().to_vector()) seen = std::max(seen, std::abs(value));
    largest = Array::full({1}, seen);
    return x / seen;
  }
  void visit(nn::Fields& field) { field("largest", largest); }
};

std::vector<Array> values_of(const auto& model) {
  std::vector<Array> values;
  for (const auto& parameter : nn::parameters(model)) values.push_back(parameter.value());
  return values;
}

}  // namespace

TEST_CASE("modules: vectors, arrays and optionals of modules, nested ones too") {
  Rng rng(1);
  const Containers model = exact(Containers(rng, 2, true));
  CHECK(names_of(model) == std::vector<std::string>{"many.0.weight [3, 3]", "many.1.weight [3, 3]", "many.1.bias [3]",
                                                    "pair.0.weight [3, 3]", "pair.1.weight [2, 3]", "norm.weight [3]", "nested.0.1 [2]"});
  CHECK(gradcheck(model, {drawn({4, 3}, 1)}).error <= 1e-10);
  CHECK(names_of(Containers(rng, 0, false)) == std::vector<std::string>{"pair.0.weight [3, 3]", "pair.1.weight [2, 3]", "nested.0.1 [2]"});
  CHECK(message<ShapeError>([&] {
          Containers wrong(rng, 2, false);
          wrong.many[1] = nn::Linear(4, 3, rng);
          wrong(Array::zeros({2, 3}));
        }) ==
        "many.1: linear: x must end in in_features 4; got x [2, 3], weight [3, 4]. Build the layer for 3 or change the last axis of x");
}

TEST_CASE("modules: one that is local to a function") {
  struct Local : nn::Module<Local> {
    nn::Linear up, down;
    explicit Local(Rng& rng) : up(3, 5, rng), down(5, 2, rng) {}
    Tensor forward(const Tensor& x) const { return down(gelu(up(x))); }
    void visit(nn::Fields& field) {
      field("up", up);
      field("down", down);
    }
  };
  Rng rng(2);
  const Local model = exact(Local(rng));
  CHECK(names_of(model) == std::vector<std::string>{"up.weight [5, 3]", "up.bias [5]", "down.weight [2, 5]", "down.bias [2]"});
  CHECK(gradcheck(model, {drawn({4, 3}, 1)}).error <= 1e-10);
  CHECK(std::string(nn::detail::type_name<Local>()) == "Local");
}

TEST_CASE("modules: layers with a virtual forward are named, trained, saved, moved and found by errors") {
  Rng rng(3);
  Chosen model;
  model.layers.push_back(std::make_unique<Dense>(3, 4, rng));
  model.layers.push_back(std::make_unique<Scale>());
  model.layers.push_back(std::make_unique<Dense>(4, 2, rng));
  CHECK(names_of(model) == std::vector<std::string>{"layers.0.map.weight [4, 3]", "layers.0.map.bias [4]", "layers.1.factor [1]",
                                                    "layers.2.map.weight [2, 4]", "layers.2.map.bias [2]"});
  CHECK(message<ShapeError>([&] {
          model(Array::zeros({2, 5}));
        }) ==
        "layers.0.map: linear: x must end in in_features 3; got x [2, 5], weight [4, 3]. Build the layer for 5 or change the last axis "
        "of x");
  const auto handles = nn::parameters(model);
  const Array x = drawn({2, 3}, 1).cast(DType::float32);
  const Array y = model(x).value();
  const TemporaryFile file("chosen.safetensors");
  io::save_checkpoint(file.path, model);
  Chosen moved = std::move(model);
  CHECK(nn::parameters(moved) == handles);
  for (const auto& parameter : handles) parameter.value() = Array::zeros(parameter.shape());
  CHECK(all_zero(moved(x).value()));
  io::load_checkpoint(file.path, moved);
  CHECK(same_bits(moved(x).value(), y));
  nn::cast(moved, DType::float64);
  CHECK(gradcheck(moved, {drawn({2, 3}, 1)}).error <= 1e-10);
}

TEST_CASE("modules: a buffer is saved, loaded and cast, never trained, and copied by value") {
  Normaliser module;
  module(Array::of({2}, {3, -8}));
  CHECK(module.largest.item() == 8);
  CHECK(nn::parameters(module).empty());
  const TemporaryFile file("buffer.safetensors");
  io::save_checkpoint(file.path, module);
  Normaliser other;
  io::load_checkpoint(file.path, other);
  CHECK(other.largest.item() == 8);
  Normaliser copy = nn::clone(module);
  copy(Array::of({1}, {16}));
  CHECK(copy.largest.item() == 16);
  CHECK(module.largest.item() == 8);
  nn::cast(copy, DType::float64);
  CHECK(copy.largest.dtype() == DType::float64);
}

TEST_CASE("modules: clone is an independent model without gradients, and keeps what is frozen") {
  Rng rng(4);
  nn::FeedForward model(3, 4, rng);
  model.linear1.bias.set_trainable(false);
  {
    Tape tape;
    tape.backward(sum(model(Array::ones({2, 3}))));
  }
  const nn::FeedForward copy = nn::clone(model);
  CHECK(same_bits(values_of(copy), values_of(model)));
  for (const auto& parameter : nn::parameters(copy)) CHECK_FALSE(parameter.grad());
  CHECK_FALSE(copy.linear1.bias.trainable());
  CHECK(copy.linear1.weight.value().shares_buffer_with(model.linear1.weight.value()));  // until one is written
  model.linear1.weight.assign(Array::zeros({4, 3}));
  CHECK_FALSE(all_zero(copy.linear1.weight.value()));
}

TEST_CASE("modules: assignment writes into what is there, and handles follow") {
  Rng rng(5);
  nn::FeedForward a(3, 4, rng);
  const nn::FeedForward b(3, 4, rng);
  const auto handles = nn::parameters(a);
  a = b;
  CHECK(nn::parameters(a) == handles);
  CHECK(same_bits(values_of(a), values_of(b)));
  nn::FeedForward empty = std::move(a);
  a = b;  // what was moved from takes anything
  CHECK(same_bits(values_of(a), values_of(b)));
  const nn::FeedForward wide(3, 9, rng);
  a = nn::clone(wide);
  CHECK(a.linear1.weight.shape() == Shape{9, 3});
  CHECK(same_bits(a(Array::ones({1, 3})).value(), wide(Array::ones({1, 3})).value()));
}

TEST_CASE("modules: assignment of another shape, dtype or set of parameters is an error before anything changes") {
  Rng rng(6);
  const std::string rule = "module: copy assignment needs the same parameters and buffers on both sides; ";
  const std::string cure = ". To replace a module by another one, move: a = nn::clone(b)";
  const auto check = [&]<class E>(E, auto& to, const auto& from, const std::string& got) {
    const std::vector<Array> before = values_of(to);
    const auto handles = nn::parameters(to);
    CHECK(message<E>([&] { to = from; }) == rule + got + cure);
    CHECK(nn::parameters(to) == handles);
    CHECK(same_bits(values_of(to), before));
  };
  nn::FeedForward ffn(3, 4, rng);
  // linear1 fits: only linear2 does not
  nn::Sequential<nn::Linear, nn::Linear> two{nn::Linear(3, 4, rng), nn::Linear(4, 2, rng)};
  check(ShapeError(""), two, nn::Sequential<nn::Linear, nn::Linear>{nn::Linear(3, 4, rng), nn::Linear(4, 5, rng)},
        "got [5, 4] for 1.weight [2, 4]");
  check(ShapeError(""), ffn, nn::FeedForward(3, 4, rng, {.bias = false}), "got nothing for linear1.bias [4]");
  nn::FeedForward plain(3, 4, rng, {.bias = false});
  check(ShapeError(""), plain, ffn, "got linear1.bias [4], which the left side does not have");
  nn::FeedForward exact_one(3, 4, rng);
  nn::cast(exact_one.linear2, DType::float64);
  check(DTypeError(""), ffn, exact_one, "got float64 for linear2.weight float32");

  Containers shallow(rng, 1, true), deep(rng, 2, true);
  check(ShapeError(""), shallow, deep, "got many.1.weight [3, 3], which the left side does not have");
  check(ShapeError(""), deep, shallow, "got nothing for many.1.weight [3, 3]");
  check(ShapeError(""), deep, Containers(rng, 2, false), "got nothing for norm.weight [3]");
  nn::FixedPositions positions(drawn({4, 3}, 1));
  check(ShapeError(""), positions, nn::FixedPositions(drawn({5, 3}, 1)), "got [5, 3] for table [4, 3]");
  CHECK(positions.table.shape() == Shape{4, 3});
}

TEST_CASE("Sequential(FFN, MHA, FFN): names, gradients and the path of an error") {
  Rng rng(7);
  const nn::Sequential model = exact(nn::Sequential{nn::FeedForward(8, 6, rng, {.bias = false}), nn::MultiHeadAttention(8, 2, rng),
                                                    nn::FeedForward(8, 5, rng, {.activation = nn::Activation::gelu})});
  CHECK(names_of(model) == std::vector<std::string>{"0.linear1.weight [6, 8]", "0.linear2.weight [8, 6]", "1.in_proj_weight [24, 8]",
                                                    "1.in_proj_bias [24]", "1.out_proj.weight [8, 8]", "1.out_proj.bias [8]",
                                                    "2.linear1.weight [5, 8]", "2.linear1.bias [5]", "2.linear2.weight [8, 5]",
                                                    "2.linear2.bias [8]"});
  const Array x = drawn({2, 3, 8}, 1);
  CHECK(same_bits(model(x).value(), model.get<2>()(model.get<1>()(model.get<0>()(x))).value()));
  CHECK(gradcheck(model, {x}).error <= 1e-10);
  CHECK(message<ShapeError>([&] {
          model(drawn({3, 8}, 1));
        }) == "1: multi_head_attention: q must be [B, Tq, 8], k [B, Tk, 8], v [B, Tk, 8]; got q [3, 8], k [3, 8], v [3, 8]");
}

TEST_CASE("Sequential: functions keep their place in the names, braces build from left to right") {
  Rng rng(8), same(8);
  nn::Sequential mlp{nn::Linear(4, 5, rng), relu, nn::Linear(5, 2, rng)};
  CHECK(names_of(mlp) == std::vector<std::string>{"0.weight [5, 4]", "0.bias [5]", "2.weight [2, 5]", "2.bias [2]"});
  const nn::Linear first(4, 5, same);
  const nn::Linear last(5, 2, same);
  const Array x = drawn({3, 4}, 1).cast(DType::float32);
  CHECK(same_bits(mlp(x).value(), last(relu(first(x))).value()));
  nn::Sequential with_lambda{nn::Linear(4, 5, rng), [](const Tensor& h) { return h * 2.0; }};
  CHECK(same_bits(with_lambda(x).value(), (with_lambda.get<0>()(x) * 2.0).value()));
  const auto copy = nn::clone(mlp);
  mlp.get<0>().weight.assign(Array::zeros({5, 4}));
  CHECK_FALSE(all_zero(copy.get<0>().weight.value()));
}

TEST_CASE("RMSNorm has torch's name and value, and right gradients") {
  CHECK(names_of(nn::RMSNorm(6)) == std::vector<std::string>{"weight [6]"});
  CHECK(names_of(nn::RMSNorm(6, {.elementwise_affine = false})).empty());
  const Array x = Array::of({1, 4}, {2, -2, 2, -2});  // mean square 4
  CHECK(nn::RMSNorm(4, {.eps = 12.0})(x).value().to_vector() == std::vector<double>{0.5, -0.5, 0.5, -0.5});
  CHECK(gradcheck(exact(nn::RMSNorm(6)), {drawn({2, 3, 6}, 1)}).error <= 1e-10);
  CHECK(gradcheck(nn::RMSNorm(6, {.elementwise_affine = false}), {drawn({3, 6}, 3)}).error <= 1e-10);
  CHECK(message<ValueError>([] { nn::RMSNorm(0); }) == "rms_norm: num_hiddens must be at least 1; got 0");
  CHECK(message<ValueError>([] { nn::RMSNorm(4, {.eps = -1.0}); }) == "rms_norm: eps must be finite and at least 0; got -1");
  CHECK(message<ShapeError>([] {
          nn::RMSNorm(4)(Array::zeros({2, 7}));
        }) == "RMSNorm: rms_norm: the last axis must be the module's num_hiddens, 4; got x [2, 7]");
}

TEST_CASE("FeedForward: silu, and the gated forms ReGLU, GEGLU and SwiGLU") {
  Rng rng(9);
  using nn::Activation;
  const nn::FeedForward silu_ffn = exact(nn::FeedForward(4, 6, rng, {.activation = Activation::silu}));
  CHECK(gradcheck(silu_ffn, {drawn({2, 3, 4}, 6)}).error <= 1e-10);
  const Array x = drawn({2, 3, 4}, 6);
  CHECK(difference(silu_ffn(x).value(), silu_ffn.linear2(silu(silu_ffn.linear1(x))).value()) == 0);
  for (const auto activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
    const nn::FeedForward ffn = exact(nn::FeedForward(4, 6, rng, {.activation = activation, .gated = true}));
    CHECK(names_of(ffn) ==
          std::vector<std::string>{"linear1.weight [12, 4]", "linear1.bias [12]", "linear2.weight [4, 6]", "linear2.bias [4]"});
    const Tensor h = ffn.linear1(x);
    const Tensor expected = ffn.linear2(slice(h, -1, 0, 6) * nn::activate(slice(h, -1, 6, 12), activation));
    CHECK(difference(ffn(x).value(), expected.value()) <= 1e-14);
    CHECK(gradcheck(ffn, {x}).error <= 1e-10);
  }
  CHECK(message<ShapeError>([] {
          nn::activate_gated(Array::zeros({2, 5}), Activation::relu);
        }) == "activate_gated: the last axis must hold two halves, values and gates; got x [2, 5]");
}
