#include <cmath>
#include <limits>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "catch.hpp"

using namespace tapeform;

namespace {

using Numbers = std::vector<double>;

// Well-scaled numbers, away from 0; positive ones for log, sqrt and divisors.
Array numbers(const Shape& shape, std::uint64_t seed, bool positive = false) {
  Rng rng(seed);
  Array x(shape, DType::float64);
  for (Dim i = 0; i < x.numel(); ++i) {
    const double size = 0.5 + 1.5 * rng.uniform();
    x.mutable_data<double>()[i] = positive || rng.uniform() < 0.5 ? size : -size;
  }
  return x;
}

void check(const char* what, const GradcheckReport& report) {
  INFO(what << ": " << report.str());
  CHECK(report.ok(1e-11));
}

}  // namespace

TEST_CASE("arithmetic: gradients of every kind of broadcasting") {
  struct Case {
    Shape a, b;
  };
  const Case cases[] = {{{3, 4}, {3, 4}},       {{3, 4}, {4}}, {{4}, {3, 4}}, {{3, 1}, {3, 4}},
                        {{3, 4}, {3, 1}},       {{}, {2, 3}},  {{2, 3}, {}},  {{4, 1}, {1, 4}},
                        {{2, 3, 1, 2}, {5, 1}}, {{1}, {1, 1}}, {{7}, {1}},    {{2, 1, 3}, {9, 3}}};
  for (const Case& c : cases) {
    INFO("a " << c.a.str() << ", b " << c.b.str());
    const std::vector<Array> inputs = {numbers(c.a, 1), numbers(c.b, 2, true)};
    check("add", gradcheck([](const Tensor& a, const Tensor& b) { return a + b; }, inputs));
    check("sub", gradcheck([](const Tensor& a, const Tensor& b) { return a - b; }, inputs));
    check("mul", gradcheck([](const Tensor& a, const Tensor& b) { return a * b; }, inputs));
    check("div", gradcheck([](const Tensor& a, const Tensor& b) { return a / b; }, inputs));
  }
}

TEST_CASE("arithmetic: gradients of functions and of one number") {
  for (const Dim n : {1, 7, 8, 9, 17, 33, 65}) {
    const std::vector<Array> any = {numbers({n}, 3)}, positive = {numbers({n}, 4, true)};
    check("neg", gradcheck([](const Tensor& x) { return -x; }, any));
    check("exp", gradcheck([](const Tensor& x) { return exp(x); }, any));
    check("log", gradcheck([](const Tensor& x) { return log(x); }, positive));
    check("sqrt", gradcheck([](const Tensor& x) { return sqrt(x); }, positive));
    check("tanh", gradcheck([](const Tensor& x) { return tanh(x); }, any));
    check("with a number",
          gradcheck([](const Tensor& x) { return (3.0 - (2.0 * x + 1.0) / 4.0 - 0.5) * 1.5 + (1.0 + 2.0 / x); }, positive));
  }
}

TEST_CASE("arithmetic: values") {
  const Tensor a(Array::of({2, 2}, {1, 2, 3, 4})), b(Array::of({2}, {2, -4}));
  CHECK((a + b).value().to_vector() == Numbers{3, -2, 5, 0});
  CHECK((a - b).value().to_vector() == Numbers{-1, 6, 1, 8});
  CHECK((a * b).value().to_vector() == Numbers{2, -8, 6, -16});
  CHECK((a / b).value().to_vector() == Numbers{0.5, -0.5, 1.5, -1});
  CHECK((-b).value().to_vector() == Numbers{-2, 4});
  CHECK((1.0 - b).value().to_vector() == Numbers{-1, 5});
  CHECK((8.0 / b).value().to_vector() == Numbers{4, -2});
  CHECK((b / 2.0).value().to_vector() == Numbers{1, -2});
  CHECK((a + 0.5).dtype() == DType::float32);
  CHECK(sqrt(Tensor(Array::of({3}, {0, 4, 9}))).value().to_vector() == Numbers{0, 2, 3});
  const double inf = std::numeric_limits<double>::infinity();
  CHECK((Tensor(Array::of({2}, {1, -1})) / Tensor(Array::of({}, {0}))).value().to_vector() == Numbers{inf, -inf});
}

TEST_CASE("AG-01: a result used twice is run once, after all its uses", "[case]") {
  {
    Tape tape;
    const Tensor a = tape.watch(Array::of({}, {1}));
    const Tensor b = a + a, c = b + b;
    tape.backward(c);
    CHECK(tape.grad(a).item() == 4);
  }
  Tape tape;
  const Tensor a = tape.watch(Array::of({}, {2})), b = tape.watch(Array::of({}, {3}));
  const Tensor c = a + b, d = a * b, y = (c + d) + c * d;
  tape.backward(y);
  CHECK(tape.grad(a).item() == 25);
  CHECK(tape.grad(b).item() == 19);
}

TEST_CASE("AG-04: both inputs of an addition may get one buffer; adding to one leaves the other", "[case]") {
  for (const bool swapped : {false, true}) {
    Tape tape;
    const Tensor x = tape.watch(Array::of({1}, {1})), y = tape.watch(Array::of({1}, {1}));
    const Tensor z = x + y;
    const Tensor loss = swapped ? 2.0 * sum(x) + sum(z) : sum(z) + 2.0 * sum(x);
    tape.backward(loss);
    CHECK(tape.grad(x).to_vector() == Numbers{3});
    CHECK(tape.grad(y).to_vector() == Numbers{1});
  }
}

TEST_CASE("AG-06: a gradient has its input's own shape", "[case]") {
  struct Case {
    Shape a, b;
    double da, db;  // every entry, for inputs of ones
    bool multiply;
  };
  const Case cases[] = {
      {{1}, {5, 4}, 20, 1, true}, {{4, 1}, {1, 4}, 4, 4, true}, {{3, 4}, {1, 4}, 1, 3, false}, {{3, 4}, {4}, 1, 3, false}};
  for (const Case& c : cases) {
    Tape tape;
    const Tensor a = tape.watch(Array::ones(c.a)), b = tape.watch(Array::ones(c.b));
    tape.backward(sum(c.multiply ? a * b : a + b));
    REQUIRE(tape.grad(a).shape() == c.a);
    REQUIRE(tape.grad(b).shape() == c.b);
    for (const double entry : tape.grad(a).to_vector()) CHECK(entry == c.da);
    for (const double entry : tape.grad(b).to_vector()) CHECK(entry == c.db);
  }
}

TEST_CASE("AG-08: a scalar keeps its shape", "[case]") {
  // The optimizer's half of the case stands with the optimizers.
  Tape tape;
  const Tensor v = tape.watch(Array::of({}, {0.5})), c(Array::ones({2}));
  tape.backward(sum(c * v));
  CHECK(tape.grad(v).shape() == Shape{});
  CHECK(tape.grad(v).item() == 2);
}

TEST_CASE("AG-11: broadcasting with an axis of size 0", "[case]") {
  Tape tape;
  const Tensor a = tape.watch(Array(Shape{4, 0})), b = tape.watch(Array::ones({4, 1}));
  const Tensor loss = sum(a + b);
  CHECK(loss.item() == 0);
  tape.backward(loss);
  CHECK(tape.grad(b).to_vector() == Numbers{0, 0, 0, 0});
  CHECK(tape.grad(a).shape() == Shape{4, 0});
}

TEST_CASE("AG-35: the square root of a sum of squares at 0", "[case]") {
  // As documented at sqrt: its derivative at 0 is inf, and 0·inf = NaN reaches x; the square of it is fine, and so is `norm`.
  Tape tape;
  const Tensor x = tape.watch(Array::zeros({3}));
  const Tensor square = tape.watch(sum(x * x)), norm = sqrt(square);
  tape.backward(norm);
  CHECK(norm.item() == 0);
  CHECK(tape.grad(square).item() == std::numeric_limits<double>::infinity());
  for (const double entry : tape.grad(x).to_vector()) CHECK(std::isnan(entry));

  Tape second;
  const Tensor y = second.watch(Array::zeros({3}));
  second.backward(sum(y * y));
  CHECK(second.grad(y).to_vector() == Numbers{0, 0, 0});
}

TEST_CASE("SL-11: [3] and [3, 1] make a table by the documented rule", "[case]") {
  // No op takes such a table for a loss by itself: mean((a - b)²) says what it does, and the losses check their shapes.
  const Tensor a(Array::of({3}, {1, 2, 3})), b(Array::of({3, 1}, {1, 2, 3}));
  const Tensor difference = a - b;
  CHECK(difference.shape() == Shape{3, 3});
  CHECK(mean(difference * difference).item() == Catch::Approx(1.3333333));
}

TEST_CASE("arithmetic: errors name the op, what came and the cure") {
  const Tensor a(Array::zeros({2, 3})), b(Array::zeros({4})), c(Array::zeros({2, 3}, DType::float64));
  const std::string rule = ". Aligned at the last axis, sizes must be equal or one of them 1";
  CHECK_THROWS_AS(a + b, ShapeError);
  CHECK_THROWS_WITH(a + b, Equals("add: shapes must broadcast; got a [2, 3], b [4]" + rule));
  CHECK_THROWS_WITH(b - a, Equals("sub: shapes must broadcast; got a [4], b [2, 3]" + rule));
  CHECK_THROWS_AS(a * c, DTypeError);
  CHECK_THROWS_WITH(a * c, Equals("mul: dtypes must agree; got a float32, b float64. Convert one with cast()"));
  CHECK_THROWS_WITH(c / a, Equals("div: dtypes must agree; got a float64, b float32. Convert one with cast()"));
  CHECK_THROWS_AS(Tensor() + a, ValueError);
  CHECK_THROWS_AS(-Tensor(), ValueError);
}
