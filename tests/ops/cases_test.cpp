#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "message.hpp"
#include "ops/numbers.hpp"

/// Cases that concern several ops at once, or ops and the tape.

using namespace tapeform;

namespace {

using Numbers = std::vector<double>;
constexpr DType f64 = DType::float64;

Array row(std::initializer_list<double> values, DType dtype = f64) { return Array::of({static_cast<Dim>(values.size())}, values, dtype); }

}  // namespace

TEST_CASE("AG-03: one tensor as both factors, and as query, key and value", "[case]") {
  {
    Tape tape;
    const Tensor x = tape.watch(Array::of({2, 2}, {1, 2, 3, 4}, f64));
    tape.backward(sum(x * x));
    CHECK(tape.grad(x).to_vector() == Numbers{2, 4, 6, 8});
  }
  const Array x0 = numbers::random({2, 3, 4}, 1), dy = numbers::random({2, 3, 4}, 2);
  Tape together;
  const Tensor x = together.watch(x0);
  together.backward(attention(x, x, x, {.heads = 2}), dy);
  Tape apart;
  const Tensor q = apart.watch(x0), k = apart.watch(x0), v = apart.watch(x0);
  apart.backward(attention(q, k, v, {.heads = 2}), dy);
  Array three = apart.grad(q);
  three += apart.grad(k);
  three += apart.grad(v);
  CHECK(numbers::distance(together.grad(x), three) <= 1e-14);
  CHECK(numbers::distance(together.grad(x), apart.grad(q)) > 1e-2);
}

TEST_CASE("AG-21: what an op keeps for backward is not what its caller writes to", "[case]") {
  // Numbers cannot be changed through a tensor; an Array that shares its buffer is copied when it is written.
  const Array x0 = row({1, 2, 3});
  for (const bool assign : {false, true}) {
    Tape tape;
    const Tensor x = tape.watch(x0), y = sigmoid(x), e = exp(x), t = tanh(x);
    for (const Tensor& result : {y, e, t, x}) {
      Array changed = result.value();
      changed.write<double>([assign](std::span<double> v) {
        if (assign) v[1] = 2;
        for (double& each : v) each *= assign ? 1 : 2;
      });
      CHECK_FALSE(changed.is_same(result.value()));
    }
    CHECK(numbers::distance(y.value(), {0.7310586, 0.8807971, 0.9525741}) <= 1e-7);
    const std::vector<Array> dx = [&] {
      std::vector<Array> all;
      for (const Tensor& result : {y, e, t}) all.push_back(tape.gradients(result, {x}, Array::full({3}, 2, f64), {.keep = true})[0]);
      return all;
    }();
    CHECK(numbers::distance(dx[0], {0.393224, 0.209987, 0.090353}) <= 1e-6);
    CHECK(numbers::distance(dx[1], {2 * std::exp(1.0), 2 * std::exp(2.0), 2 * std::exp(3.0)}) <= 1e-14);
    for (Dim i = 0; i < 3; ++i) CHECK(dx[2].at({i}) == Catch::Approx(2 / std::pow(std::cosh(x0.at({i})), 2)).epsilon(1e-12));
  }
}

TEST_CASE("AG-23: sigmoid swept twice", "[case]") {
  const Array x0 = row({0.5});
  const double once = 0.5 * (1 - std::pow(std::tanh(0.25), 2)) / 2;
  {
    Tape tape;
    const Tensor x = tape.watch(x0), y = sigmoid(x);
    tape.backward(y);
    CHECK(tape.grad(x).item() == Catch::Approx(once).epsilon(1e-14));
    CHECK(message<TapeError>([&] { tape.backward(y); }).starts_with("backward: this tape is spent"));
    CHECK(tape.grad(x).item() == Catch::Approx(once).epsilon(1e-14));
  }
  Tape tape;
  const Tensor x = tape.watch(x0), y = sigmoid(x);
  Array twice = tape.gradients(y, {x}, {.keep = true})[0];
  twice += tape.gradients(y, {x}, {.keep = true})[0];
  CHECK(twice.item() == Catch::Approx(2 * once).epsilon(1e-14));
}

TEST_CASE("AG-25: a result of one element needs no gradient from outside, whatever its rank", "[case]") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1, 1}}) {
    Tape tape;
    const Tensor x = tape.watch(Array::full(shape, 3, f64));
    tape.backward(2 * x);
    CHECK(tape.grad(x).shape() == shape);
    CHECK(tape.grad(x).item() == 2);
  }
  Tape tape;
  const Tensor x = tape.watch(row({1, 2})), y = 2 * x;
  CHECK_THROWS_AS(tape.backward(y), TapeError);
  CHECK_THROWS_AS(tape.backward(y, Array::ones({3}, f64)), ShapeError);
  tape.backward(y, row({1, 10}));
  CHECK(tape.grad(x).to_vector() == Numbers{2, 20});
}

TEST_CASE("AG-45: means of losses and gradients of biases add up as carefully as sums", "[case]") {
  const Dim n = 1'392'640;
  const Array x = Array::full({n}, 0.1), zeros = Array::zeros({n});
  CHECK(l1_loss(x, zeros).item() == Catch::Approx(0.1).epsilon(1e-7));
  CHECK(l1_loss(x, zeros, {.reduction = Reduction::sum}).item() == Catch::Approx(139264.0).margin(0.2));
  CHECK(mse_loss(x, zeros).item() == Catch::Approx(0.01).epsilon(1e-6));
  const Array logits = Array::of({1, 2}, {0, 0});
  CHECK(cross_entropy(broadcast_to(logits, {n / 8, 2}), Ids::full({n / 8}, 1)).item() == Catch::Approx(std::log(2.0)).epsilon(1e-7));
  Tape tape;
  const Tensor bias = tape.watch(Array::zeros({2}));
  const Tensor y = linear(Array::zeros({n / 2, 1}), Array::zeros({2, 1}), bias);
  tape.backward(y, Array::full({n / 2, 2}, 0.1));
  for (const double entry : tape.grad(bias).to_vector()) CHECK(entry == Catch::Approx(69632.0).margin(0.1));
}

TEST_CASE("MA-30: weights of every head, and their mean", "[case]") {
  // Averaged weights are a mean that the caller writes: their shape says what they are.
  Array weights;
  const Array q = Array::full({1, 1, 2}, 1000, f64), k = Array::of({1, 2, 2}, {1, -1, -1, 1}, f64);
  attention(q, k, k, {.heads = 2, .weights = &weights});
  CHECK(weights.shape() == Shape{1, 2, 1, 2});
  CHECK(weights.to_vector() == Numbers{1, 0, 0, 1});
  const Array averaged = mean(weights, {1}).value();
  CHECK(averaged.shape() == Shape{1, 1, 2});
  CHECK(averaged.to_vector() == Numbers{.5, .5});
}
