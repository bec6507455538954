#include <cmath>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/packing.hpp>
#include <tapeform/core/ops/reduce.hpp>
#include <tapeform/core/ops/softmax.hpp>
#include <tapeform/nn/attention.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;
using nn::MultiHeadAttention;

namespace {

/// Output, weights, gradients of inputs and of parameters for a loss that weights every output differently.
struct Outcome {
  Array y, weights;
  std::vector<Array> inputs, parameters;
};

Outcome run(const MultiHeadAttention& mha, const std::vector<Array>& x, nn::MultiHeadAttentionCall call) {
  Outcome outcome;
  call.weights = &outcome.weights;
  Tape tape;
  std::vector<Tensor> inputs;
  for (const Array& array : x) inputs.push_back(tape.watch(array));
  const Tensor y = x.size() == 1   ? mha(inputs[0], call)
                   : x.size() == 2 ? mha(inputs[0], inputs[1], inputs[1], call)
                                   : mha(inputs[0], inputs[1], inputs[2], call);
  outcome.y = y.value();
  tape.backward(y, drawn(y.shape(), 77));
  for (const Tensor& input : inputs) outcome.inputs.push_back(tape.grad(input));
  outcome.parameters = take_gradients(mha);
  return outcome;
}

/// Heads one by one, each through its own rows of the projections, from primitive ops.
Tensor one_by_one(const MultiHeadAttention& mha, const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Dim width = mha.num_hiddens(), head = width / mha.num_heads();
  std::vector<Tensor> contexts;
  for (Dim h = 0; h < mha.num_heads(); ++h) {
    Tensor projected[3];
    for (Dim i = 0; i < 3; ++i) {
      const Dim begin = i * width + h * head, end = begin + head;
      projected[i] = linear(i == 0 ? q : i == 1 ? k : v, slice(mha.in_proj_weight, 0, begin, end), slice(mha.in_proj_bias, 0, begin, end));
    }
    const Tensor scores = matmul(projected[0], projected[1], {.transpose_b = true}) / std::sqrt(static_cast<double>(head));
    contexts.push_back(matmul(masked_softmax(scores, mask), projected[2]));
  }
  return mha.out_proj(concat(contexts, -1));
}

}  // namespace

TEST_CASE("MultiHeadAttention has torch's names, shapes and first values") {
  Rng rng(1);
  const MultiHeadAttention mha(8, 2, rng);
  CHECK(names_of(mha) ==
        std::vector<std::string>{"in_proj_weight [24, 8]", "in_proj_bias [24]", "out_proj.weight [8, 8]", "out_proj.bias [8]"});
  CHECK(all_zero(mha.in_proj_bias.value()));
  CHECK(all_zero(mha.out_proj.bias.value()));
  const double bound = std::sqrt(6.0 / 32.0);
  for (const double value : mha.in_proj_weight.value().to_vector()) CHECK(std::abs(value) <= bound);
  CHECK(names_of(MultiHeadAttention(8, 2, rng, {.bias = false})) ==
        std::vector<std::string>{"in_proj_weight [24, 8]", "out_proj.weight [8, 8]"});
  CHECK(names_of(MultiHeadAttention(8, 2, rng, {.kdim = 6, .vdim = 10})) ==
        std::vector<std::string>{"q_proj_weight [8, 8]", "k_proj_weight [8, 6]", "v_proj_weight [8, 10]", "in_proj_bias [24]",
                                 "out_proj.weight [8, 8]", "out_proj.bias [8]"});
}

TEST_CASE("split_heads and merge_heads are inverse, gradients too") {
  const Array x = drawn({2, 3, 8}, 1);
  const Array split = nn::split_heads(x, 4).value();
  CHECK(split.shape() == Shape{2, 4, 3, 2});
  CHECK(split.at({1, 2, 0, 1}) == x.at({1, 0, 5}));
  CHECK(same_bits(nn::merge_heads(split).value(), x));
  CHECK(gradcheck([](const Tensor& t) { return nn::split_heads(t, 4); }, {x}).error <= 1e-10);
  CHECK(gradcheck([](const Tensor& t) { return nn::merge_heads(t); }, {split}).error <= 1e-10);
}

TEST_CASE("heads equal H separate small projections run one by one") {
  Rng rng(2);
  const Array q = drawn({2, 4, 12}, 1), m = drawn({2, 5, 12}, 2), v = drawn({2, 5, 12}, 3);
  const Ids lens{5, 2};
  for (const Dim heads : {1, 2, 3, 4, 6, 12}) {
    const MultiHeadAttention mha = exact(MultiHeadAttention(12, heads, rng));
    for (const int kind : {1, 2, 3}) {
      const std::vector<Array> x = kind == 1 ? std::vector<Array>{m} : kind == 2 ? std::vector<Array>{q, m} : std::vector<Array>{q, m, v};
      const Mask mask = kind == 1 ? Mask::causal() : Mask::valid_lens(lens);
      const Outcome fused = run(mha, x, {.mask = mask});
      Tape tape;
      std::vector<Tensor> inputs;
      for (const Array& array : x) inputs.push_back(tape.watch(array));
      const Tensor k = inputs[kind == 1 ? 0 : 1], values = inputs.back();
      const Tensor y = one_by_one(mha, inputs[0], k, values, mask);
      CHECK(difference(fused.y, y.value()) <= 1e-12);
      tape.backward(y, drawn(y.shape(), 77));
      std::vector<Array> gradients;
      for (const Tensor& input : inputs) gradients.push_back(tape.grad(input));
      CHECK(relative_difference(fused.inputs, gradients) <= 1e-12);
      CHECK(relative_difference(fused.parameters, take_gradients(mha)) <= 1e-12);
    }
  }
}

TEST_CASE("mha(x) equals mha(x, x, x) bit for bit, gradients too") {
  Rng rng(3);
  const MultiHeadAttention mha = exact(MultiHeadAttention(8, 2, rng));
  const Array x = drawn({2, 9, 8}, 1);
  for (const Mask& mask : {Mask(), Mask::causal(), Mask::valid_lens({9, 4})}) {
    Array y[2];
    std::vector<Array> gradients[2];
    for (const bool thrice : {false, true}) {
      Tape tape;
      const Tensor input = tape.watch(x);
      const Tensor out = thrice ? mha(input, input, input, {.mask = mask}) : mha(input, {.mask = mask});
      y[thrice] = out.value();
      tape.backward(sum(out * out));
      gradients[thrice] = take_gradients(mha);
      gradients[thrice].push_back(tape.grad(input));
    }
    CHECK(same_bits(y[0], y[1]));
    CHECK(same_bits(gradients[0], gradients[1]));
  }
  // Three tensors that hold the same numbers are three inputs: same values, each its own gradient.
  const Outcome three = run(mha, {x, x, x}, {}), one = run(mha, {x}, {});
  CHECK(difference(three.y, one.y) <= 1e-12);
  CHECK(relative_difference(three.parameters, one.parameters) <= 1e-12);
  Array total = three.inputs[0];
  total += three.inputs[1];
  total += three.inputs[2];
  CHECK(difference(total, one.inputs[0]) <= 1e-12);
}

TEST_CASE("gradients of MultiHeadAttention in every form") {
  Rng rng(4);
  const MultiHeadAttention mha = exact(MultiHeadAttention(6, 3, rng));
  const MultiHeadAttention plain = exact(MultiHeadAttention(6, 3, rng, {.bias = false}));
  const Array q = drawn({2, 3, 6}, 1), m = drawn({2, 4, 6}, 2), v = drawn({2, 4, 6}, 3), bias = drawn({2, 3, 3, 4}, 4);
  const Mask mask = Mask::valid_lens({4, 2}) & Mask::causal();
  CHECK(gradcheck(mha, [&](const Tensor& x) { return mha(x); }, {q}).error <= 1e-10);
  CHECK(gradcheck(plain, [&](const Tensor& x) { return plain(x, {.mask = Mask::causal()}); }, {q}).error <= 1e-10);
  CHECK(gradcheck(mha, [&](const Tensor& x) { return mha(x, {.mask = Mask::valid_lens({3, 1})}); }, {q}).error <= 1e-10);
  CHECK(gradcheck(mha, [&](const Tensor& a, const Tensor& b) { return mha(a, b, b, {.mask = mask}); }, {q, m}).error <= 1e-10);
  CHECK(gradcheck(plain, [&](const Tensor& a, const Tensor& b, const Tensor& c) { return plain(a, b, c, {.mask = mask}); }, {q, m, v})
            .error <= 1e-10);
  CHECK(gradcheck(mha, [&](const Tensor& a, const Tensor& b, const Tensor& c) { return mha(a, b, b, {.mask = mask, .bias = c}); },
                  {q, m, bias})
            .error <= 1e-10);
}

TEST_CASE("packed rows give what padded ones give") {
  Rng rng(5);
  const MultiHeadAttention mha = exact(MultiHeadAttention(8, 2, rng));
  const Array q = drawn({3, 5, 8}, 1), m = drawn({3, 4, 8}, 2);
  const Ids q_lens{2, 5, 0}, k_lens{4, 1, 3};
  const Mask mask = Mask::valid_lens(k_lens);
  const Array padded = pack_rows(mha(q, m, m, {.mask = mask}), q_lens).value();
  const Tensor rows = pack_rows(q, q_lens), memory = pack_rows(m, k_lens);
  CHECK(difference(mha(rows, memory, memory, {.mask = mask, .q_lens = q_lens, .k_lens = k_lens}).value(), padded) <= 1e-12);
}

TEST_CASE("what is hidden from every query reaches nothing, not even a weight's gradient") {
  Rng rng(7);
  const MultiHeadAttention mha = exact(MultiHeadAttention(8, 2, rng));
  const MultiHeadAttention widths = exact(MultiHeadAttention(8, 2, rng, {.kdim = 8, .vdim = 4}));
  const std::vector<Dim> lens = {3, 5, 0};
  const Array q = drawn({3, 4, 8}, 1), m = drawn({3, 5, 8}, 2), v = drawn({3, 5, 8}, 3), narrow = drawn({3, 5, 4}, 4);
  const Mask mask = Mask::valid_lens({3, 5, 0});
  const Outcome memory = run(mha, {q, m}, {.mask = mask});
  const Outcome apart = run(mha, {q, m, v}, {.mask = mask});
  const Outcome own = run(widths, {q, m, narrow}, {.mask = mask});
  CHECK(all_zero(memory.weights.rows(2, 3)));
  for (const double filling : {1e30, static_cast<double>(INFINITY), nan_value}) {
    const Array m2 = fill_beyond(m, lens, filling), v2 = fill_beyond(v, lens, filling), narrow2 = fill_beyond(narrow, lens, filling);
    for (const int kind : {1, 2, 3}) {
      const Outcome& clean = kind == 1 ? memory : kind == 2 ? apart : own;
      const Outcome filled = kind == 1   ? run(mha, {q, m2}, {.mask = mask})
                             : kind == 2 ? run(mha, {q, m2, v2}, {.mask = mask})
                                         : run(widths, {q, m2, narrow2}, {.mask = mask});
      CHECK(same_bits(filled.y, clean.y));
      CHECK(same_bits(filled.weights, clean.weights));
      CHECK(same_bits(filled.inputs, clean.inputs));
      CHECK(same_bits(filled.parameters, clean.parameters));
    }
  }
  CHECK(all_zero(part(memory.inputs[1], 0, 3, 5)));
  CHECK(all_zero(memory.inputs[1].rows(2, 3)));
}

TEST_CASE("a NaN in the future changes no bit of the past, forward and backward") {
  Rng rng(8);
  const MultiHeadAttention mha = exact(MultiHeadAttention(8, 2, rng));
  const Array x = drawn({1, 6, 8}, 1), spoiled = fill_beyond(x, {4}, nan_value);
  const auto first_rows = [&](const Array& numbers) {
    Tape tape;
    const Tensor input = tape.watch(numbers);
    const Tensor y = slice(mha(input, {.mask = Mask::causal()}), 1, 0, 4);
    tape.backward(sum(y * y));
    take_gradients(mha);
    return std::vector<Array>{y.value(), part(tape.grad(input), 0, 0, 4)};
  };
  CHECK(same_bits(first_rows(x), first_rows(spoiled)));
}

TEST_CASE("in self-attention a row hidden as a key reaches nothing through keys and values") {
  Rng rng(14);
  const MultiHeadAttention mha = exact(MultiHeadAttention(8, 2, rng));
  const Array x = drawn({2, 5, 8}, 1);
  const auto outcome = [&](const Array& numbers) {
    Tape tape;
    const Tensor input = tape.watch(numbers);
    const Tensor y = slice(mha(input, {.mask = Mask::valid_lens({3, 3})}), 1, 0, 3);  // [B, 3, E]: queries compute their own rows
    tape.backward(y, drawn(y.shape(), 2));
    const Array dw = mha.in_proj_weight.grad().rows(8, 24);
    take_gradients(mha);
    return std::vector<Array>{y.value(), dw, part(tape.grad(input), 1, 0, 3)};
  };
  const std::vector<Array> clean = outcome(x);
  for (const double filling : {1e30, static_cast<double>(INFINITY), nan_value})
    CHECK(same_bits(outcome(fill_beyond(x, {3, 3}, filling)), clean));
}
