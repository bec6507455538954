#include <cmath>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/nn/init.hpp>
#include <tapeform/nn/rms_norm.hpp>
#include <tapeform/nn/select.hpp>
#include <tapeform/nn/seq2seq.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;
using nn::Distribution;

namespace {

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};

Moments moments(const Array& x) {
  Moments found;
  const auto values = x.to_vector();
  for (const double value : values) found.mean += value / static_cast<double>(values.size());
  for (const double value : values) {
    found.deviation += (value - found.mean) * (value - found.mean) / static_cast<double>(values.size());
    found.largest = std::max(found.largest, std::abs(value));
  }
  found.deviation = std::sqrt(found.deviation);
  return found;
}

/// Mean 0 and the given deviation, four and more standard errors apart at most.
Moments check_moments(const Array& x, double deviation) {
  const Moments found = moments(x);
  const double root = std::sqrt(static_cast<double>(x.numel()));
  CHECK(found.deviation == Catch::Approx(deviation).epsilon(3 / root));
  CHECK(std::abs(found.mean) < 4 * deviation / root);
  return found;
}

/// Nothing beyond `bound`, which something comes close to.
void check_spread(const Array& x, double deviation, double bound) {
  const Moments found = check_moments(x, deviation);
  CHECK(found.largest <= bound * (1 + 1e-6));
  CHECK(found.largest > 0.97 * bound);
}

/// N(0, deviation²): of 30,000 numbers the largest lies between 3.5 and 6 deviations.
void check_normal(const Array& x, double deviation) {
  const Moments found = check_moments(x, deviation);
  CHECK(found.largest > 3.5 * deviation);
  CHECK(found.largest < 6 * deviation);
}

double from_identity(const Array& rows) {  // max |rows·rowsᵀ − 1|
  const Array exact_rows = rows.cast(DType::float64);
  const Array product = matmul(exact_rows, exact_rows, {.transpose_b = true}).value();
  double worst = 0;
  for (Dim i = 0; i < product.dim(0); ++i)
    for (Dim j = 0; j < product.dim(1); ++j) worst = std::max(worst, std::abs(product.at({i, j}) - (i == j ? 1.0 : 0.0)));
  return worst;
}

const Shape shape{100, 300};

}  // namespace

TEST_CASE("init: xavier and kaiming have the variance of their formula, uniform or normal") {
  Rng rng(1);
  const double glorot = std::sqrt(2.0 / 400);
  check_spread(nn::xavier(shape, rng), glorot, std::sqrt(3.0) * glorot);
  check_spread(nn::xavier(shape, rng, {.gain = 5.0 / 3}), 5.0 / 3 * glorot, 5.0 / 3 * std::sqrt(3.0) * glorot);
  check_normal(nn::xavier(shape, rng, {.distribution = Distribution::normal, .gain = 2}), 2 * glorot);
  check_spread(nn::kaiming(shape, rng), std::sqrt(2.0 / 300), std::sqrt(6.0 / 300));
  check_spread(nn::kaiming(shape, rng, {.fan = nn::Fan::out}), std::sqrt(2.0 / 100), std::sqrt(6.0 / 100));
  // torch's Linear: slope √5 is U(±1/√in)
  check_spread(nn::kaiming(shape, rng, {.slope = std::sqrt(5.0)}), std::sqrt(1.0 / 900), std::sqrt(1.0 / 300));
  check_normal(nn::kaiming(shape, rng, {.distribution = Distribution::normal, .slope = 1}), std::sqrt(1.0 / 300));
}

TEST_CASE("init: a truncated normal keeps to its limits, wide or narrow") {
  Rng rng(2);
  // Deviation of N(0, 1) cut at ±2: √(1 − 2·2·φ(2)/(Φ(2) − Φ(−2)))
  check_spread(nn::truncated_normal(shape, rng, {.deviation = 0.02}), 0.02 * 0.8796, 0.04);
  check_spread(nn::truncated_normal(shape, rng, {.limit = 1}), 0.5396, 1);
  check_spread(nn::truncated_normal(shape, rng, {.limit = 0.5}), 0.2841, 0.5);
  check_spread(nn::truncated_normal(shape, rng, {.limit = 1e-3}), 1e-3 / std::sqrt(3.0), 1e-3);
  const Moments moved = moments(nn::truncated_normal(shape, rng, {.mean = 3, .deviation = 0.1, .limit = INFINITY}));
  CHECK(moved.mean == Catch::Approx(3).epsilon(1e-3));
  CHECK(moved.deviation == Catch::Approx(0.1).epsilon(0.02));
  CHECK(nn::truncated_normal({2, 3, 4}, rng).shape() == Shape{2, 3, 4});
}

TEST_CASE("init: orthogonal rows or columns") {
  Rng rng(3);
  for (const Shape& size : {Shape{20, 50}, Shape{50, 20}, Shape{30, 30}, Shape{1, 7}, Shape{7, 1}, Shape{1, 1}}) {
    const Array weight = nn::orthogonal(size, rng);
    CHECK(weight.shape() == size);
    if (size[0] <= size[1]) CHECK(from_identity(weight) <= 1e-6);
    Array columns({size[1], size[0]});
    columns.write<float>([&](std::span<float> values) {
      for (Dim i = 0; i < size[0]; ++i)
        for (Dim j = 0; j < size[1]; ++j) values[static_cast<std::size_t>(j * size[0] + i)] = static_cast<float>(weight.at({i, j}));
    });
    if (size[0] >= size[1]) CHECK(from_identity(columns) <= 1e-6);
  }
  const Array scaled = nn::orthogonal({5, 5}, rng, {.gain = 3});
  CHECK(moments(scaled).deviation == Catch::Approx(3 / std::sqrt(5.0)).epsilon(0.1));
}

TEST_CASE("init: over a model, every matrix and no vector; handles, dtypes and frozen flags stay") {
  Rng rng(4);
  const auto check = [&](const auto& init, double deviation) {
    const nn::TransformerEncoderLayer layer = exact(nn::TransformerEncoderLayer(60, 2, rng, {.ffn_num_hiddens = 200}));
    const auto handles = nn::parameters(layer);
    std::vector<Array> before;
    for (const auto& handle : handles) before.push_back(handle.value());
    init(layer);
    CHECK(nn::parameters(layer) == handles);
    for (std::size_t i = 0; i < handles.size(); ++i) {
      CHECK(handles[i].dtype() == DType::float64);
      CHECK(same_bits(handles[i].value(), before[i]) == (handles[i].shape().rank() == 1));
    }
    CHECK(moments(layer.feed_forward.linear1.weight.value()).deviation == Catch::Approx(deviation).epsilon(0.03));
  };
  check([&](const auto& model) { nn::init_xavier(model, rng); }, std::sqrt(2.0 / 260));
  check([&](const auto& model) { nn::init_kaiming(model, rng, {.fan = nn::Fan::out}); }, std::sqrt(2.0 / 200));
  check([&](const auto& model) { nn::init_normal(model, rng, {.deviation = 0.3}); }, 0.3);
  check([&](const auto& model) { nn::init_truncated_normal(model, rng, {.deviation = 0.02}); }, 0.02 * 0.8796);
  check([&](const auto& model) { nn::init_orthogonal(model, rng); }, 1 / std::sqrt(200.0));

  const nn::TransformerEncoderLayer layer(60, 2, rng, {.ffn_num_hiddens = 200});
  const Array attention = layer.self_attn.in_proj_weight.value();
  nn::init_normal(nn::named_parameters(layer, "linear?.weight"), rng, {.mean = 5, .deviation = 0});
  CHECK(same_bits(layer.self_attn.in_proj_weight.value(), attention));
  CHECK(same_bits(layer.feed_forward.linear2.weight.value(), Array::full({60, 200}, 5)));
}

TEST_CASE("init_torch gives every layer torch's first values again") {
  struct Model : nn::Module<Model> {
    nn::Embedding table;
    nn::LearnedPositions positions;
    nn::TransformerDecoderLayer layer;
    nn::RMSNorm norm{60};
    Parameter own{Array::full({2, 2}, 7)};
    explicit Model(Rng& rng)
        : table(500, 60, rng, {.padding_id = 3}), positions(500, 60, rng), layer(60, 2, rng, {.memory_num_hiddens = 40}) {}
    void visit(nn::Fields& field) {
      field("table", table);
      field("positions", positions);
      field("layer", layer);
      field("norm", norm);
      field("own", own);
    }
  };
  Rng rng(5);
  Model model = exact(Model(rng));
  const auto handles = nn::parameters(model);
  model.own.assign(Array::full({2, 2}, 7, DType::float64));
  nn::init_torch(model, rng);
  CHECK(nn::parameters(model) == handles);
  for (const auto& handle : handles) CHECK(handle.dtype() == DType::float64);
  check_normal(model.positions.weight.value(), 1);
  CHECK(all_zero(model.table.weight.value().rows(3, 4)));
  CHECK(moments(model.table.weight.value()).deviation == Catch::Approx(1).epsilon(0.02));
  const nn::TransformerDecoderLayer& layer = model.layer;
  check_spread(layer.self_attn.in_proj_weight.value(), std::sqrt(2.0 / 240), std::sqrt(6.0 / 240));
  check_spread(layer.multihead_attn.k_proj_weight.value(), std::sqrt(2.0 / 100), std::sqrt(6.0 / 100));
  CHECK(all_zero(layer.self_attn.in_proj_bias.value()));
  CHECK(all_zero(layer.multihead_attn.out_proj.bias.value()));
  check_spread(layer.multihead_attn.out_proj.weight.value(), std::sqrt(1.0 / 180), std::sqrt(1.0 / 60));
  check_spread(layer.feed_forward.linear1.weight.value(), std::sqrt(1.0 / 180), std::sqrt(1.0 / 60));
  CHECK(moments(layer.feed_forward.linear1.bias.value()).largest <= std::sqrt(1.0 / 60));
  for (const nn::LayerNorm* norm : {&layer.norm1, &layer.norm2, &layer.norm3}) {
    CHECK(same_bits(norm->weight.value(), Array::ones({60}, DType::float64)));
    CHECK(all_zero(norm->bias.value()));
  }
  CHECK(same_bits(model.norm.weight.value(), Array::ones({60}, DType::float64)));
  CHECK(same_bits(model.own.value(), Array::full({2, 2}, 7, DType::float64)));

  // What a constructor draws, reset draws.
  Rng a(6), b(6);
  const nn::MultiHeadAttention built(8, 2, a);
  nn::MultiHeadAttention again(8, 2, rng);
  again.reset(b);
  CHECK(same_bits(built.in_proj_weight.value(), again.in_proj_weight.value()));
  CHECK(same_bits(built.out_proj.weight.value(), again.out_proj.weight.value()));
}

TEST_CASE("misuse: what an init cannot draw") {
  Rng rng(7);
  CHECK(message<ShapeError>([&] { nn::xavier({3}, rng); }) == "xavier: the weight must be [out, in]; got [3]");
  CHECK(message<ShapeError>([&] { nn::kaiming({3, 2, 2}, rng); }) == "kaiming: the weight must be [out, in]; got [3, 2, 2]");
  CHECK(message<ShapeError>([&] { nn::orthogonal({3}, rng); }) == "orthogonal: the weight must be [out, in]; got [3]");
  CHECK(message<ValueError>([&] { nn::xavier({3, 2}, rng, {.gain = -1}); }) == "xavier: gain must be finite and at least 0; got -1");
  CHECK(message<ValueError>([&] { nn::kaiming({3, 2}, rng, {.slope = nan_value}); }) == "kaiming: slope must be finite; got nan");
  CHECK(message<ValueError>([&] { nn::truncated_normal({3}, rng, {.limit = 0}); }) == "truncated_normal: limit must be over 0; got 0");
  CHECK(message<ValueError>([&] { nn::truncated_normal({3}, rng, {.deviation = -2}); }) ==
        "truncated_normal: deviation must be finite and at least 0; got -2");
}
