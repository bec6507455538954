#include <cmath>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/reduce.hpp>
#include <tapeform/nn/attention.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;
using nn::MultiHeadAttention;

TEST_CASE("MA-01: fully masked query row; backward", "[case]") {
  Rng rng(6);
  const MultiHeadAttention mha(1, 1, rng);
  nn::cast(mha, DType::float64);
  mha.in_proj_weight.ref().value() = Array::ones({3, 1}, DType::float64);
  mha.out_proj.weight.ref().value() = Array::ones({1, 1}, DType::float64);
  const Array x0 = Array::of({2, 4, 1}, {1, 2, 3, 4, 0.5, -1, 2, 1.5}, DType::float64);
  std::vector<bool> near(2 * 4 * 4);
  for (std::size_t i = 0; i < near.size(); ++i) near[i] = i >= 16 || i % 4 == i / 4 || i % 4 + 1 == i / 4;
  const Mask mask = Mask::valid_lens({2, 4}) & Mask::allow(near, {2, 4, 4});
  const auto picked = [](const Tensor& y) { return sum(slice(slice(y, 0, 0, 1), 1, 0, 2)); };

  for (const bool with_weights : {false, true}) {
    Array weights;
    Tape tape;
    const Tensor x = tape.watch(x0);
    const Tensor y = mha(x, {.mask = mask, .weights = with_weights ? &weights : nullptr});
    const Tensor loss = picked(y);
    CHECK(loss.item() == Catch::Approx(2.8807971).epsilon(1e-7));
    CHECK(y.value().at({0, 3, 0}) == 0);
    CHECK(same_bits(y.value(), [&] {
      const NoTape off;
      return mha(x0, {.mask = mask}).value();
    }()));
    if (with_weights)
      for (const Dim key : {0, 1, 2, 3}) CHECK(weights.at({0, 0, 3, key}) == 0);
    tape.backward(loss);
    const Array dw = mha.in_proj_weight.grad();
    CHECK(dw.at({0, 0}) == Catch::Approx(0.2099872).epsilon(1e-6));
    CHECK(dw.at({1, 0}) == Catch::Approx(0.2099872).epsilon(1e-6));
    CHECK(dw.at({2, 0}) == Catch::Approx(2.8807971).epsilon(1e-7));
    CHECK(mha.out_proj.weight.grad().item() == Catch::Approx(2.8807971).epsilon(1e-7));
    const Array dx = tape.grad(x);
    CHECK(dx.at({0, 0, 0}) == Catch::Approx(0.909216).epsilon(1e-5));
    CHECK(dx.at({0, 1, 0}) == Catch::Approx(1.195778).epsilon(1e-5));
    CHECK(dx.at({0, 2, 0}) == 0);
    CHECK(dx.at({0, 3, 0}) == 0);
    CHECK(difference(y.value().rows(1, 2), mha(x0.rows(1, 2)).value()) <= 1e-12);
    take_gradients(mha);
  }
  mha.out_proj.bias.ref().value() = Array::full({1}, 0.25, DType::float64);
  CHECK(mha(x0, {.mask = mask}).value().at({0, 3, 0}) == 0.25);
}

TEST_CASE("MA-13: batch/head order of a flattened mask", "[case]") {
  Rng rng(9);
  const MultiHeadAttention mha = exact(MultiHeadAttention(4, 2, rng));
  const Array x = drawn({2, 3, 4}, 1);
  const std::vector<bool> table = {true, false, false, true, true, false, true, true, true,   // sample 0: causal
                                   true, true,  true,  true, true, true,  true, true, true};  // sample 1: all
  const Array y = mha(x, {.mask = Mask::allow(table, {2, 3, 3})}).value();
  CHECK(difference(y.rows(0, 1), mha(x.rows(0, 1), {.mask = Mask::causal()}).value()) <= 1e-12);
  CHECK(difference(y.rows(1, 2), mha(x.rows(1, 2)).value()) <= 1e-12);
  CHECK(difference(y.rows(1, 2), mha(x.rows(1, 2), {.mask = Mask::causal()}).value()) > 1e-3);
}

TEST_CASE("MA-27: attention dropout active in eval", "[case]") {
  Rng rng(10);
  const MultiHeadAttention mha(8, 2, rng, {.dropout = 0.8});
  Rng same(10);
  const MultiHeadAttention without(8, 2, same);
  const Array x = drawn({2, 5, 8}, 1).cast(DType::float32);
  const Array first = mha(x).value();
  CHECK(same_bits(first, mha(x).value()));
  CHECK(same_bits(first, without(x).value()));
  const auto before = rng.state();
  Tape tape(rng);
  {
    const NoTape off;
    CHECK(same_bits(first, mha(x).value()));
  }
  CHECK(rng.state() == before);
  CHECK(difference(first, mha(x).value()) > 1e-2);
  CHECK_FALSE(rng.state() == before);
}

TEST_CASE("MA-29: returned weights exceed 1", "[case]") {
  Rng rng(11);
  const MultiHeadAttention mha(8, 2, rng, {.dropout = 0.2});
  const Array x = drawn({1, 4, 8}, 1).cast(DType::float32);
  Array weights, in_eval;
  {
    Tape tape(rng);
    mha(tape.watch(x), {.mask = Mask::causal(), .weights = &weights});
  }
  mha(x, {.mask = Mask::causal(), .weights = &in_eval});
  CHECK(weights.shape() == Shape{1, 2, 4, 4});
  CHECK(same_bits(weights, in_eval));
  for (const Dim h : {0, 1}) {
    CHECK(weights.at({0, h, 0, 0}) == 1);
    for (const Dim i : {0, 1, 2, 3}) {
      double total = 0;
      for (const Dim j : {0, 1, 2, 3}) {
        total += weights.at({0, h, i, j});
        if (j > i) CHECK(weights.at({0, h, i, j}) == 0);
      }
      CHECK(total == Catch::Approx(1.0).epsilon(1e-6));
    }
  }
}

TEST_CASE("MA-33: different value width", "[case]") {
  Rng rng(12);
  const MultiHeadAttention mha = exact(MultiHeadAttention(24, 1, rng, {.vdim = 12}));
  CHECK(mha.k_proj_weight.shape() == Shape{24, 24});
  CHECK(mha.v_proj_weight.shape() == Shape{24, 12});
  const Array q = drawn({5, 10, 24}, 1), v = drawn({5, 10, 12}, 2);
  CHECK(mha(q, q, v).shape() == Shape{5, 10, 24});
  CHECK(gradcheck(mha, [&](const Tensor& a, const Tensor& b) { return mha(a, a, b); }, {drawn({2, 3, 24}, 1), drawn({2, 3, 12}, 2)},
                  {.max_entries = 40})
            .error <= 1e-10);
}

TEST_CASE("asking for weights changes no bit of the output") {
  Rng rng(13);
  const MultiHeadAttention mha(8, 2, rng);
  const Array x = drawn({2, 17, 8}, 1).cast(DType::float32);
  Array weights;
  CHECK(same_bits(mha(x, {.mask = Mask::causal()}).value(), mha(x, {.mask = Mask::causal(), .weights = &weights}).value()));
}
