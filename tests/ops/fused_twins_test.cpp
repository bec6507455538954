#include <cmath>
#include <tapeform/core/mask.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/layer_norm.hpp>
#include <tapeform/core/ops/loss.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/reduce.hpp>
#include <tapeform/core/ops/softmax.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

#include "catch.hpp"
#include "ops/numbers.hpp"

// Fused ops beside their composition from other ops, which is their specification: results and the gradients of every input.

using namespace tapeform;

namespace {

using Inputs = std::vector<Tensor>;

template <class F>
std::vector<Array> run(const F& f, const std::vector<Array>& values) {
  Tape tape;
  Inputs inputs;
  for (const Array& value : values) inputs.push_back(tape.watch(value));
  const Tensor y = f(inputs);
  tape.backward(y, numbers::random(y.shape(), 91, y.dtype()));
  std::vector<Array> all{y.value()};
  for (const Tensor& x : inputs) all.push_back(tape.grad(x));
  return all;
}

template <class F, class G>
double between(const F& fused, const G& composed, const std::vector<Array>& values) {
  const std::vector<Array> a = run(fused, values), b = run(composed, values);
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, numbers::distance(a[i], b[i]));
  return worst;
}

// Numbers of size 1 need no shift by their maximum.
Tensor softmax_of_ops(const Tensor& x, int axis) {
  const Tensor e = exp(x);
  return e / sum(e, {axis}, {.keepdims = true});
}
Tensor log_softmax_of_ops(const Tensor& x, int axis) { return x - log(sum(exp(x), {axis}, {.keepdims = true})); }

Tensor layer_norm_of_ops(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor centred = x - mean(x, {-1}, {.keepdims = true});
  const Tensor normal = centred / sqrt(mean(centred * centred, {-1}, {.keepdims = true}) + eps);
  return normal * weight + bias;
}

// −Σ q·log_softmax, q given: [rows, V].
Tensor cross_entropy_of_ops(const Tensor& logits, const Array& q, double divisor) {
  return sum(-(log_softmax_of_ops(logits, -1) * q)) / divisor;
}

const std::vector<Dim> sizes{1, 7, 8, 9, 17, 33, 65};

}  // namespace

TEST_CASE("softmax and log_softmax are their compositions") {
  for (const Dim n : sizes)
    for (const int axis : {0, 1, -1}) {
      CAPTURE(n, axis);
      const std::vector<Array> x{numbers::random({3, n, 5}, 92)};
      CHECK(between([axis](const Inputs& in) { return softmax(in[0], axis); },
                    [axis](const Inputs& in) { return softmax_of_ops(in[0], axis); }, x) <= 1e-14);
      CHECK(between([axis](const Inputs& in) { return log_softmax(in[0], axis); },
                    [axis](const Inputs& in) { return log_softmax_of_ops(in[0], axis); }, x) <= 1e-13);
    }
}

TEST_CASE("masked_softmax is its composition") {
  for (const Dim Tk : sizes) {
    CAPTURE(Tk);
    const Ids lens{1 + Tk / 2, Tk};
    Array allowed = Array::zeros({2, 1, 1, Tk}, DType::float64);
    for (Dim b = 0; b < 2; ++b)
      for (Dim j = 0; j < lens[b]; ++j) allowed.mutable_data<double>()[b * Tk + j] = 1;
    const auto composed = [&allowed](const Inputs& in) {
      const Tensor e = exp(in[0]) * allowed;
      return e / sum(e, {-1}, {.keepdims = true});
    };
    const Mask mask = Mask::valid_lens(lens);
    CHECK(between([&mask](const Inputs& in) { return masked_softmax(in[0], mask); }, composed, {numbers::random({2, 3, 4, Tk}, 93)}) <=
          1e-14);
  }
}

TEST_CASE("layer_norm is its composition") {
  for (const Dim n : sizes) {
    CAPTURE(n);
    CHECK(between([](const Inputs& in) { return layer_norm(in[0], in[1], in[2], {.eps = 1e-3}); },
                  [](const Inputs& in) { return layer_norm_of_ops(in[0], in[1], in[2], 1e-3); },
                  {numbers::random({2, 3, n}, 94), numbers::random({n}, 95), numbers::random({n}, 96)}) <= 1e-13);
  }
}

TEST_CASE("cross_entropy is its composition") {
  for (const Dim V : sizes) {
    CAPTURE(V);
    Array q = Array::full({4, V}, .1 / static_cast<double>(V), DType::float64);
    std::vector<std::int64_t> targets;
    for (Dim r = 0; r < 4; ++r) {
      targets.push_back(r == 2 ? -1 : r * 5 % V);
      for (Dim v = 0; v < V; ++v) {
        double& share = q.mutable_data<double>()[r * V + v];
        share = r == 2 ? 0 : share + (v == targets.back() ? .9 : 0);
      }
    }
    const Ids ids(targets);
    const CrossEntropyOptions options{.ignore_id = -1, .label_smoothing = .1};
    CHECK(between([&](const Inputs& in) { return cross_entropy(in[0], ids, options); },
                  [&](const Inputs& in) { return cross_entropy_of_ops(in[0], q, 3); }, {numbers::random({4, V}, 97)}) <= 1e-14);
  }
}

TEST_CASE("linear_cross_entropy is cross_entropy of linear") {
  for (const Dim V : sizes) {
    CAPTURE(V);
    const Ids targets = Ids::rows({{0, V - 1, -1}, {V / 2, 0, 0}});
    for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
      const CrossEntropyOptions options{.ignore_id = -1, .label_smoothing = .1, .reduction = reduction};
      CHECK(between([&](const Inputs& in) { return linear_cross_entropy(in[0], in[1], targets, options); },
                    [&](const Inputs& in) { return cross_entropy(linear(in[0], in[1]), targets, options); },
                    {numbers::random({2, 3, 17}, 98), numbers::random({V, 17}, 99)}) <= 1e-13);
    }
  }
}

TEST_CASE("LN-10: fused norm cuts the graph", "[case]") {
  const std::vector<Array> values{numbers::random({64, 64}, 101), numbers::random({64}, 102), numbers::random({64}, 103),
                                  numbers::random({64}, 104), numbers::random({64, 64}, 105)};
  for (const bool transposed : {false, true}) {
    const Array x = numbers::random(transposed ? Shape{64, 4} : Shape{4, 64}, 106);
    const auto model = [&x, transposed](const Inputs& in, bool fused) {
      const Tensor h = linear(transposed ? transpose(x, 0, 1) : Tensor(x), in[0], in[1]);
      return linear(fused ? layer_norm(h, in[2], in[3]) : layer_norm_of_ops(h, in[2], in[3], 1e-5), in[4]);
    };
    const auto fused = [&model](const Inputs& in) { return model(in, true); };
    CHECK(between(
              fused, [&model](const Inputs& in) { return model(in, false); }, values) <= 1e-12);
    for (const Array& gradient : run(fused, values)) {
      bool nonzero = false;
      for (const double d : gradient.to_vector()) nonzero = nonzero || std::abs(d) > 1e-3;
      CHECK(nonzero);
    }
  }
}
