#include <cmath>
#include <limits>
#include <tapeform/tapeform.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

/// The table of docs/decisions.md, row by row: each test has the row's question for its name.

using namespace tapeform;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using Numbers = std::vector<double>;

Array row(std::initializer_list<double> values) { return Array::of({static_cast<Dim>(values.size())}, values, DType::float64); }

/// dx of f at x, for an upstream gradient of ones.
template <class F>
Numbers slope(const F& f, const Array& x) {
  Tape tape;
  const Tensor watched = tape.watch(x), y = f(watched);
  tape.backward(y, Array::ones(y.shape(), y.dtype()));
  return tape.grad(watched).to_vector();
}

}  // namespace

TEST_CASE("decided: causal mask with Tq ≠ Tk") {
  const auto weights_of = [](Dim q_time, Dim k_time) {
    Array weights;
    const auto zeros = [](Dim T) { return Array::zeros({1, T, 1}, DType::float64); };
    attention(zeros(q_time), zeros(k_time), zeros(k_time), {.mask = Mask::causal(), .weights = &weights});
    return weights.to_vector();
  };
  CHECK(weights_of(1, 4) == Numbers{.25, .25, .25, .25});
  CHECK(weights_of(2, 4) == Numbers{1.0 / 3, 1.0 / 3, 1.0 / 3, 0, .25, .25, .25, .25});
  CHECK(weights_of(3, 2) == Numbers{0, 0, 1, 0, .5, .5});
}

TEST_CASE("decided: nothing to attend to") {
  Rng rng(1);
  const nn::MultiHeadAttention mha = exact(nn::MultiHeadAttention(4, 2, rng));
  const Array x0 = drawn({2, 3, 4}, 1);
  const Mask mask = Mask::valid_lens({0, 3});
  for (const bool with_weights : {false, true})
    for (const bool training : {false, true}) {
      CAPTURE(with_weights, training);
      Array weights;
      Tape tape;
      const Tensor x = tape.watch(x0);
      const Array y = [&] {
        if (training) return mha(x, {.mask = mask, .weights = with_weights ? &weights : nullptr}).value();
        const NoTape off;
        return mha(x, {.mask = mask, .weights = with_weights ? &weights : nullptr}).value();
      }();
      for (Dim t = 0; t < 3; ++t)
        for (Dim d = 0; d < 4; ++d) CHECK(y.at({0, t, d}) == mha.out_proj.bias.value().at({d}));
      if (with_weights) CHECK(weights.rows(0, 1).to_vector() == Numbers(18, 0));
      if (!training) continue;
      tape.backward(sum(mha(x, {.mask = mask}) * drawn({2, 3, 4}, 2)));
      CHECK(tape.grad(x).rows(0, 1).to_vector() == Numbers(12, 0));
      CHECK(tape.grad(x).at({1, 0, 0}) != 0);
    }
  const Array nothing = row({-infinity, -infinity});
  CHECK(softmax(nothing).value().to_vector() == Numbers{0, 0});
  CHECK(slope([](const Tensor& x) { return softmax(x) * row({1, 2}); }, nothing) == Numbers{0, 0});
  CHECK(logsumexp(nothing).item() == -infinity);
  CHECK(slope([](const Tensor& x) { return logsumexp(x); }, nothing) == Numbers{0, 0});
}

TEST_CASE("decided: rows beyond a sequence's valid length") {
  Rng rng(2);
  for (const bool norm_first : {false, true}) {
    const nn::TransformerEncoder encoder = exact(
        nn::TransformerEncoder(2, 4, 2, rng, {.ffn_num_hiddens = 6, .dropout = 0.2, .norm_first = norm_first, .final_norm = norm_first}));
    const Array x0 = drawn({2, 3, 4}, 1);
    const Mask mask = Mask::valid_lens({1, 3});
    CHECK(part(encoder(x0, {.mask = mask}).value(), 0, 1, 3).to_vector() == Numbers(8, 0));
    Tape tape(rng);
    const Tensor x = tape.watch(x0), y = encoder(x, {.mask = mask});
    CHECK(part(y.value(), 0, 1, 3).to_vector() == Numbers(8, 0));
    tape.backward(y, drawn({2, 3, 4}, 2));
    CHECK(part(tape.grad(x), 0, 1, 3).to_vector() == Numbers(8, 0));
    CHECK(part(tape.grad(x), 0, 0, 1).at({0, 0}) != 0);
  }
}

TEST_CASE("decided: returned attention weights") {
  Rng rng(3);
  const Array x = drawn({1, 4, 4}, 1);
  Array dropped, without;
  {
    Tape tape(rng);
    attention(x, x, x, {.heads = 2, .dropout = 0.5, .weights = &dropped});
  }
  attention(x, x, x, {.heads = 2, .weights = &without});
  CHECK(same_bits(dropped, without));
}

TEST_CASE("decided: cross-entropy, every label ignored") {
  const Array logits = drawn({2, 3}, 1), weights = row({1, 3, 5});
  for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
    const auto loss = [reduction](const Tensor& x) { return cross_entropy(x, {-1, -1}, {.ignore_id = -1, .reduction = reduction}); };
    CHECK(loss(logits).item() == 0);
    CHECK(slope(loss, logits) == Numbers(6, 0));
  }
  // One of two counts: the mean is its loss; with class weights the divisor is what they add up to.
  const double first = cross_entropy(logits.rows(0, 1), {2}).item(), second = cross_entropy(logits.rows(1, 2), {1}).item();
  CHECK(cross_entropy(logits, {2, -1}, {.ignore_id = -1}).item() == Catch::Approx(first).epsilon(1e-14));
  CHECK(cross_entropy(logits, {2, 1}, {.class_weights = weights}).item() == Catch::Approx((5 * first + 3 * second) / 8).epsilon(1e-14));
}

TEST_CASE("decided: ties in max and min, both arguments equal in maximum") {
  CHECK(slope([](const Tensor& x) { return max(x); }, row({.6, .6, .3})) == Numbers{.5, .5, 0});
  CHECK(slope([](const Tensor& x) { return min(x); }, row({.2, .2, .2, .2})) == Numbers{.25, .25, .25, .25});
  CHECK(slope([](const Tensor& x) { return maximum(x, row({1, 2, 3})); }, row({2, 2, 2})) == Numbers{1, .5, 0});
  CHECK(slope([](const Tensor& x) { return minimum(x, row({1, 2, 3})); }, row({2, 2, 2})) == Numbers{0, .5, 1});
  CHECK(slope([](const Tensor& x) { return relu(x); }, row({-1, 0, 1})) == Numbers{0, 0, 1});
  CHECK(slope([](const Tensor& x) { return clamp(x, {.min = -1, .max = 1}); }, row({-1.5, -1, 0, 1, 1.5})) == Numbers{0, 1, 1, 1, 0});
}

TEST_CASE("decided: gelu, softplus, log-sigmoid in the tails") {
  const double tiny = std::exp(-40.0);
  CHECK(gelu(row({-10})).item() == Catch::Approx(-5 * std::erfc(10 / std::sqrt(2.0))).epsilon(1e-12));
  CHECK(gelu(row({-10})).item() < 0);
  CHECK(softplus(row({-40})).item() == Catch::Approx(tiny).epsilon(1e-14));
  CHECK(log_sigmoid(row({40})).item() == Catch::Approx(-tiny).epsilon(1e-14));
  CHECK(log_sigmoid(row({-1e4})).item() == -1e4);
  CHECK(softplus(row({1e4})).item() == 1e4);
  const Array ends = row({-infinity, infinity});
  CHECK(gelu(ends).value().to_vector() == Numbers{0, infinity});
  CHECK(softplus(ends).value().to_vector() == Numbers{0, infinity});
  CHECK(log_sigmoid(ends).value().to_vector() == Numbers{-infinity, 0});
  CHECK(slope([](const Tensor& x) { return gelu(x); }, ends) == Numbers{0, 1});
  CHECK(slope([](const Tensor& x) { return softplus(x); }, ends) == Numbers{0, 1});
  CHECK(slope([](const Tensor& x) { return log_sigmoid(x); }, ends) == Numbers{1, 0});
}

TEST_CASE("decided: layer norm far from 0") {
  const Array near = Array::of({4}, {0, 1, 2, 3}), far = Array::of({4}, {10000, 10001, 10002, 10003});
  CHECK(same_bits(layer_norm(far).value(), layer_norm(near).value()));
  const auto weighted = [](const Tensor& x) { return layer_norm(x) * Array::of({4}, {1, -2, 3, .5}); };
  CHECK(slope(weighted, far) == slope(weighted, near));
}

TEST_CASE("decided: a parameter without a gradient") {
  Parameter unused(Array::ones({2}, DType::float64)), zero(Array::ones({2}, DType::float64));
  optim::AdamW adamw(std::vector{unused.ref(), zero.ref()}, {.lr = 0.1, .weight_decay = 0.1});
  for (int step = 0; step < 3; ++step) {
    zero.ref().grad() = Array::zeros({2}, DType::float64);
    adamw.step();
  }
  CHECK(unused.value().to_vector() == Numbers{1, 1});
  CHECK(adamw.slots()[0].steps == 0);
  for (const Array& moment : adamw.slots()[0].moments) CHECK_FALSE(moment);
  CHECK(zero.value().at({0}) == Catch::Approx(0.99 * 0.99 * 0.99).epsilon(1e-14));
  CHECK(adamw.slots()[1].steps == 3);
}

TEST_CASE("decided: clip by norm") {
  Parameter p(Array::zeros({2}, DType::float64));
  const std::vector<ParameterRef> refs{p.ref()};
  const auto clipped = [&](double a, double b, double limit, optim::ClipOptions options = {}) {
    p.ref().grad() = row({a, b});
    optim::clip_grad_norm(refs, limit, options);
    return p.grad() ? p.grad().to_vector() : Numbers{};
  };
  CHECK(clipped(3, 4, 5) == Numbers{3, 4});  // at the limit
  CHECK(clipped(3, 4, 1)[0] == Catch::Approx(3 / (5 + 1e-6)).epsilon(1e-15));
  CHECK(clipped(3e200, 4e200, 1)[1] == Catch::Approx(.8).epsilon(1e-14));
  CHECK(clipped(3, infinity, 1) == Numbers{3, infinity});
  CHECK(clipped(3, infinity, 1, {.non_finite = optim::NonFinite::skip}).empty());
  CHECK_THROWS_AS(clipped(3, infinity, 1, {.non_finite = optim::NonFinite::raise}), ValueError);
}

TEST_CASE("decided: schedules past their end") {
  const optim::CosineSchedule schedule({.lr = 1, .min_lr = 0.25, .warmup = 2, .total = 10});
  for (const std::int64_t step : {10, 11, 1'000'000}) CHECK(schedule.lr(step) == 0.25);
  CHECK(schedule.lr(9) > 0.25);
}

TEST_CASE("decided: bias = false on a Transformer layer") {
  Rng rng(4);
  for (const bool bias : {true, false}) {
    int biases = 0, weights = 0;
    const nn::TransformerEncoderLayer encoder(4, 2, rng, {.ffn_num_hiddens = 6, .bias = bias});
    const nn::TransformerDecoderLayer decoder(4, 2, rng, {.ffn_num_hiddens = 6, .bias = bias});
    for (const auto& named : {named_parameters(encoder), named_parameters(decoder)})
      for (const NamedParameter& parameter : named) {
        biases += parameter.name.ends_with("bias");
        weights += parameter.name.ends_with("norm1.weight");
      }
    CHECK(biases == (bias ? 6 + 9 : 0));
    CHECK(weights == 2);
  }
}
