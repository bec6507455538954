#include <cmath>
#include <functional>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "message.hpp"
#include "numbers.hpp"

using namespace tapeform;
using numbers::inf, numbers::random;

namespace {

using Numbers = std::vector<double>;
using Axes = std::vector<int>;
using Reduction = std::function<Tensor(const Tensor&, const Axes&, bool keepdims)>;

const DType f64 = DType::float64;

Array row(const Numbers& values) { return Array::of({static_cast<Dim>(values.size())}, std::span<const double>(values)); }

Array gradient(const std::function<Tensor(const Tensor&)>& f, const Array& x) {
  Tape tape;
  const Tensor watched = tape.watch(x);
  const Tensor y = f(watched);
  return tape.gradients(y, {watched}, Array::ones(y.shape(), x.dtype()))[0];
}

const std::vector<std::pair<std::string, Reduction>>& all() {
  static const std::vector<std::pair<std::string, Reduction>> reductions{
      {"var", [](const Tensor& x, const Axes& a, bool k) { return var(x, a, {.correction = 0, .keepdims = k}); }},
      {"stddev", [](const Tensor& x, const Axes& a, bool k) { return stddev(x, a, {.correction = 0.5, .keepdims = k}); }},
      {"norm, p = 2", [](const Tensor& x, const Axes& a, bool k) { return norm(x, a, {.keepdims = k}); }},
      {"norm, p = 1", [](const Tensor& x, const Axes& a, bool k) { return norm(x, a, {.p = 1, .keepdims = k}); }},
      {"norm, p = inf", [](const Tensor& x, const Axes& a, bool k) { return norm(x, a, {.p = inf, .keepdims = k}); }},
      {"max", [](const Tensor& x, const Axes& a, bool k) { return max(x, a, {.keepdims = k}); }},
      {"min", [](const Tensor& x, const Axes& a, bool k) { return min(x, a, {.keepdims = k}); }},
      {"prod", [](const Tensor& x, const Axes& a, bool k) { return prod(x, a, {.keepdims = k}); }},
      {"logsumexp", [](const Tensor& x, const Axes& a, bool k) { return logsumexp(x, a, {.keepdims = k}); }},
  };
  return reductions;
}

// Different numbers, none near 0 and none near another, so that no kink lies within the stencil.
Array apart(const Shape& shape) {
  Array x(shape, f64);
  for (Dim i = 0; i < x.numel(); ++i)
    x.mutable_data<double>()[i] = (i % 2 == 0 ? 0.4 : -0.5) * (1 + 0.05 * static_cast<double>(i * 7 % 67));
  return x;
}

}  // namespace

TEST_CASE("reductions: gradcheck over any axes, kept or not") {
  struct Case {
    Shape shape;
    Axes axes;
  };
  const Case cases[] = {
      {{}, {}},         {{7}, {0}},           {{2, 8}, {1}},    {{9, 2}, {0}},       {{3, 4}, {0, 1}},
      {{2, 3, 4}, {1}}, {{2, 3, 4}, {-1, 0}}, {{2, 1, 3}, {1}}, {{3, 2, 2}, {0, 2}}, {{1, 2, 1, 2, 1, 3, 2, 1}, {1, 5, 6}},
      {{17}, {0}},      {{33}, {-1}},         {{65}, {0}},      {{1, 1}, {0}}};
  for (const auto& [name, reduce] : all())
    for (const Case& c : cases)
      for (const bool keepdims : {false, true}) {
        if (c.shape.numel() == 1 && (name == "var" || name == "stddev")) continue;  // constant, or a kink
        // Of many numbers each has a small share: a longer step keeps the rounding of y out of the difference.
        const GradcheckOptions options{.step = c.shape.numel() > 30 ? 0x1p-9 : 0x1p-11};
        const auto report = gradcheck([&, f = reduce](const Tensor& x) { return f(x, c.axes, keepdims); }, {apart(c.shape)}, options);
        INFO(name << " of " << c.shape.str() << ": " << report.str());
        CHECK(report.ok(1e-11));
      }
}

TEST_CASE("reductions: shapes, all elements against every axis, and axes that are not adjacent") {
  const Array x = random({2, 3, 4}, 1);
  for (const auto& [name, reduce] : all()) {
    INFO(name);
    CHECK(reduce(x, {1}, false).shape() == Shape{2, 4});
    CHECK(reduce(x, {1}, true).shape() == Shape{2, 1, 4});
    CHECK(reduce(x, {0, 1, 2}, false).shape() == Shape{});
    const Array two = reduce(x, {2, 0}, false).value();
    for (Dim j = 0; j < 3; ++j) {
      const Array part = slice(x, 1, j, j + 1).value();
      CHECK(two.at({j}) == reduce(part, {0, 1, 2}, false).item());
    }
  }
  CHECK(var(x).item() == var(x, {0, 1, 2}).item());
  CHECK(stddev(x, {.correction = 0}).item() == stddev(x, {0, 1, 2}, {.correction = 0}).item());
  CHECK(norm(x).item() == norm(x, {0, 1, 2}).item());
  CHECK(norm(x, {.p = 1, .keepdims = true}).shape() == Shape{1, 1, 1});
  CHECK(max(x).item() == max(x, {0, 1, 2}).item());
  CHECK(min(x).item() == -max(-Tensor(x)).item());
  CHECK(prod(x).item() == prod(x, {0, 1, 2}).item());
  CHECK(logsumexp(x).item() == logsumexp(x, {0, 1, 2}).item());
  for (const auto& [name, reduce] : all()) {
    INFO(name << " of float32 against float64, on inputs that both hold");
    const Array rounded = random({5, 129}, 3, DType::float32);
    CHECK(numbers::distance(reduce(rounded, {1}, false).value(), reduce(rounded.cast(f64), {1}, false).value()) < 1e-6);
  }
}

TEST_CASE("reductions of nothing") {
  const Tensor x = Array({2, 0, 3}, f64), none = Array({0, 3}, f64);
  CHECK(std::isnan(var(x).item()));
  CHECK(std::isnan(stddev(x).item()));
  CHECK(norm(x).item() == 0);
  CHECK(prod(x, {1}).value().to_vector() == Numbers(6, 1));
  CHECK(logsumexp(x, {1}).value().to_vector() == Numbers(6, -inf));
  CHECK(max(none, {1}).shape() == Shape{0});
  CHECK(cumsum(x, 0).shape() == x.shape());
  for (const auto& [name, reduce] : all()) {
    INFO(name);
    CHECK(reduce(none, {1}, true).shape() == Shape{0, 1});
    CHECK(gradient([f = reduce](const Tensor& t) { return f(t, {1}, false); }, none.value()).shape() == Shape{0, 3});
  }
  CHECK(gradient([](const Tensor& t) { return logsumexp(t, {1}); }, x.value()).shape() == x.shape());
  const Tensor wide = Array({Dim{1} << 40, 0, Dim{1} << 40}, f64);  // without the axis of size 0, sizes that fit nothing
  CHECK(norm(wide, {2, 0}, {.keepdims = true}).shape() == Shape{1, 0, 1});
  CHECK(message<ShapeError>([&] { max(x); }) == "max: there must be an element to choose; got x [2, 0, 3]. Axis 1 is empty");
  CHECK(message<ShapeError>([&] { min(x, {0, -2}); }) == "min: there must be an element to choose; got x [2, 0, 3]. Axis 1 is empty");
}

TEST_CASE("var and stddev: correction, one number, equal numbers, numbers far from 0 and squares out of range") {
  const Tensor x = row({1, 2, 3, 6});
  CHECK(var(x).item() == Catch::Approx(14.0 / 3).epsilon(1e-15));
  CHECK(var(x, {.correction = 0}).item() == 3.5);
  CHECK(var(x, {.correction = 2}).item() == 7);
  CHECK(stddev(x, {.correction = 0}).item() == std::sqrt(3.5));
  CHECK(std::isnan(var(row({5})).item()));
  CHECK(var(row({5}), {.correction = 0}).item() == 0);
  CHECK(var(x, {.correction = 9}).item() == inf);
  CHECK(stddev(row({4, 4, 4})).item() == 0);
  CHECK(gradient([](const Tensor& t) { return stddev(t); }, row({4, 4, 4})).to_vector() == Numbers(3, 0));
  CHECK(var(Array::of({4}, {40000, 40001, 40002, 40003}), {.correction = 0}).item() == 1.25);
  CHECK(stddev(Array::of({4}, {1e30, -1e30, 1e30, -1e30}), {.correction = 0}).item() == static_cast<double>(1e30f));
  CHECK(stddev(row({3e200, -3e200}), {.correction = 0}).item() == Catch::Approx(3e200).epsilon(1e-15));
  CHECK(stddev(row({3e-200, -3e-200}), {.correction = 0}).item() == Catch::Approx(3e-200).epsilon(1e-15));
  CHECK(std::isnan(var(row({1, numbers::nan, 2})).item()));
}

TEST_CASE("AG-35: the gradient of a norm at 0 is 0", "[case]") {
  for (const DType dtype : {DType::float32, f64}) {
    const Array zeros = Array::zeros({3}, dtype);
    for (const double p : {1.0, 2.0, inf}) {
      CHECK(norm(zeros, {.p = p}).item() == 0);
      CHECK(gradient([p](const Tensor& x) { return norm(x, {.p = p}); }, zeros).to_vector() == Numbers(3, 0));
      CHECK(gradient([p](const Tensor& x) { return norm(x, {.p = p}) * norm(x, {.p = p}); }, zeros).to_vector() == Numbers(3, 0));
    }
    const Array by_hand = gradient([](const Tensor& x) { return sqrt(sum(x * x)); }, zeros);
    for (const double v : by_hand.to_vector()) CHECK(std::isnan(v));  // as sqrt says
  }
}

TEST_CASE("norm: no overflow on the way, signs, NaN and inf") {
  CHECK(norm(Array::of({2}, {3e30, 4e30})).item() == Catch::Approx(5e30).epsilon(1e-7));
  CHECK(norm(row({3e200, 4e200})).item() == Catch::Approx(5e200).epsilon(1e-15));
  CHECK(norm(row({3e-200, -4e-200})).item() == Catch::Approx(5e-200).epsilon(1e-15));
  CHECK(norm(row({inf, 1})).item() == inf);
  CHECK(std::isnan(norm(row({numbers::nan, 1})).item()));
  CHECK(std::isnan(norm(row({1, numbers::nan}), {.p = inf}).item()));
  CHECK(gradient([](const Tensor& x) { return norm(x, {.p = 1}); }, row({-2, 0, 3})).to_vector() == Numbers{-1, 0, 1});
  CHECK(gradient([](const Tensor& x) { return norm(x, {.p = inf}); }, row({-3, 1, 3})).to_vector() == Numbers{-0.5, 0, 0.5});
  CHECK(message<ValueError>([] { norm(row({1}), {.p = 3}); }) == "norm: p must be 1, 2 or infinity; got 3");
}

TEST_CASE("AG-37: a tied maximum shares its gradient evenly", "[case]") {
  CHECK(gradient([](const Tensor& x) { return max(x); }, row({.6, .6, .3})).to_vector() == Numbers{.5, .5, 0});
  CHECK(gradient([](const Tensor& x) { return min(x); }, row({.6, .3, .3, .3})).to_vector() == Numbers{0, 1.0 / 3, 1.0 / 3, 1.0 / 3});
  const Array table = Array::of({2, 3}, {1, 5, 5, 7, 7, 7});
  CHECK(gradient([](const Tensor& x) { return max(x, {1}); }, table).to_vector() ==
        Numbers{0, .5, .5, static_cast<double>(1.0f / 3), static_cast<double>(1.0f / 3), static_cast<double>(1.0f / 3)});
  CHECK(gradient([](const Tensor& x) { return max(x); }, row({inf, 1, inf})).to_vector() == Numbers{.5, 0, .5});
  CHECK(max(row({-inf, -inf})).item() == -inf);
}

TEST_CASE("AG-39: max and min of a NaN are NaN, at every place of every length", "[case]") {
  for (const DType dtype : {DType::float32, f64})
    for (const Dim n : {1, 7, 8, 9, 33})
      for (Dim at = 0; at < n; ++at) {
        Numbers values(static_cast<std::size_t>(n), -1.0);
        values[static_cast<std::size_t>(at)] = numbers::nan;
        const Array x = row(values).cast(dtype);
        REQUIRE(std::isnan(max(x).item()));
        REQUIRE(std::isnan(min(x).item()));
        REQUIRE(std::isnan(norm(x, {.p = inf}).item()));
        const Array dx = gradient([](const Tensor& t) { return max(t); }, x);
        for (Dim i = 0; i < n; ++i) REQUIRE(dx.at({i}) == (i == at ? 1 : 0));
      }
}

TEST_CASE("prod: the gradient is exact with any number of zeros, and what leaves the range on the way comes back") {
  const auto dprod = [](const Numbers& x) { return gradient([](const Tensor& t) { return prod(t); }, row(x)).to_vector(); };
  CHECK(dprod({2, 3, 4}) == Numbers{12, 8, 6});
  CHECK(dprod({2, 0, 4}) == Numbers{0, 8, 0});
  CHECK(dprod({0, 3, 0}) == Numbers{0, 0, 0});
  CHECK(dprod({0}) == Numbers{1});
  CHECK(prod(Array::of({4}, {1e30, 1e30, 1e-30, 1e-30})).item() == Catch::Approx(1).epsilon(1e-6));
  CHECK(std::isnan(prod(row({0, numbers::nan})).item()));
}

TEST_CASE("logsumexp: rows of -inf give -inf with gradient 0; large, tied, infinite and no numbers") {
  const Array x = Array::of({3, 2}, {-inf, -inf, 0, -inf, 1e8, 1e8}, f64);
  const Array y = logsumexp(x, {1}).value();
  CHECK(y.at({0}) == -inf);
  CHECK(y.at({1}) == 0);
  CHECK(y.at({2}) == 1e8 + std::log(2.0));
  CHECK(gradient([](const Tensor& t) { return logsumexp(t, {1}); }, x).to_vector() == Numbers{0, 0, 1, 0, .5, .5});
  // The result is rounded to 1e8; its gradient is not worked out from it.
  CHECK(gradient([](const Tensor& t) { return logsumexp(t); }, Array::of({2}, {1e8, 1e8})).to_vector() == Numbers{.5, .5});
  CHECK(logsumexp(row({inf, 3, inf})).item() == inf);
  CHECK(gradient([](const Tensor& t) { return logsumexp(t); }, row({inf, 3, inf})).to_vector() == Numbers{.5, 0, .5});
  CHECK(std::isnan(logsumexp(row({-inf, numbers::nan})).item()));
  CHECK(logsumexp(row({-1e4, -1e4})).item() == Catch::Approx(-1e4 + std::log(2.0)).epsilon(1e-15));
}

TEST_CASE("cumsum: every axis, both ways, with gradcheck") {
  const Array x = Array::of({2, 3}, {1, 2, 3, 10, 20, 30}, f64);
  CHECK(cumsum(x, 1).value().to_vector() == Numbers{1, 3, 6, 10, 30, 60});
  CHECK(cumsum(x, 0).value().to_vector() == Numbers{1, 2, 3, 11, 22, 33});
  CHECK(cumsum(x, -1, {.reverse = true}).value().to_vector() == Numbers{6, 5, 3, 60, 50, 30});
  CHECK(cumsum(x, 0, {.reverse = true}).value().to_vector() == Numbers{11, 22, 33, 10, 20, 30});
  for (const Shape& shape : {Shape{1}, Shape{7}, Shape{17}, Shape{3, 4, 5}, Shape{2, 33}, Shape{65, 2}})
    for (int axis = 0; axis < shape.rank(); ++axis)
      for (const bool reverse : {false, true}) {
        const auto report =
            gradcheck([axis, reverse](const Tensor& t) { return cumsum(t, axis, {.reverse = reverse}); }, {random(shape, 1)});
        INFO(shape.str() << ": " << report.str());
        CHECK(report.ok(1e-11));
      }
  // Wider than the columns that go together.
  const Array wide = random({3, 700}, 2), y = cumsum(wide, 0).value();
  for (Dim j = 0; j < 700; ++j) REQUIRE(y.at({2, j}) == wide.at({0, j}) + wide.at({1, j}) + wide.at({2, j}));
  CHECK(cumsum(Array::full({1392640}, 0.1), 0).value().at({1392639}) == Catch::Approx(139264.0).margin(0.2));  // as AG-45
}

TEST_CASE("reductions: errors") {
  const Tensor x = Array::ones({2, 3}), none, scalar = Array::ones({});
  CHECK(message<ShapeError>([&] { var(x, {2}); }) == "var: axis 2 is not there; got x [2, 3]. Axes run from -2 to 1");
  CHECK(message<ShapeError>([&] { stddev(x, {0, 0}); }) == "stddev: axis 0 is given twice; got x [2, 3]. Name each axis once");
  CHECK(message<ShapeError>([&] { norm(x, {-3}); }) == "norm: axis -3 is not there; got x [2, 3]. Axes run from -2 to 1");
  CHECK(message<ShapeError>([&] { max(x, {1, -1}); }) == "max: axis 1 is given twice; got x [2, 3]. Name each axis once");
  CHECK(message<ShapeError>([&] { min(scalar, {0}); }) == "min: axis 0 is not there; got x []. A scalar has no axes");
  CHECK(message<ShapeError>([&] { prod(x, {2}); }) == "prod: axis 2 is not there; got x [2, 3]. Axes run from -2 to 1");
  CHECK(message<ShapeError>([&] { logsumexp(x, {7}); }) == "logsumexp: axis 7 is not there; got x [2, 3]. Axes run from -2 to 1");
  CHECK(message<ShapeError>([&] { cumsum(x, 2); }) == "cumsum: axis 2 is not there; got x [2, 3]. Axes run from -2 to 1");
  const std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"var", [&] { var(none); }},          {"stddev", [&] { stddev(none, {0}); }},  {"norm", [&] { norm(none); }},
      {"max", [&] { max(none); }},          {"min", [&] { min(none, {0}); }},        {"prod", [&] { prod(none); }},
      {"cumsum", [&] { cumsum(none, 0); }}, {"logsumexp", [&] { logsumexp(none); }},
  };
  for (const auto& [op, call] : calls) CHECK_THAT(message<ValueError>(call), Catch::Matchers::StartsWith(op + ": x holds nothing"));
}

TEST_CASE("reductions: the same bits with 1 and 2 threads") {
  const Array x = random({300, 7, 65}, 1, DType::float32);
  CHECK(numbers::same_on_two_threads([&] {
    std::vector<Array> results{cumsum(x, 0).value(), cumsum(x, 2, {.reverse = true}).value()};
    for (const auto& [name, reduce] : all()) {
      results.push_back(reduce(x, {1}, false).value());
      results.push_back(gradient([f = reduce](const Tensor& t) { return f(t, {0, 2}, false); }, x));
      results.push_back(gradient([f = reduce](const Tensor& t) { return f(t, {2}, false); }, x));
    }
    return results;
  }));
}
