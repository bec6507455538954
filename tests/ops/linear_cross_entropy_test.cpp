#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/ops/loss.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "ops/numbers.hpp"

using namespace tapeform;

namespace {

constexpr std::int64_t ignored = -1;

struct Run {
  Array loss, dh, dweight;
};

Run run(const Array& h0, const Array& w0, const Ids& targets, const CrossEntropyOptions& options, const Array& dloss) {
  Tape tape;
  const Tensor h = tape.watch(h0), w = tape.watch(w0), loss = linear_cross_entropy(h, w, targets, options);
  tape.backward(loss, dloss);
  return {loss.value(), tape.grad(h), tape.grad(w)};
}

// [m, k]·[k, n] with strides, by the definition.
Array product(const Array& a, Dim row_a, Dim step_a, const Array& b, Dim step_b, Dim col_b, Dim m, Dim n, Dim k) {
  Array c = Array::zeros({m, n}, a.dtype());
  double* const to = c.mutable_data<double>();
  for (Dim i = 0; i < m; ++i)
    for (Dim s = 0; s < k; ++s)
      for (Dim j = 0; j < n; ++j) to[i * n + j] += a.data<double>()[i * row_a + s * step_a] * b.data<double>()[s * step_b + j * col_b];
  return c;
}

// All logits at once, cross_entropy on them, and the two products that carry its gradient on.
Run composed(const Array& h, const Array& w, const Ids& targets, const CrossEntropyOptions& options, const Array& dloss) {
  const Dim N = h.dim(0), D = h.dim(1), V = w.dim(0);
  Tape tape;
  const Tensor logits = tape.watch(product(h, D, 1, w, 1, D, N, V, D)), loss = cross_entropy(logits, targets, options);
  tape.backward(loss, dloss);
  const Array& g = tape.grad(logits);
  return {loss.value(), product(g, V, 1, w, D, 1, N, D, V), product(g, 1, V, h, D, 1, V, D, N)};
}

Ids targets_for(Dim rows, Dim V, bool some_ignored) {
  std::vector<std::int64_t> ids;
  for (Dim r = 0; r < rows; ++r) ids.push_back(some_ignored && r % 3 == 1 ? ignored : (r * 5 + 2) % V);
  return Ids(ids);
}

void compare(Dim N, Dim V, Dim D, const CrossEntropyOptions& options, bool some_ignored) {
  const Array h = numbers::random({N, D}, 71), w = numbers::random({V, D}, 72);
  const Ids targets = targets_for(N, V, some_ignored);
  const Array dloss = options.reduction == Reduction::none ? numbers::random({N}, 73) : Array::full({}, 1.5, DType::float64);
  const Run got = run(h, w, targets, options, dloss), right = composed(h, w, targets, options, dloss);
  CAPTURE(N, V, D, some_ignored, static_cast<int>(options.reduction));
  CHECK(numbers::distance(got.loss, right.loss) <= 1e-12);
  CHECK(numbers::distance(got.dh, right.dh) <= 1e-12);
  CHECK(numbers::distance(got.dweight, right.dweight) <= 1e-12);
}

}  // namespace

TEST_CASE("linear_cross_entropy equals cross_entropy of all logits") {
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none})
    for (const bool some_ignored : {false, true}) {
      const CrossEntropyOptions options{.ignore_id = ignored, .label_smoothing = .1, .smoothing_excludes = {0}, .reduction = reduction};
      for (const Dim V : {1, 7, 8, 9, 17, 33, 65}) compare(5, V, 3, options, some_ignored);
      for (const Dim N : {1, 63, 64, 65, 129}) compare(N, 11, 4, options, some_ignored);
      for (const Dim N : {1023, 1024, 1025, 2049}) compare(N, 3, 2, options, some_ignored);  // a tile of few classes has 1,024 rows
    }
  for (const Dim N : {63, 64, 65}) compare(N, 16'400, 2, {}, false);  // one of very many has 64
}

TEST_CASE("linear_cross_entropy: gradcheck") {
  const Array h = numbers::random({2, 3, 4}, 74), w = numbers::random({7, 4}, 75);
  const Ids targets = targets_for(6, 7, true).reshape({2, 3});
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
    const CrossEntropyOptions options{.ignore_id = ignored, .label_smoothing = .1, .reduction = reduction};
    CHECK(
        gradcheck([&](const Tensor& x, const Tensor& weight) { return linear_cross_entropy(x, weight, targets, options); }, {h, w}).error <=
        1e-11);
    CHECK(gradcheck([&](const Tensor& x) { return linear_cross_entropy(x, w, targets, options); }, {h}).error <= 1e-11);
    CHECK(gradcheck([&](const Tensor& weight) { return linear_cross_entropy(h, weight, targets, options); }, {w}).error <= 1e-11);
  }
}

TEST_CASE("linear_cross_entropy: what a row with an ignored target holds reaches nothing") {
  const Array clean = numbers::random({6, 3}, 76), w = numbers::random({5, 3}, 77);
  const Ids targets{0, ignored, 2, 3, ignored, 4};
  Array dirty = clean;
  for (const Dim row : {1, 4})
    for (Dim j = 0; j < 3; ++j) dirty.mutable_data<double>()[row * 3 + j] = j == 0 ? numbers::nan : numbers::inf;
  for (const Reduction reduction : {Reduction::mean, Reduction::none}) {
    const CrossEntropyOptions options{.ignore_id = ignored, .reduction = reduction};
    const Array dloss = reduction == Reduction::none ? Array::ones({6}, DType::float64) : Array::ones({}, DType::float64);
    const Run a = run(clean, w, targets, options, dloss), b = run(dirty, w, targets, options, dloss);
    CHECK(same_bits(a.loss, b.loss));
    CHECK(same_bits(a.dh, b.dh));
    CHECK(same_bits(a.dweight, b.dweight));
    CHECK(b.dh.at({1, 0}) == 0);
  }
}

TEST_CASE("linear_cross_entropy never holds all logits") {
  const Dim N = 32768, V = 2048, D = 8;
  const Array h = numbers::random({N, D}, 78, DType::float32);
  const Parameter w(numbers::random({V, D}, 79, DType::float32));
  const Ids targets = targets_for(N, V, true);
  release_cached_memory();
  reset_peak_memory();
  const MemoryStats before = memory_stats();
  for (const Reduction reduction : {Reduction::mean, Reduction::none}) {
    Tape tape;
    const Tensor x = tape.watch(h), loss = linear_cross_entropy(x, w, targets, {.ignore_id = ignored, .reduction = reduction});
    tape.backward(loss, Array::ones(loss.shape()));
  }
  // All logits are 256 MiB; a tile of them is 8, gradients and what is gathered less than four.
  CHECK(memory_stats().peak_live_bytes - before.peak_live_bytes < (Dim{12} << 20));
}

TEST_CASE("linear_cross_entropy without a tape, and with one that may be asked again") {
  const Array h = numbers::random({6, 3}, 80), w = numbers::random({5, 3}, 81);
  const Ids targets = targets_for(6, 5, false);
  const Array one = Array::ones({}, DType::float64);
  const Run right = run(h, w, targets, {}, one);
  CHECK(same_bits(linear_cross_entropy(h, w, targets).value(), right.loss));
  Tape tape;
  const Tensor x = tape.watch(h), loss = linear_cross_entropy(x, w, targets);
  CHECK(same_bits(tape.gradients(loss, {x}, {.keep = true}).front(), right.dh));
  CHECK(same_bits(tape.gradients(loss, {x}).front(), right.dh));
}

TEST_CASE("linear_cross_entropy of nothing") {
  const Run none = run(Array({0, 3}, DType::float64), numbers::random({5, 3}, 82), Ids(), {}, Array::ones({}, DType::float64));
  CHECK(none.loss.item() == 0);
  CHECK(none.dh.shape() == Shape{0, 3});
  CHECK(none.dweight.to_vector() == std::vector<double>(15, 0.0));
}

TEST_CASE("linear_cross_entropy: same bits on one thread and two") {
  const Array h = numbers::random({700, 48}, 83, DType::float32), w = numbers::random({1500, 48}, 84, DType::float32);
  const Ids targets = targets_for(700, 1500, true);
  CHECK(numbers::same_on_two_threads([&]() -> std::vector<Array> {
    const Run got = run(h, w, targets, {.ignore_id = ignored, .label_smoothing = .1}, Array::ones({}));
    return {got.loss, got.dh, got.dweight};
  }));
}

TEST_CASE("linear_cross_entropy: errors") {
  const Array h({2, 3}), w({5, 3});
  CHECK(message<ShapeError>([&] {
          linear_cross_entropy(h, Array({5, 4}), {1, 2});
        }) == "linear_cross_entropy: h must be [..., D] and weight [V, D]; got h [2, 3], weight [5, 4]");
  CHECK(message<ShapeError>([&] {
          linear_cross_entropy(h, w, {1, 2, 3});
        }) == "linear_cross_entropy: targets must be [...] for h [..., D]; got h [2, 3], targets [3]");
  CHECK(message<DTypeError>([&] {
          linear_cross_entropy(h, w.cast(DType::float64), {1, 2});
        }) == "linear_cross_entropy: dtypes must agree; got h float32, weight float64. Use cast()");
}
