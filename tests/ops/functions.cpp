#include <cmath>
#include <functional>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "catch.hpp"
#include "ops/numbers.hpp"

using namespace tapeform;

namespace {

using Numbers = std::vector<double>;
using Function = std::function<Tensor(const Tensor&)>;

struct Named {
  const char* name;
  Function f;
  double (*exact)(double);
  bool positive;  // defined, or smooth, on one side of 0 only
};

const std::vector<Named> functions = {
    {"log1p", [](const Tensor& x) { return log1p(x); }, [](double v) { return std::log1p(v); }, true},
    {"expm1", [](const Tensor& x) { return expm1(x); }, [](double v) { return std::expm1(v); }, false},
    {"log2", [](const Tensor& x) { return log2(x); }, [](double v) { return std::log2(v); }, true},
    {"rsqrt", [](const Tensor& x) { return rsqrt(x); }, [](double v) { return 1 / std::sqrt(v); }, true},
    {"abs", [](const Tensor& x) { return abs(x); }, [](double v) { return std::abs(v); }, true},
    {"sin", [](const Tensor& x) { return sin(x); }, [](double v) { return std::sin(v); }, false},
    {"cos", [](const Tensor& x) { return cos(x); }, [](double v) { return std::cos(v); }, false},
    {"pow 2", [](const Tensor& x) { return pow(x, 2); }, [](double v) { return v * v; }, false},
    {"pow 1", [](const Tensor& x) { return pow(x, 1); }, [](double v) { return v; }, false},
    {"pow 3", [](const Tensor& x) { return pow(x, 3); }, [](double v) { return v * v * v; }, false},
    {"pow -1.5", [](const Tensor& x) { return pow(x, -1.5); }, [](double v) { return std::pow(v, -1.5); }, true},
    {"2 to the power of", [](const Tensor& x) { return pow(2, x); }, [](double v) { return std::exp2(v); }, false}};

// From 0.5 to 3, on one side of 0 or on both.
Array spread(Dim n, bool positive) {
  Array x({n}, DType::float64);
  for (Dim i = 0; i < n; ++i)
    x.mutable_data<double>()[i] =
        (positive || i % 2 == 0 ? 1 : -1) * (0.5 + 2.5 * static_cast<double>(i % 13) / 13 + 0.001 * static_cast<double>(i));
  return x;
}

struct Run {
  Array y, dx;
};
Run run(const Function& f, const Array& x0, double dy = 1) {
  Tape tape;
  const Tensor x = tape.watch(x0), y = f(x);
  tape.backward(y, Array::full(y.shape(), dy, x0.dtype()));
  return {y.value(), tape.grad(x)};
}

}  // namespace

TEST_CASE("functions: gradcheck at every width") {
  for (const Named& function : functions)
    for (const Dim n : {1, 7, 8, 9, 17, 33, 65}) {
      const GradcheckReport report = gradcheck(function.f, {spread(n, function.positive)});
      INFO(function.name << ": " << report.str());
      CHECK(report.ok(1e-11));
    }
}

TEST_CASE("functions: float32 results are those of double, rounded once, tiny and huge arguments too") {
  const Array x = Array::of({14}, {1e-38, 3e-20, 1e-9, 1e-7, 1e-4, 0.1, 0.7, 1, 2, 33, 80, 1e6, 1e19, 3e38});
  for (const Named& function : functions)
    for (const double sign : {1.0, -1.0}) {
      if (sign < 0 && function.positive) continue;
      Array signed_x = x;
      signed_x.write<float>([sign](std::span<float> all) {
        for (float& v : all) v *= static_cast<float>(sign);
      });
      const Array y = function.f(Tensor(signed_x)).value();
      REQUIRE(y.dtype() == DType::float32);
      for (Dim i = 0; i < x.numel(); ++i) {
        INFO(function.name << " of " << signed_x.at({i}));
        CHECK(y.at({i}) == static_cast<float>(function.exact(signed_x.at({i}))));
      }
    }
}

TEST_CASE("functions: nothing, one number, higher ranks") {
  for (const Named& function : functions) {
    CHECK(run(function.f, Array(Shape{0, 3})).dx.shape() == Shape{0, 3});
    CHECK(run(function.f, Array::of({}, {0.5})).y.shape() == Shape{});
    CHECK(run(function.f, Array::ones({2, 1, 3})).dx.shape() == Shape{2, 1, 3});
    CHECK(std::isnan(run(function.f, Array::of({}, {numbers::nan})).y.item()));
  }
}

TEST_CASE("functions: limits, and no result beside the domain") {
  const auto at = [](const Function& f, double v) { return f(Tensor(Array::of({}, {v}))).item(); };
  const auto named = [](const char* name) {
    for (const Named& function : functions)
      if (std::string(function.name) == name) return function.f;
    return Function();
  };
  const double inf = numbers::inf;
  CHECK(at(named("log1p"), -1) == -inf);
  CHECK(at(named("log1p"), inf) == inf);
  CHECK(std::isnan(at(named("log1p"), -1.5)));
  CHECK(at(named("expm1"), -inf) == -1);
  CHECK(at(named("expm1"), 90) == inf);
  CHECK(at(named("log2"), 0) == -inf);
  CHECK(std::isnan(at(named("log2"), -1)));
  CHECK(at(named("rsqrt"), 0) == inf);
  CHECK(at(named("rsqrt"), inf) == 0);
  CHECK(std::isnan(at(named("rsqrt"), -1)));
  CHECK(at(named("abs"), -inf) == inf);
  CHECK(std::isnan(at(named("sin"), inf)));
  CHECK(std::isnan(at(named("cos"), -inf)));
  CHECK(std::isnan(at(named("pow -1.5"), -1)));
  CHECK(run(named("rsqrt"), Array::of({1}, {inf})).dx.item() == 0);
}

TEST_CASE("abs: its gradient is 0 at 0 and a NaN's is NaN") {
  const Array x = Array::of({5}, {-2, -0.0, 0, 3, numbers::nan});
  const Run got = run([](const Tensor& v) { return abs(v); }, x, 10);
  for (Dim i = 0; i < 4; ++i) CHECK(got.dx.at({i}) == std::vector<double>{-10, 0, 0, 10}[static_cast<std::size_t>(i)]);
  CHECK(std::isnan(got.dx.at({4})));
}

TEST_CASE("AG-43: x^0 at 0", "[case]") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Run zeroth = run([](const Tensor& x) { return pow(x, 0); }, Array::of({2}, {0, 1}, dtype));
    CHECK(zeroth.y.to_vector() == Numbers{1, 1});
    CHECK(zeroth.dx.to_vector() == Numbers{0, 0});
    CHECK(run([](const Tensor& x) { return pow(x, 2); }, Array::zeros({1}, dtype)).dx.item() == 0);
    CHECK(run([](const Tensor& x) { return pow(x, 1); }, Array::zeros({1}, dtype)).dx.item() == 1);
    CHECK(run([](const Tensor& x) { return pow(x, 0.5); }, Array::zeros({1}, dtype)).dx.item() == numbers::inf);
    // The same with the exponent in a tensor.
    Tape tape;
    const Tensor x = tape.watch(Array::of({4}, {0, 1, 0, 0}, dtype)), p(Array::of({4}, {0, 0, 2, 1}, dtype));
    const Tensor y = pow(x, p);
    tape.backward(y, Array::ones({4}, dtype));
    CHECK(y.value().to_vector() == Numbers{1, 1, 0, 0});
    CHECK(tape.grad(x).to_vector() == Numbers{0, 0, 0, 1});
  }
}

TEST_CASE("pow: gradcheck of every kind of broadcasting") {
  const std::pair<Shape, Shape> shapes[] = {{{3, 4}, {3, 4}}, {{3, 4}, {4}}, {{4}, {3, 4}},         {{3, 1}, {1, 4}},
                                            {{}, {2, 3}},     {{2, 3}, {}},  {{2, 3, 1, 2}, {5, 1}}};
  for (const auto& [a, b] : shapes) {
    const std::vector<Array> inputs = {spread(a.numel(), true).reshape(a), spread(b.numel(), false).reshape(b)};
    const GradcheckReport report = gradcheck([](const Tensor& x, const Tensor& y) { return pow(x, y); }, inputs);
    INFO("a " << a.str() << ", b " << b.str() << ": " << report.str());
    CHECK(report.ok(1e-11));
  }
}

TEST_CASE("pow: gradients at the ends of the domain") {
  Tape tape;
  const Tensor a = tape.watch(Array::of({7}, {0, 0, 0, -2, -2, numbers::inf, 3}, DType::float64));
  const Tensor b = tape.watch(Array::of({7}, {2, 0, -1, 3, 0.5, -1, 0}, DType::float64));
  const Tensor c = pow(a, b);
  tape.backward(c, Array::ones({7}, DType::float64));
  const Array da = tape.grad(a), db = tape.grad(b);
  CHECK(da.at({0}) == 0);
  CHECK(da.at({1}) == 0);
  CHECK(da.at({2}) == -numbers::inf);
  CHECK(da.at({3}) == 12);
  CHECK(std::isnan(da.at({4})));
  CHECK(da.at({5}) == 0);
  CHECK(da.at({6}) == 0);
  CHECK(db.at({0}) == 0);
  CHECK(db.at({1}) == 0);
  CHECK(db.at({2}) == -numbers::inf);
  CHECK(std::isnan(db.at({3})));  // ln of a negative number, though c is -8
  CHECK(c.value().at({3}) == -8);
  CHECK(db.at({5}) == 0);
  CHECK(db.at({6}) == Catch::Approx(std::log(3)));
  const Run power_of_0 = run([](const Tensor& x) { return pow(0, x); }, Array::of({2}, {0, 2}));
  CHECK(power_of_0.y.to_vector() == Numbers{1, 0});
  CHECK(power_of_0.dx.to_vector() == Numbers{0, 0});
}

TEST_CASE("functions with a pole: a gradient of 0 stays 0 there") {
  const std::vector<std::pair<const char*, Function>> poles = {{"log", [](const Tensor& x) { return log(x); }},
                                                               {"sqrt", [](const Tensor& x) { return sqrt(x); }},
                                                               {"log2", [](const Tensor& x) { return log2(x); }},
                                                               {"log1p", [](const Tensor& x) { return log1p(x - 1.0); }},
                                                               {"rsqrt", [](const Tensor& x) { return rsqrt(x); }},
                                                               {"pow", [](const Tensor& x) { return pow(x, -2); }},
                                                               {"pow of tensors", [](const Tensor& x) { return pow(x, x - 2.0); }}};
  for (const auto& [name, f] : poles)
    for (const DType dtype : {DType::float32, DType::float64}) {
      INFO(name);
      CHECK(run(f, Array::zeros({9}, dtype), 0).dx.to_vector() == Numbers(9, 0.0));
      CHECK(std::isinf(run(f, Array::zeros({9}, dtype), 1).dx.at({4})));
    }
}

TEST_CASE("functions: errors") {
  const Tensor a(Array::zeros({2, 3})), b(Array::zeros({4})), c(Array::zeros({2, 3}, DType::float64));
  CHECK_THROWS_WITH(
      pow(a, b), Equals("pow: shapes must broadcast; got a [2, 3], b [4]. Aligned at the last axis, sizes must be equal or one of them 1"));
  CHECK_THROWS_WITH(pow(a, c), Equals("pow: dtypes must agree; got a float32, b float64. Convert one with cast()"));
  const std::string nothing = " holds nothing (default-constructed, moved from, or a gradient that is not there). Test it with `if (";
  CHECK_THROWS_WITH(log1p(Tensor()), Equals("log1p: x" + nothing + "x)`"));
  CHECK_THROWS_WITH(expm1(Tensor()), Equals("expm1: x" + nothing + "x)`"));
  CHECK_THROWS_WITH(log2(Tensor()), Equals("log2: x" + nothing + "x)`"));
  CHECK_THROWS_WITH(rsqrt(Tensor()), Equals("rsqrt: x" + nothing + "x)`"));
  CHECK_THROWS_WITH(abs(Tensor()), Equals("abs: x" + nothing + "x)`"));
  CHECK_THROWS_WITH(sin(Tensor()), Equals("sin: x" + nothing + "x)`"));
  CHECK_THROWS_WITH(cos(Tensor()), Equals("cos: x" + nothing + "x)`"));
  CHECK_THROWS_WITH(pow(Tensor(), 2), Equals("pow: x" + nothing + "x)`"));
  CHECK_THROWS_WITH(pow(2, Tensor()), Equals("pow: b" + nothing + "b)`"));
  CHECK_THROWS_WITH(pow(a, Tensor()), Equals("pow: b" + nothing + "b)`"));
}
