#include <cmath>
#include <functional>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "ops/numbers.hpp"

using namespace tapeform;

namespace {

using Numbers = std::vector<double>;
using Activation = std::function<Tensor(const Tensor&)>;

struct Named {
  const char* name;
  Activation f;
  long double (*exact)(long double x);
  long double (*slope)(long double x);
};

long double logistic(long double x) { return 1 / (1 + std::exp(-x)); }

const std::vector<Named> activations = {
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, logistic, [](long double x) { return logistic(x) * logistic(-x); }},
    {"log_sigmoid", [](const Tensor& x) { return log_sigmoid(x); }, [](long double x) { return -std::log1p(std::exp(-x)); },
     [](long double x) { return logistic(-x); }},
    {"silu", [](const Tensor& x) { return silu(x); }, [](long double x) { return x * logistic(x); },
     [](long double x) { return logistic(x) + x * logistic(x) * logistic(-x); }},
    {"softplus", [](const Tensor& x) { return softplus(x); }, [](long double x) { return std::log1p(std::exp(x)); }, logistic},
    {"softplus, beta 3", [](const Tensor& x) { return softplus(x, {.beta = 3}); },
     [](long double x) { return std::log1p(std::exp(3 * x)) / 3; }, [](long double x) { return logistic(3 * x); }},
    {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }, [](long double x) { return x > 0 ? x : 0.01L * x; },
     [](long double x) { return x > 0 ? 1.0L : 0.01L; }},
    {"leaky_relu, slope 0.3", [](const Tensor& x) { return leaky_relu(x, {.negative_slope = .3}); },
     [](long double x) { return x > 0 ? x : .3L * x; }, [](long double x) { return x > 0 ? 1.0L : .3L; }},
    {"elu", [](const Tensor& x) { return elu(x); }, [](long double x) { return x > 0 ? x : std::expm1(x); },
     [](long double x) { return x > 0 ? 1.0L : std::exp(x); }},
    {"elu, alpha 2", [](const Tensor& x) { return elu(x, {.alpha = 2}); }, [](long double x) { return x > 0 ? x : 2 * std::expm1(x); },
     [](long double x) { return x > 0 ? 1.0L : 2 * std::exp(x); }}};

// On both sides of 0, at least 0.1 from it.
Array spread(Dim n) {
  Array x({n}, DType::float64);
  for (Dim i = 0; i < n; ++i) x.mutable_data<double>()[i] = -2.79 + 1.37 * static_cast<double>(i % 5) + 0.003 * static_cast<double>(i);
  return x;
}

struct Run {
  Array y, dx;
};
Run run(const Activation& f, const Array& x0) {
  Tape tape;
  const Tensor x = tape.watch(x0), y = f(x);
  tape.backward(y, Array::ones(y.shape(), x0.dtype()));
  return {y.value(), tape.grad(x)};
}

double relative(double got, long double right) {
  return static_cast<double>(std::abs(static_cast<long double>(got) - right) / (std::abs(right) + 1e-36L));
}

}  // namespace

TEST_CASE("activations: gradcheck at every width") {
  for (const Named& activation : activations)
    for (const Dim n : {1, 7, 8, 9, 17, 33, 65}) {
      const GradcheckReport report = gradcheck(activation.f, {spread(n)});
      INFO(activation.name << ": " << report.str());
      CHECK(report.ok(1e-11));
    }
}

TEST_CASE("activations: values and slopes keep their last bits in both tails, in both dtypes") {
  for (const Named& activation : activations)
    for (const DType dtype : {DType::float32, DType::float64}) {
      Array x({401}, DType::float64);
      for (Dim i = 0; i < 401; ++i) x.mutable_data<double>()[i] = -50.1 + 0.25 * static_cast<double>(i);
      x = x.cast(dtype);
      const Run got = run(activation.f, x);
      const double most = dtype == DType::float32 ? 4e-7 : 4e-14;  // β·x is rounded before exp sees it
      for (Dim i = 0; i < 401; ++i) {
        const double v = x.at({i});
        INFO(activation.name << " at " << v << ", " << name(dtype));
        REQUIRE(relative(got.y.at({i}), activation.exact(v)) <= most);
        if (v > -2 && v < -0.8) continue;  // silu's slope passes 0
        REQUIRE(relative(got.dx.at({i}), activation.slope(v)) <= most);
      }
    }
}

TEST_CASE("activations: limits at ±inf, NaN, nothing, scalars, higher ranks") {
  struct Limits {
    double left, right, left_slope, right_slope;
  };
  const double inf = numbers::inf;
  const std::vector<Limits> limits = {{0, 1, 0, 0},
                                      {-inf, 0, 1, 0},
                                      {0, inf, 0, 1},
                                      {0, inf, 0, 1},
                                      {0, inf, 0, 1},
                                      {-inf, inf, static_cast<double>(0.01f), 1},
                                      {-inf, inf, static_cast<double>(0.3f), 1},
                                      {-1, inf, 0, 1},
                                      {-2, inf, 0, 1}};
  for (std::size_t i = 0; i < activations.size(); ++i) {
    INFO(activations[i].name);
    const Activation& f = activations[i].f;
    const Run got = run(f, Array::of({3}, {-inf, inf, numbers::nan}));
    CHECK(got.y.at({0}) == limits[i].left);
    CHECK(got.y.at({1}) == limits[i].right);
    CHECK(got.dx.at({0}) == limits[i].left_slope);
    CHECK(got.dx.at({1}) == limits[i].right_slope);
    CHECK(std::isnan(got.y.at({2})));
    CHECK(run(f, Array(Shape{0, 3})).dx.shape() == Shape{0, 3});
    CHECK(run(f, Array::ones({})).dx.shape() == Shape{});
    CHECK(run(f, Array::ones({2, 1, 3})).dx.shape() == Shape{2, 1, 3});
  }
}

TEST_CASE("activations: at 0 the left slope holds") {
  const Array zero = Array::zeros({1});
  CHECK(run([](const Tensor& x) { return leaky_relu(x, {.negative_slope = .25}); }, zero).dx.item() == .25);
  CHECK(run([](const Tensor& x) { return elu(x, {.alpha = 2}); }, zero).dx.item() == 2);
  CHECK(run([](const Tensor& x) { return sigmoid(x); }, zero).dx.item() == .25);
  CHECK(run([](const Tensor& x) { return silu(x); }, zero).dx.item() == .5);
  CHECK(softplus(Tensor(zero)).item() == Catch::Approx(std::log(2)).epsilon(1e-7));
}

TEST_CASE("gated units: values and then gates; gradcheck") {
  const Array x = Array::of({2, 4}, {1, 2, 0.5, -1, 3, 4, 0, 2}, DType::float64);
  const auto gate = [](double v) { return 1 / (1 + std::exp(-v)); };
  CHECK(numbers::distance(glu(x).value(), {gate(.5), 2 * gate(-1), 3 * gate(0), 4 * gate(2)}) <= 1e-15);
  CHECK(numbers::distance(swiglu(x).value(), {.5 * gate(.5), -2 * gate(-1), 0, 8 * gate(2)}) <= 1e-15);
  const auto normal = [](double v) { return v * .5 * std::erfc(-v / std::sqrt(2.0)); };
  CHECK(numbers::distance(geglu(x).value(), {normal(.5), 2 * normal(-1), 0, 4 * normal(2)}) <= 1e-15);
  CHECK(geglu(x, {.approximate = GeluForm::tanh}).value().at({0, 0}) ==
        gelu(Tensor(Array::of({}, {.5}, DType::float64)), {.approximate = GeluForm::tanh}).item());
  for (const Dim n : {1, 7, 8, 9, 17, 33})
    for (const Activation& f : {Activation([](const Tensor& t) { return glu(t); }), Activation([](const Tensor& t) { return swiglu(t); }),
                                Activation([](const Tensor& t) { return geglu(t); })}) {
      const GradcheckReport report = gradcheck(f, {numbers::random({3, 2 * n}, 9)});
      INFO(report.str());
      CHECK(report.ok(1e-11));
      CHECK(run(f, Array(Shape{0, 2 * n})).y.shape() == Shape{0, n});
    }
  CHECK(glu(Array(Shape{3, 0})).shape() == Shape{3, 0});
}

TEST_CASE("activations: same bits on one thread and two") {
  const Array x = numbers::random({301, 258}, 5, DType::float32);
  for (const Named& activation : activations)
    CHECK(numbers::same_on_two_threads([&]() -> std::vector<Array> {
      const Run got = run(activation.f, x);
      return {got.y, got.dx};
    }));
}

TEST_CASE("activations: errors") {
  const Tensor x(Array::ones({2, 3}));
  CHECK(message<ValueError>([&] { softplus(x, {.beta = 0}); }) == "softplus: beta must be positive and finite; got beta = 0");
  CHECK(message<ValueError>([&] { softplus(x, {.beta = numbers::nan}); }) == "softplus: beta must be positive and finite; got beta = nan");
  CHECK(message<ShapeError>([&] { glu(x); }) == "glu: x must be [..., 2*D], values and then gates; got x [2, 3]");
  CHECK(message<ShapeError>([&] { swiglu(x); }) == "swiglu: x must be [..., 2*D], values and then gates; got x [2, 3]");
  CHECK(message<ShapeError>([&] { geglu(Array::ones({})); }) == "geglu: x must be [..., 2*D], values and then gates; got x []");
  const std::string nothing = " holds nothing (default-constructed, moved from, or a gradient that is not there). Test it with `if (x)`";
  CHECK(message<ValueError>([] { sigmoid(Tensor()); }) == "sigmoid: x" + nothing);
  CHECK(message<ValueError>([] { log_sigmoid(Tensor()); }) == "log_sigmoid: x" + nothing);
  CHECK(message<ValueError>([] { silu(Tensor()); }) == "silu: x" + nothing);
  CHECK(message<ValueError>([] { softplus(Tensor()); }) == "softplus: x" + nothing);
  CHECK(message<ValueError>([] { leaky_relu(Tensor()); }) == "leaky_relu: x" + nothing);
  CHECK(message<ValueError>([] { elu(Tensor()); }) == "elu: x" + nothing);
  CHECK(message<ValueError>([] { glu(Tensor()); }) == "glu: x" + nothing);
}
