#include <cmath>
#include <limits>
#include <string>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;

namespace {

template <class F>
Array mapped(const Array& x, F f) {
  Array y(x.shape(), DType::float64);
  for (Dim i = 0; i < x.numel(); ++i) y.mutable_data<double>()[i] = f(x.data<double>()[i]);
  return y;
}

// y = sin(x) with the derivative `factor`·cos(x), wrong at position `wrong_at` only when that is not −1.
Tensor sine(const Tensor& x, double factor = 1.0, Dim wrong_at = -1) {
  return record("sine", mapped(x.value(), [](double v) { return std::sin(v); }), wrt(x, [X = x.value(), factor, wrong_at](const Array& dy) {
                  Array dx(X.shape(), DType::float64);
                  for (Dim i = 0; i < X.numel(); ++i)
                    dx.mutable_data<double>()[i] =
                        (wrong_at == -1 || wrong_at == i ? factor : 1.0) * dy.data<double>()[i] * std::cos(X.data<double>()[i]);
                  return dx;
                }));
}

// y = x·w of [N, K] and [K]; dw sums over the rows, or, with the sum forgotten, takes the first row for all.
Tensor weighted(const Tensor& x, const Tensor& w, bool forget_sum = false) {
  const Dim rows = x.dim(0), width = x.dim(1);
  const auto times = [rows, width](const Array& a, const Array& b) {
    Array product(a.shape(), DType::float64);
    for (Dim i = 0; i < rows * width; ++i) product.mutable_data<double>()[i] = a.data<double>()[i] * b.data<double>()[i % width];
    return product;
  };
  return record("weighted", times(x.value(), w.value()), wrt(x, [W = w.value(), times](const Array& dy) { return times(dy, W); }),
                wrt(w, [X = x.value(), rows, width, forget_sum](const Array& dy, Array& dw) {
                  for (Dim i = 0; i < rows * width; ++i) {
                    if (forget_sum && i >= width) break;
                    dw.mutable_data<double>()[i % width] += X.data<double>()[i] * dy.data<double>()[i] * (forget_sum ? double(rows) : 1.0);
                  }
                }));
}

struct Scale {
  Parameter weight, frozen;
  explicit Scale(Rng& rng) : weight(normal({5}, 0, 1, rng, DType::float64)), frozen(normal({2}, 0, 1, rng, DType::float64)) {
    frozen.set_trainable(false);
  }
  Tensor operator()(const Tensor& x) const { return sine(weighted(x, weight)); }
  void visit(Fields& field) {
    field("inner.weight", weight);
    field("frozen", frozen);
  }
};

Array numbers(const Shape& shape, std::uint64_t seed = 7) {
  Rng rng(seed);
  return normal(shape, 0, 1, rng, DType::float64);
}

}  // namespace

TEST_CASE("gradcheck agrees with right derivatives to 1e-11") {
  for (const double size : {1e-3, 1.0, 3.0}) {
    const auto report =
        gradcheck([](const Tensor& x) { return sine(x); }, {mapped(numbers({3, 5}), [size](double v) { return size * v; })});
    INFO(report.str());
    CHECK(report.ok(1e-11));
    CHECK(report.checked == 15);
  }
  const auto both = gradcheck([](const std::vector<Tensor>& x) { return weighted(x[0], x[1]); }, {numbers({4, 3}), numbers({3}, 8)});
  INFO(both.str());
  CHECK(both.ok(1e-11));
  CHECK(both.tensors.size() == 2);
}

TEST_CASE("gradcheck finds a lost factor, a wrong sign, a forgotten sum and one wrong index") {
  const Array x = numbers({3, 5});
  CHECK_FALSE(gradcheck([](const Tensor& t) { return sine(t, 2.0); }, {x}).ok(1e-3));
  CHECK_FALSE(gradcheck([](const Tensor& t) { return sine(t, -1.0); }, {x}).ok(1e-3));
  CHECK_FALSE(gradcheck([](const Tensor& t) { return sine(t, 1.0 + 1e-9); }, {x}).ok(1e-11));
  CHECK_FALSE(gradcheck([](const Tensor& t, const Tensor& w) { return weighted(t, w, true); }, {x, numbers({5})}).ok(1e-3));

  const auto report = gradcheck([](const Tensor& t) { return sine(t, 1.5, 8); }, {x});
  CHECK_FALSE(report.ok(1e-3));
  CHECK(report.worst().path == "input 0");
  CHECK(report.worst().index == std::vector<Dim>{1, 3});
  CHECK(report.worst().analytic == Catch::Approx(1.5 * report.worst().numeric));
  CHECK(report.str().starts_with("gradcheck of sine: worst of 15 entries: input 0 [1, 3]: analytic "));
}

TEST_CASE("AG-47: gradient check in single precision", "[case]") {
  Rng rng(3);
  const Array x = uniform({4, 2}, 0, 1, rng, DType::float64), w = numbers({2});
  const auto linear = [](const Tensor& a, const Tensor& b) { return weighted(a, b); };
  CHECK(gradcheck(linear, {x, w}).ok(1e-8));
  CHECK_FALSE(gradcheck([](const Tensor& t) { return sine(t, 1.01); }, {x}).ok(5e-3));
  CHECK(message<DTypeError>([&] {
          gradcheck(linear, {x, w.cast(DType::float32)});
        }) ==
        "gradcheck: differences need float64; got input 1 [2] float32. Use cast(DType::float64), or allow_float32 with a tolerance near "
        "1e-3");
}

TEST_CASE("a derivative that is missing or not a number fails") {
  const Array x = numbers({3});
  const auto half = [](const Tensor& a, const Tensor& b) { return weighted(a, stop_gradient(b)); };
  const auto report = gradcheck(half, {numbers({2, 3}), x});
  CHECK_FALSE(report.ok(1e-3));
  CHECK(report.worst().path == "input 1");
  CHECK(report.worst().analytic == 0);

  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto broken = gradcheck([nan](const Tensor& t) { return sine(t, nan, 1); }, {x});
  CHECK(broken.error == std::numeric_limits<double>::infinity());
  CHECK(broken.worst().index == std::vector<Dim>{1});
  CHECK(message<TapeError>([&] {
          gradcheck([](const Tensor& t) { return stop_gradient(t); }, {x});
        }).starts_with("backward: the loss depends on no parameter"));
}

TEST_CASE("a kink inside the stencil costs a smaller step, no false alarm") {
  const auto magnitude = [](const Tensor& x) {
    return record("magnitude", mapped(x.value(), [](double v) { return std::abs(v); }), wrt(x, [X = x.value()](const Array& dy) {
                    Array dx(X.shape(), DType::float64);
                    for (Dim i = 0; i < X.numel(); ++i)
                      dx.mutable_data<double>()[i] = std::copysign(dy.data<double>()[i], X.data<double>()[i] * dy.data<double>()[i]);
                    return dx;
                  }));
  };
  const auto report = gradcheck(magnitude, {Array::of({3}, {1.0, 2e-3, -3e-4}, DType::float64)});
  INFO(report.str());
  CHECK(report.ok(1e-10));
}

TEST_CASE("a module's parameters are checked by name and left as they were") {
  Rng rng(5);
  Scale scale(rng);
  const Array weight = scale.weight.value(), gradient = Array::full({5}, 3.0, DType::float64);
  scale.weight.ref().grad() = gradient;
  const auto report = gradcheck(scale, {numbers({4, 5})});
  INFO(report.str());
  CHECK(report.ok(1e-11));
  REQUIRE(report.tensors.size() == 2);  // the frozen one is left out
  CHECK(report.tensors[1].path == "inner.weight");
  CHECK(scale.weight.value().is_same(weight));
  CHECK(scale.weight.grad().is_same(gradient));

  const auto wrong = gradcheck(scale, [&scale](const Tensor& x) { return weighted(x, scale.weight, true); }, {numbers({4, 5})});
  CHECK_FALSE(wrong.ok(1e-3));
  CHECK(wrong.worst().path == "inner.weight");
  CHECK(scale.weight.value().is_same(weight));
}

TEST_CASE("values and gradients come back after an exception too") {
  Rng rng(5);
  Scale scale(rng);
  const Array weight = scale.weight.value();
  const Array gradient = scale.weight.ref().grad() = Array::ones({5}, DType::float64);
  const auto throws = [&scale, &weight](const Tensor& x) {
    if (!same_bits(scale.weight.value(), weight)) throw ValueError("stop");
    return scale(x);
  };
  CHECK(message<ValueError>([&] { gradcheck(scale, throws, {numbers({4, 5})}); }) == "stop");
  CHECK(scale.weight.value().is_same(weight));
  CHECK(scale.weight.grad().is_same(gradient));
}

TEST_CASE("every run sees the same randomness") {
  const auto dropped = [](const Tensor& x) {
    Rng* const rng = Tape::dropout_rng("dropped", 0.5);
    Array mask = uniform(x.shape(), 0, 1, *rng, DType::float64);
    mask = mapped(mask, [](double u) { return u < 0.5 ? 0.0 : 2.0; });
    const auto times = [](const Array& a, const Array& b) {
      Array product(a.shape(), DType::float64);
      for (Dim i = 0; i < a.numel(); ++i) product.mutable_data<double>()[i] = a.data<double>()[i] * b.data<double>()[i];
      return product;
    };
    return record("dropped", times(x.value(), mask), wrt(x, [mask, times](const Array& dy) { return times(dy, mask); }));
  };
  CHECK(gradcheck(dropped, {numbers({20})}).ok(1e-11));

  Rng outside(1);
  const auto impure = [&outside](const Tensor& x) {
    const double factor = outside.normal();
    return record("impure", mapped(x.value(), [factor](double v) { return factor * v; }), wrt(x, [](const Array& dy) { return dy; }));
  };
  CHECK(message<ValueError>([&] { gradcheck(impure, {numbers({2})}); }) ==
        "gradcheck: the function gave two results for the same inputs. Draw randomness from the tape (dropout), keep no state");
}

TEST_CASE("a large tensor is sampled, its ends included; an empty one is skipped") {
  const auto report = gradcheck([](const Tensor& x) { return sine(x, 2.0, 999); }, {numbers({1000})}, {.max_entries = 20});
  CHECK(report.checked == 20);
  CHECK(report.worst().index == std::vector<Dim>{999});
  const auto empty = gradcheck([](const Tensor& x) { return sine(x); }, {numbers({0, 3})});
  CHECK(empty.error == 0);
  CHECK(empty.str() == "gradcheck of sine: nothing to check");
  CHECK(message<ValueError>([&] { empty.worst(); }) ==
        "gradcheck: nothing was checked: no input and no trainable parameter has an element");
  CHECK(message<ValueError>([&] {
          gradcheck([](const Tensor& x) { return sine(x); }, {numbers({1}), numbers({1})});
        }) == "gradcheck: the function cannot be called with 2 tensors. Take const std::vector<Tensor>&, or one const Tensor& per input");
  CHECK(message<ValueError>([&] { gradcheck([](const Tensor& x) { return sine(x); }, {Array()}); }) ==
        "gradcheck: every input must hold numbers; got input 0 without any");
}

TEST_CASE("a gradient that is 0 but for rounding has an absolute error") {
  // Rows of a normalised sum: Σ(x − mean) has the derivative 0, which rounding does not hit.
  const auto centred = [](const Tensor& x) {
    return record("centred", mapped(x.value(), [](double) { return 0.0; }),
                  wrt(x, [](const Array& dy) { return mapped(dy, [](double v) { return 1e-17 * v; }); }));
  };
  CHECK(gradcheck(centred, {numbers({4})}).ok(1e-11));
}

TEST_CASE("a kink at the entry itself: a derivative of either side is right, one between is told as such") {
  // |x| with `at_zero` for its derivative at 0.
  const auto magnitude = [](double at_zero) {
    return [at_zero](const Tensor& x) {
      return record("magnitude", mapped(x.value(), [](double v) { return std::abs(v); }), wrt(x, [X = x.value(), at_zero](const Array& dy) {
                      Array dx(X.shape(), DType::float64);
                      for (Dim i = 0; i < X.numel(); ++i) {
                        const double v = X.data<double>()[i];
                        dx.mutable_data<double>()[i] = dy.data<double>()[i] * (v > 0 ? 1.0 : v < 0 ? -1.0 : at_zero);
                      }
                      return dx;
                    }));
    };
  };
  const Array x = Array::of({4}, {1.0, 0.0, -2.0, 1e-7}, DType::float64);
  for (const double right : {1.0, -1.0, 0.0}) {  // 0 is what the difference to both sides says
    const auto report = gradcheck(magnitude(right), {x});
    INFO(report.str());
    CHECK(report.ok(1e-10));
  }
  const auto report = gradcheck(magnitude(0.3), {x});
  CHECK_FALSE(report.ok());
  CHECK(report.error < 1e-10);
  REQUIRE(report.kinks.size() == 1);
  CHECK(report.kinks[0].index == std::vector<Dim>{1});
  CHECK(std::abs(report.kinks[0].left + report.kinks[0].right) < 1e-9);
  CHECK(report.str().find("\n1 entry is at a kink, where a difference means nothing: input 0 [1]: left ") != std::string::npos);
  CHECK(gradcheck(magnitude(0.3), {x}, {.skip_kinks = true}).ok(1e-10));
  // Outside of what the two sides say it is an error, skipped or not.
  CHECK(gradcheck(magnitude(1.7), {x}, {.skip_kinks = true}).error > 0.4);
}

TEST_CASE("many kinks near by cost no false alarm") {
  Rng rng(3);
  for (const double distance : {1e-3, 1e-4, 1e-5, 1e-6, 1e-8}) {
    const auto positive = [](const Tensor& x) {
      return record("positive", mapped(x.value(), [](double v) { return v > 0 ? v : 0.0; }), wrt(x, [X = x.value()](const Array& dy) {
                      Array dx(X.shape(), DType::float64);
                      for (Dim i = 0; i < X.numel(); ++i) dx.mutable_data<double>()[i] = X.data<double>()[i] > 0 ? dy.data<double>()[i] : 0;
                      return dx;
                    }));
    };
    const auto report = gradcheck(positive, {uniform({50}, -distance, distance, rng, DType::float64)});
    INFO(report.str());
    CHECK(report.ok(1e-9));
  }
}

TEST_CASE("along random directions every entry counts at once") {
  const Array x = numbers({40, 25});
  const auto right = gradcheck([](const Tensor& t) { return sine(t); }, {x}, {.directions = 3});
  INFO(right.str());
  CHECK(right.ok(1e-10));
  CHECK(right.checked == 3);
  const auto wrong = gradcheck([](const Tensor& t) { return sine(t, 1.5, 777); }, {x}, {.directions = 3});
  CHECK_FALSE(wrong.ok(1e-4));
  CHECK(wrong.worst().index.empty());
  CHECK(wrong.worst().direction >= 0);
  CHECK(wrong.str().find("input 0 along direction ") != std::string::npos);
}

TEST_CASE("float32 is checked when asked, to what its differences can tell") {
  const auto half = [](const Tensor& t) { return scaled(t, 0.5); };
  const Array x = numbers({6}).cast(DType::float32);
  const auto report = gradcheck(half, {x}, {.allow_float32 = true});
  INFO(report.str());
  CHECK(report.ok(2e-3));
  const auto wrong = [](const Tensor& t) {
    return record("wrong", map(t.value(), 0.5), wrt(t, [](const Array& dy) { return map(dy, 0.51); }));
  };
  CHECK_FALSE(gradcheck(wrong, {x}, {.allow_float32 = true}).ok(2e-3));
}

TEST_CASE("a report names the ops that the function is made of") {
  const auto report = gradcheck([](const Tensor& x) { return plus(scaled(sine(x), 2.0), sine(x)); }, {numbers({2})});
  CHECK(report.ops == std::vector<std::string>{"sine", "scaled", "plus"});
  CHECK(report.str().starts_with("gradcheck of sine, scaled, plus: worst of 2 entries: input 0 ["));
}
