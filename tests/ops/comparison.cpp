#include <cmath>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "catch.hpp"
#include "ops/numbers.hpp"

using namespace tapeform;

namespace {

using Numbers = std::vector<double>;
const DType dtypes[] = {DType::float32, DType::float64};

// Numbers of which no two are equal.
Array distinct(const Shape& shape, double from) {
  Array x(shape, DType::float64);
  for (Dim i = 0; i < x.numel(); ++i) x.mutable_data<double>()[i] = from + 1.7 * static_cast<double>(i % 7) - 0.11 * static_cast<double>(i);
  return x;
}

const std::pair<Shape, Shape> broadcasts[] = {{{3, 4}, {3, 4}}, {{3, 4}, {4}},          {{4}, {3, 4}}, {{3, 1}, {1, 4}}, {{}, {2, 3}},
                                              {{2, 3}, {}},     {{2, 3, 1, 2}, {5, 1}}, {{65}, {65}},  {{33}, {1}}};

struct Gradients {
  Array c, da, db;
};
template <class F>
Gradients run(const F& f, const Array& a0, const Array& b0, double dc = 1) {
  Tape tape;
  const Tensor a = tape.watch(a0), b = tape.watch(b0), c = f(a, b);
  tape.backward(c, Array::full(c.shape(), dc, a0.dtype()));
  return {c.value(), tape.grad(a), tape.grad(b)};
}

const auto larger = [](const Tensor& a, const Tensor& b) { return maximum(a, b); };
const auto smaller = [](const Tensor& a, const Tensor& b) { return minimum(a, b); };

}  // namespace

TEST_CASE("comparisons: 0 and 1, of tensors and of numbers on either side") {
  for (const DType dtype : dtypes) {
    const Tensor a(Array::of({4}, {1, 2, 3, numbers::nan}, dtype)), b(Array::of({4}, {2, 2, 2, 2}, dtype));
    CHECK((a < b) == Ids{1, 0, 0, 0});
    CHECK((a <= b) == Ids{1, 1, 0, 0});
    CHECK((a > b) == Ids{0, 0, 1, 0});
    CHECK((a >= b) == Ids{0, 1, 1, 0});
    CHECK(equal_to(a, b) == Ids{0, 1, 0, 0});
    CHECK(not_equal_to(a, b) == Ids{1, 0, 1, 1});
    CHECK((a < 2) == Ids{1, 0, 0, 0});
    CHECK((a <= 2) == Ids{1, 1, 0, 0});
    CHECK((a > 2) == Ids{0, 0, 1, 0});
    CHECK((a >= 2) == Ids{0, 1, 1, 0});
    CHECK((2 < a) == Ids{0, 0, 1, 0});
    CHECK((2 <= a) == Ids{0, 1, 1, 0});
    CHECK((2 > a) == Ids{1, 0, 0, 0});
    CHECK((2 >= a) == Ids{1, 1, 0, 0});
    CHECK(equal_to(a, 2) == Ids{0, 1, 0, 0});
    CHECK(not_equal_to(a, 2) == Ids{1, 0, 1, 1});
    CHECK(equal_to(a, a) == Ids{1, 1, 1, 0});
  }
  CHECK(equal_to(Tensor(Array::of({1}, {-0.0})), 0) == Ids{1});
}

TEST_CASE("comparisons: shapes broadcast; nothing and scalars; a number takes the tensor's dtype") {
  const Tensor column(Array::of({2, 1}, {1, 2})), row(Array::of({3}, {1, 2, 3}));
  CHECK((column < row) == Ids::rows({{0, 1, 1}, {0, 0, 1}}));
  CHECK((Tensor(Array(Shape{0, 3})) < row).shape() == Shape{0, 3});
  CHECK((Tensor(Array::ones({})) < 2).shape() == Shape{});
  const Tensor tenth(Array::of({1}, {0.1}));  // 0.1 rounded to float32 lies above the double 0.1
  CHECK(equal_to(tenth, 0.1) == Ids{1});
  CHECK((tenth > 0.1) == Ids{0});
  CHECK(equal_to(Tensor(Array::of({1}, {0.1}, DType::float64)), 0.1) == Ids{1});
}

TEST_CASE("maximum and minimum: values, and the gradient goes where the value came from") {
  for (const DType dtype : dtypes) {
    const Array a = Array::of({3}, {1, 5, -2}, dtype), b = Array::of({3}, {4, 3, -7}, dtype);
    const Gradients high = run(larger, a, b, 2), low = run(smaller, a, b, 2);
    CHECK(high.c.to_vector() == Numbers{4, 5, -2});
    CHECK(high.da.to_vector() == Numbers{0, 2, 2});
    CHECK(high.db.to_vector() == Numbers{2, 0, 0});
    CHECK(low.c.to_vector() == Numbers{1, 3, -7});
    CHECK(low.da.to_vector() == Numbers{2, 0, 0});
    CHECK(low.db.to_vector() == Numbers{0, 2, 2});
  }
}

TEST_CASE("maximum and minimum: gradcheck of every kind of broadcasting") {
  for (const auto& [a, b] : broadcasts) {
    const std::vector<Array> inputs = {distinct(a, 0.5), distinct(b, 0.9)};
    const GradcheckReport high = gradcheck(larger, inputs), low = gradcheck(smaller, inputs);
    INFO("a " << a.str() << ", b " << b.str() << ": " << high.str() << low.str());
    CHECK(high.ok(1e-11));
    CHECK(low.ok(1e-11));
  }
}

TEST_CASE("AG-37: equal arguments of maximum and minimum share the gradient evenly", "[case]") {
  // The case's own max along an axis stands with the reductions.
  for (const DType dtype : dtypes) {
    const Array a = Array::of({4}, {.6, 0, numbers::inf, .3}, dtype), b = Array::of({4}, {.6, -0.0, numbers::inf, .6}, dtype);
    const Gradients high = run(larger, a, b), low = run(smaller, a, b);
    CHECK(high.da.to_vector() == Numbers{.5, .5, .5, 0});
    CHECK(high.db.to_vector() == Numbers{.5, .5, .5, 1});
    CHECK(low.da.to_vector() == Numbers{.5, .5, .5, 1});
    CHECK(low.db.to_vector() == Numbers{.5, .5, .5, 0});
    Tape tape;
    const Tensor x = tape.watch(a), y = maximum(x, x);
    tape.backward(y, Array::ones({4}, dtype));
    CHECK(tape.grad(x).to_vector() == Numbers{1, 1, 1, 1});
  }
}

TEST_CASE("AG-39: clamp, maximum and minimum pass NaN on, on either side", "[case]") {
  // The other ops of the case: relu stands with the activations, max along an axis with the reductions.
  for (const DType dtype : dtypes)
    for (const Dim n : {1, 7, 8, 9, 33})
      for (Dim at = 0; at < n; ++at) {
        Numbers numbers(static_cast<std::size_t>(n), -1.0);
        numbers[static_cast<std::size_t>(at)] = numbers::nan;
        const Tensor x(Array::of({n}, std::span<const double>(numbers)).cast(dtype)), zero(Array::zeros({}, dtype));
        for (const Tensor& y : {clamp(x, {.min = -.5, .max = .5}), clamp(x, {.min = 0}), clamp(x, {.max = 0}), maximum(x, zero),
                                maximum(zero, x), minimum(x, zero), minimum(zero, x)})
          for (Dim i = 0; i < n; ++i) REQUIRE(std::isnan(y.value().at({i})) == (i == at));
      }
}

TEST_CASE("clamp: the gradient passes on the closed interval") {
  for (const DType dtype : dtypes) {
    Tape tape;
    const Tensor x = tape.watch(Array::of({7}, {-1, 0, 0.05, 0.1, 1, -numbers::inf, numbers::nan}, dtype));
    const Tensor y = clamp(x, {.min = 0, .max = 0.1});
    tape.backward(y, Array::full({7}, 3, dtype));
    const double most = dtype == DType::float32 ? 0.1f : 0.1, middle = dtype == DType::float32 ? 0.05f : 0.05;
    const Numbers values = y.value().to_vector(), dx = tape.grad(x).to_vector();
    CHECK(Numbers(values.begin(), values.end() - 1) == Numbers{0, 0, middle, most, most, 0});
    CHECK(std::isnan(values.back()));
    CHECK(dx == Numbers{0, 3, 3, 3, 0, 0, 3});
  }
  CHECK(clamp(Tensor(Array::of({2}, {-9, 9})), {.min = 1}).value().to_vector() == Numbers{1, 9});
  CHECK(clamp(Tensor(Array::of({2}, {-9, 9})), {.max = 1}).value().to_vector() == Numbers{-9, 1});
  CHECK(clamp(Tensor(Array::of({1}, {5})), {.min = 2, .max = 2}).item() == 2);
  CHECK(clamp(Tensor(Array(Shape{0})), {.min = 2}).shape() == Shape{0});
  const GradcheckReport report = gradcheck([](const Tensor& x) { return clamp(x, {.min = -1, .max = 2}); }, {distinct({5, 7}, -3)});
  INFO(report.str());
  CHECK(report.ok(1e-11));
}

TEST_CASE("where: values, gradients of both sides, broadcasting of all three") {
  const Ids yes_no{1, 0, 1};
  const Gradients got =
      run([&](const Tensor& a, const Tensor& b) { return where(yes_no, a, b); }, Array::of({3}, {1, 2, 3}), Array::of({3}, {7, 8, 9}), 5);
  CHECK(got.c.to_vector() == Numbers{1, 8, 3});
  CHECK(got.da.to_vector() == Numbers{5, 0, 5});
  CHECK(got.db.to_vector() == Numbers{0, 5, 0});
  for (const auto& [a, b] : broadcasts) {
    const Ids condition = Tensor(distinct(b, -2)) > 0.0;
    const GradcheckReport report =
        gradcheck([&](const Tensor& x, const Tensor& y) { return where(condition, x, y); }, {distinct(a, 0.5), distinct(b, 0.9)});
    INFO("a " << a.str() << ", b " << b.str() << ": " << report.str());
    CHECK(report.ok(1e-11));
  }
  const Ids column = Ids::rows({{1}, {0}});
  const Gradients table =
      run([&](const Tensor& a, const Tensor& b) { return where(column, a, b); }, Array::of({3}, {1, 2, 3}), Array::of({}, {0}));
  CHECK(table.c.shape() == Shape{2, 3});
  CHECK(table.c.to_vector() == Numbers{1, 2, 3, 0, 0, 0});
  CHECK(table.da.to_vector() == Numbers{1, 1, 1});
  CHECK(table.db.item() == 3);
}

TEST_CASE("where: a number on either side; nothing; scalars") {
  const Tensor x(Array::of({2}, {3, -4}));
  CHECK(where(x > 0, x, 9).value().to_vector() == Numbers{3, 9});
  CHECK(where(x > 0, 9, x).value().to_vector() == Numbers{9, -4});
  const GradcheckReport left = gradcheck([](const Tensor& t) { return where(t > 0, t, 1.5); }, {distinct({3, 5}, -2)});
  const GradcheckReport right = gradcheck([](const Tensor& t) { return where(t > 0, 1.5, t); }, {distinct({3, 5}, -2)});
  const Ids table = Ids::rows({{1, 0}, {1, 1}});
  const GradcheckReport wide = gradcheck([&](const Tensor& t) { return where(table, t, 0.0) + where(table, 0.0, t); }, {distinct({2}, -2)});
  CHECK(left.ok(1e-11));
  CHECK(right.ok(1e-11));
  CHECK(wide.ok(1e-11));
  CHECK(where(Ids(), Tensor(Array(Shape{0})), 1).shape() == Shape{0});
  const std::int64_t one[] = {1};
  CHECK(where(Ids(Shape{}, one), Tensor(Array::of({}, {2})), 1).item() == 2);
}

TEST_CASE("AG-41: unselected branch poisons the gradient", "[case]") {
  for (const DType dtype : dtypes) {
    Tape tape;
    const Tensor x = tape.watch(Array::of({3}, {0, 2, 3}, dtype));
    const Tensor y = where(x > 2, log2(x), 2 * x);
    tape.backward(y, Array::ones({3}, dtype));
    CHECK(numbers::distance(y.value(), {0, 4, std::log2(3.0)}) <= 1e-7);
    CHECK(numbers::distance(tape.grad(x), {2, 2, 1 / (3 * std::log(2.0))}) <= 1e-7);
    // An op that knows nothing of it needs its input kept out of harm's way, as documented.
    Tape other;
    const Tensor z = other.watch(Array::of({2}, {0, 4}, dtype));
    const Tensor safe = where(z > 0, 1.0 / where(z > 0, z, 1.0), 0.0);
    other.backward(safe, Array::ones({2}, dtype));
    CHECK(safe.value().to_vector() == Numbers{0, .25});
    CHECK(other.grad(z).to_vector() == Numbers{0, -.0625});
  }
}

TEST_CASE("where and masked_fill: what is not selected reaches nothing, whatever it holds") {
  for (const double bad : {numbers::nan, numbers::inf, 1e30})
    for (const Dim n : {1, 7, 8, 9, 33}) {
      const Ids last = Tensor(distinct({n}, 0)) > -1e9;
      const Array junk = Array::full({n}, bad, DType::float64), good = distinct({n}, 1);
      CHECK(same_bits(where(last, good, junk).value(), good));
      CHECK(same_bits(masked_fill(junk, last, 2).value(), Array::full({n}, 2, DType::float64)));
      Tape tape;
      const Tensor x = tape.watch(junk), y = where(last, good, x) + masked_fill(x, last, 0);
      tape.backward(y, junk);
      CHECK(tape.grad(x).to_vector() == Numbers(static_cast<std::size_t>(n), 0.0));
    }
}

TEST_CASE("masked_fill: 1 is filled, the mask broadcasts, gradcheck") {
  const Tensor x(Array::of({2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(masked_fill(x, Ids{0, 1, 0}, -numbers::inf).value().to_vector() == Numbers{1, -numbers::inf, 3, 4, -numbers::inf, 6});
  CHECK(masked_fill(x, Ids::rows({{1}, {0}}), 0).value().to_vector() == Numbers{0, 0, 0, 4, 5, 6});
  CHECK(masked_fill(Tensor(Array(Shape{0, 3})), Ids{0, 1, 0}, 0).shape() == Shape{0, 3});
  const Ids mask{0, 1, 0, 0, 1};
  const GradcheckReport report = gradcheck([&](const Tensor& t) { return masked_fill(t, mask, 2); }, {distinct({3, 5}, 0)});
  INFO(report.str());
  CHECK(report.ok(1e-11));
}

TEST_CASE("comparison: same bits on one thread and two") {
  const Array a = numbers::random({301, 257}, 5, DType::float32), b = numbers::random({257}, 6, DType::float32);
  CHECK(numbers::same_on_two_threads([&]() -> std::vector<Array> {
    const Gradients got = run([](const Tensor& x, const Tensor& y) { return where(x > y, maximum(x, y), clamp(x, {.min = -1})); }, a, b);
    return {got.c, got.da, got.db};
  }));
}

TEST_CASE("comparison: errors") {
  const Tensor a(Array::zeros({2, 3})), b(Array::zeros({4})), c(Array::zeros({2, 3}, DType::float64));
  const std::string rule = ". Aligned at the last axis, sizes must be equal or one of them 1";
  CHECK_THROWS_WITH(a < b, Equals("less: shapes must broadcast; got a [2, 3], b [4]" + rule));
  CHECK_THROWS_WITH(a <= b, Equals("less_equal: shapes must broadcast; got a [2, 3], b [4]" + rule));
  CHECK_THROWS_WITH(a > c, Equals("greater: dtypes must agree; got a float32, b float64. Convert one with cast()"));
  CHECK_THROWS_WITH(a >= c, Equals("greater_equal: dtypes must agree; got a float32, b float64. Convert one with cast()"));
  CHECK_THROWS_WITH(equal_to(a, b), Equals("equal_to: shapes must broadcast; got a [2, 3], b [4]" + rule));
  CHECK_THROWS_WITH(not_equal_to(a, b), Equals("not_equal_to: shapes must broadcast; got a [2, 3], b [4]" + rule));
  CHECK_THROWS_AS(Tensor() < 1, ValueError);
  CHECK_THROWS_WITH(maximum(a, b), Equals("maximum: shapes must broadcast; got a [2, 3], b [4]" + rule));
  CHECK_THROWS_WITH(minimum(a, c), Equals("minimum: dtypes must agree; got a float32, b float64. Convert one with cast()"));
  CHECK_THROWS_WITH(clamp(a, {.min = 1, .max = 0}), Equals("clamp: min must not be above max; got min = 1, max = 0"));
  CHECK_THROWS_WITH(clamp(a, {.min = numbers::nan}), Equals("clamp: min must not be above max; got min = nan, max = inf"));
  CHECK_THROWS_AS(clamp(Tensor(), {.min = 1}), ValueError);
  CHECK_THROWS_WITH(where(Ids{1, 0}, a, 0), Equals("where: shapes must broadcast; got condition [2], a [2, 3]" + rule));
  CHECK_THROWS_WITH(where(Ids{1, 0}, 0, a), Equals("where: shapes must broadcast; got condition [2], b [2, 3]" + rule));
  CHECK_THROWS_WITH(where(Ids{1, 0}, a, a), Equals("where: shapes must broadcast; got condition [2], a and b [2, 3]" + rule));
  CHECK_THROWS_WITH(where(Ids{1}, a, b), Equals("where: shapes must broadcast; got a [2, 3], b [4]" + rule));
  CHECK_THROWS_WITH(where(Ids{1}, a, c), Equals("where: dtypes must agree; got a float32, b float64. Convert one with cast()"));
  CHECK_THROWS_WITH(where(Ids{1, 0, 2}, a, 0), Equals("where: condition must hold 0 and 1 only; got 2"));
  CHECK_THROWS_WITH(masked_fill(a, Ids{1, 0}, 0), Equals("masked_fill: shapes must broadcast; got x [2, 3], mask [2]" + rule));
  CHECK_THROWS_WITH(masked_fill(b, Ids::rows({{1}, {0}}), 0), Equals("masked_fill: mask must broadcast to x; got x [4], mask [2, 1]"));
  CHECK_THROWS_WITH(masked_fill(a, Ids{1, 0, -1}, 0), Equals("masked_fill: mask must hold 0 and 1 only; got -1"));
}
