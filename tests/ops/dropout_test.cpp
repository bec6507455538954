#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/dropout.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "ops/numbers.hpp"

using namespace tapeform;

namespace {

struct Run {
  Array y, dx;
};
Run run(const Array& x0, double p, Rng rng, const Array& dy) {
  Tape tape(rng);
  const Tensor x = tape.watch(x0), y = dropout(x, p);
  tape.backward(y, dy);
  return {y.value(), tape.grad(x)};
}
Run run_on_ones(Dim n, double p, std::uint64_t seed, DType dtype = DType::float32) {
  const Array ones = Array::ones({n}, dtype);
  return run(ones, p, Rng(seed), ones);
}

}  // namespace

TEST_CASE("RN-01: dropout mask depends on threads", "[case]") {
  for (const Dim n : {9'999, 10'001, 1'000'000}) {
    std::vector<bool> kept(static_cast<std::size_t>(n));
    for (Dim i = 0; i < n; ++i) {
      const auto word = philox(static_cast<std::uint64_t>(i / 4), 0, 7)[static_cast<std::size_t>(i % 4)];
      kept[static_cast<std::size_t>(i)] = static_cast<double>(word) >= .3 * 0x1p32;
    }
    for (const int count : {1, 2})
      for (int repeat = 0; repeat < 5; ++repeat) {
        set_threads(count);
        const Run got = run_on_ones(n, .3, 7);
        bool right = true;
        for (std::size_t i = 0; i < kept.size(); ++i) right = right && (got.y.values<float>()[i] != 0) == kept[i];
        CAPTURE(n, count, repeat);
        CHECK(right);
        CHECK(same_bits(got.dx, got.y));
      }
  }
  CHECK(numbers::same_on_two_threads([]() -> std::vector<Array> { return {run_on_ones(1'000'000, .3, 7).y}; }));
}

TEST_CASE("RN-03: dropout p=1", "[case]") {
  const std::vector<double> zeros(5, 0.0);
  for (const double p : {1.0, 1 - 1e-12}) {
    Rng rng(1);
    const Run got = run(Array::of({5}, {1, 2, 3, numbers::inf, 0}), p, rng, Array::of({5}, {1, numbers::inf, 1, 1, numbers::nan}));
    CHECK(got.y.to_vector() == zeros);
    CHECK(got.dx.to_vector() == zeros);
  }
  Rng rng(1);
  Tape tape(rng);
  const Tensor x = tape.watch(Array::ones({5}));
  CHECK(dropout(x, 0).is_same(x));
  CHECK(rng.state() == Rng(1).state());
}

TEST_CASE("RN-05: dropout scaled by the wrong factor", "[case]") {
  const Array y = run_on_ones(1'000'000, .1, 3).y;
  double kept = 0, sum = 0;
  bool right = true;
  for (const float v : y.values<float>()) {
    right = right && (v == 0 || std::abs(v - 1.111111f) < 1e-6f);
    kept += v != 0;
    sum += v;
  }
  CHECK(right);
  CHECK(kept / 1e6 == Catch::Approx(.900).margin(.001));
  CHECK(sum / 1e6 == Catch::Approx(1).margin(.001));
}

TEST_CASE("MA-27: dropout active in evaluation", "[case]") {
  const Array x = numbers::random({3, 17}, 51);
  const Rng rng(5);
  CHECK(dropout(x, .8).is_same(x));
  CHECK(dropout(x, .8).is_same(dropout(x, 0)));
  {
    Tape tape(Tape::no_dropout);
    const Tensor watched = tape.watch(x);
    CHECK(dropout(watched, .8).is_same(watched));
  }
  Rng training(5);
  Tape tape(training);
  const Tensor watched = tape.watch(x);
  {
    const NoTape no_tape;
    CHECK(dropout(x, .8).is_same(x));
  }
  CHECK(training.state() == rng.state());
  CHECK_FALSE(same_bits(dropout(watched, .8).value(), x));
  CHECK(training.state().position == 13);  // 51 elements, four to a block
}

TEST_CASE("dropout keeps the same elements in both dtypes and at every size") {
  for (const Dim n : {1, 3, 4, 5, 7, 8, 9, 17, 33, 65, 1023, 1024, 1025, 20'000}) {
    const Run narrow = run_on_ones(n, .5, 9), wide = run_on_ones(n, .5, 9, DType::float64), more = run_on_ones(n + 5, .5, 9);
    CAPTURE(n);
    CHECK(narrow.y.to_vector() == wide.y.to_vector());  // 0 and 2 exactly
    CHECK(same_bits(more.y.rows(0, n), narrow.y));
  }
  CHECK(run_on_ones(0, .5, 9).y.shape() == Shape{0});
}

TEST_CASE("dropout follows stream and position of the generator") {
  Rng rng = Rng(9).stream(3);
  rng.reserve((std::uint64_t{1} << 33) + 1);  // above 32 bits
  const std::uint64_t first = rng.state().position;
  const Run got = run(Array::ones({1000}), .25, rng, Array::ones({1000}));
  bool right = true;
  for (Dim i = 0; i < 1000; ++i) {
    const auto word = philox(first + static_cast<std::uint64_t>(i / 4), 3, 9)[static_cast<std::size_t>(i % 4)];
    right = right && (got.y.at({i}) != 0) == (word >= (std::uint32_t{1} << 30));
  }
  CHECK(right);
}

TEST_CASE("dropout: what is not kept is 0, whatever it was") {
  const Array nan = Array::full({64}, numbers::nan);
  const Run got = run(nan, .5, Rng(2), nan);
  const Run ones = run_on_ones(64, .5, 2);
  for (Dim i = 0; i < 64; ++i) {
    CHECK((got.y.at({i}) == 0) == (ones.y.at({i}) == 0));
    CHECK((got.dx.at({i}) == 0) == (ones.y.at({i}) == 0));
  }
}

TEST_CASE("dropout: gradcheck") {
  for (const Dim n : {1, 9, 65})
    CHECK(gradcheck([](const Tensor& x) { return dropout(x, .3); }, {numbers::random({2, n}, 52)}).error <= 1e-11);
}

TEST_CASE("dropout: errors") {
  const Array x({2, 3});
  CHECK(message<ValueError>([&] { dropout(x, 1.5); }) == "dropout: p must be from 0 to 1; got p = 1.5, x [2, 3]");
  CHECK(message<ValueError>([&] { dropout(x, -.1); }) == "dropout: p must be from 0 to 1; got p = -0.1, x [2, 3]");
  CHECK(message<ValueError>([&] { dropout(x, numbers::nan); }).starts_with("dropout: p must be from 0 to 1"));
  Tape tape;
  CHECK(message<TapeError>([&] { dropout(tape.watch(x), .1); }) ==
        "dropout: this tape has no randomness for p = 0.1. Write Tape tape(rng) to train with dropout, or Tape tape(Tape::no_dropout)");
}
