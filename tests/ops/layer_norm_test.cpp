#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/layer_norm.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "ops/numbers.hpp"

using namespace tapeform;

namespace {

const std::vector<DType> dtypes{DType::float32, DType::float64};

struct Gradients {
  Array y, dx, dweight, dbias;
};
Gradients run(const Array& x0, const Array& w0, const Array& b0, const Array& dy, LayerNormOptions options = {}) {
  Tape tape;
  const Tensor x = tape.watch(x0), w = w0 ? tape.watch(w0) : Tensor(), b = b0 ? tape.watch(b0) : Tensor();
  const Tensor y = layer_norm(x, w, b, options);
  tape.backward(y, dy);
  return {y.value(), tape.grad(x), w ? tape.grad(w) : Array(), b ? tape.grad(b) : Array()};
}

// The definition and its derivatives, row by row in long double.
struct Reference {
  std::vector<double> y, dx, dweight, dbias;
  Reference(const Array& x, const Array& w, const Array& b, const Array& dy, double eps = 1e-5) {
    const std::vector<double> v = x.to_vector(), weight = w.to_vector(), bias = b.to_vector(), g = dy.to_vector();
    const std::size_t n = weight.size(), rows = v.size() / n;
    y.resize(v.size());
    dx.resize(v.size());
    std::vector<long double> dw(n), db(n), z(n);
    for (std::size_t r = 0; r < rows; ++r) {
      const auto width = static_cast<long double>(n);
      long double mean = 0, var = 0, g_mean = 0, slope = 0;
      for (std::size_t j = 0; j < n; ++j) mean += v[r * n + j] / width;
      for (std::size_t j = 0; j < n; ++j) var += (v[r * n + j] - mean) * (v[r * n + j] - mean) / width;
      const long double root = std::sqrt(var + static_cast<long double>(eps));
      for (std::size_t j = 0; j < n; ++j) {
        z[j] = (v[r * n + j] - mean) / root;
        y[r * n + j] = static_cast<double>(z[j] * weight[j] + bias[j]);
        g_mean += static_cast<long double>(g[r * n + j]) * weight[j] / width;
        slope += static_cast<long double>(g[r * n + j]) * weight[j] * z[j] / width;
        dw[j] += g[r * n + j] * z[j];
        db[j] += g[r * n + j];
      }
      for (std::size_t j = 0; j < n; ++j)
        dx[r * n + j] = static_cast<double>((static_cast<long double>(g[r * n + j]) * weight[j] - g_mean - z[j] * slope) / root);
    }
    dweight.assign(dw.begin(), dw.end());
    dbias.assign(db.begin(), db.end());
  }
};

}  // namespace

TEST_CASE("layer_norm and its gradients by the definition, every width") {
  for (const DType dtype : dtypes)
    for (const Dim n : numbers::widths) {
      const Array x = numbers::random({5, n}, 31, dtype), w = numbers::random({n}, 32, dtype), b = numbers::random({n}, 33, dtype),
                  dy = numbers::random({5, n}, 34, dtype);
      const Gradients got = run(x, w, b, dy);
      const Reference right(x, w, b, dy);
      const double tolerance = dtype == DType::float32 ? 2e-5 : 1e-13;
      CAPTURE(n, name(dtype));
      CHECK(numbers::distance(got.y, right.y) <= tolerance);
      CHECK(numbers::distance(got.dx, right.dx) <= tolerance);
      CHECK(numbers::distance(got.dweight, right.dweight) <= tolerance);
      CHECK(numbers::distance(got.dbias, right.dbias) <= tolerance);
    }
}

TEST_CASE("layer_norm: gradcheck with and without weight and bias") {
  for (const Dim n : {7, 8, 9, 17, 33, 65}) {
    CAPTURE(n);
    const Array x = numbers::random({3, 2, n}, 35), w = numbers::random({n}, 36), b = numbers::random({n}, 37);
    CHECK(gradcheck([](const Tensor& v, const Tensor& s, const Tensor& t) { return layer_norm(v, s, t); }, {x, w, b}).error <= 1e-11);
    CHECK(gradcheck([](const Tensor& v, const Tensor& s) { return layer_norm(v, s); }, {x, w}).error <= 1e-11);
    CHECK(gradcheck([](const Tensor& v, const Tensor& t) { return layer_norm(v, {}, t); }, {x, b}).error <= 1e-11);
    CHECK(gradcheck([](const Tensor& v) { return layer_norm(v, {}, {}, {.eps = 0.5}); }, {x}).error <= 1e-11);
  }
}

TEST_CASE("layer_norm: gradcheck of the narrowest rows") {
  const LayerNormOptions options{.eps = 0.5};  // a row of two would be ±1 with hardly a slope
  for (const Dim n : {1, 2}) {
    const auto f = [&options](const Tensor& x, const Tensor& w, const Tensor& b) { return layer_norm(x, w, b, options); };
    CHECK(gradcheck(f, {numbers::random({5, n}, 35), numbers::random({n}, 36), numbers::random({n}, 37)}).error <= 1e-11);
  }
}

TEST_CASE("LN-01: large mean cancels the variance", "[case]") {
  const Array x = Array::of({1, 4}, {40000, 40001, 40002, 40003});
  const std::vector<double> right{-1.341635, -.447212, .447212, 1.341635};
  CHECK(numbers::distance(layer_norm(x).value(), right) <= 1e-6);
}

TEST_CASE("LN-03: fast path differs from slow path", "[case]") {
  const std::vector<double> first{-1.34164, -1.34153, -1.34151, -1.33133}, means{0, 100, 1000, 10000};
  for (std::size_t m = 0; m < means.size(); ++m)
    for (const Dim n : {16, 19}) {  // whole vectors, and a rest beside them
      Array x({1, n});
      for (Dim i = 0; i < n; ++i) x.mutable_data<float>()[i] = static_cast<float>(means[m] + static_cast<double>(i % 16) * 1e-3);
      const Reference right(x, Array::ones({n}), Array::zeros({n}), Array::ones({1, n}));
      const Array y = layer_norm(x).value();
      CAPTURE(means[m], n);
      CHECK(numbers::distance(y, right.y) <= 1e-4);
      if (n == 16) CHECK(y.at({0, 0}) == Catch::Approx(first[m]).margin(1e-4));
    }
}

TEST_CASE("LN-04: one-element normalisation", "[case]") {
  for (const DType dtype : dtypes) {
    const Gradients got =
        run(Array::of({1, 1}, {1e6}, dtype), Array::of({1}, {2}, dtype), Array::of({1}, {3}, dtype), Array::of({1, 1}, {0.7}, dtype));
    CHECK(got.y.item() == 3);
    CHECK(got.dweight.item() == 0);
    CHECK(got.dx.item() == 0);
  }
}

TEST_CASE("LN-05: variance overflow", "[case]") {
  for (const double size : {1e30, 3e38}) {
    const Array x = Array::of({1, 4}, {size, -size, size, -size});
    const Gradients got = run(x, Array::ones({4}), Array(), Array::of({1, 4}, {1, 2, 3, 5}));
    CHECK(numbers::distance(got.y, {1, -1, 1, -1}) <= 1e-6);
    CHECK(numbers::distance(got.dweight, {1, -2, 3, -5}) <= 1e-6);
    for (const double d : got.dx.to_vector()) CHECK(std::abs(d) <= 10 / size);
  }
  // The mean and the deviation from it are more than a float holds.
  CHECK(numbers::distance(layer_norm(Array::of({4}, {3e38, 3e38, 3e38, -3e38})).value(), {.57735, .57735, .57735, -1.73205}) <= 1e-5);
  const Array wide = Array::of({4}, {1e300, -1e300, 1e300, -1e300}, DType::float64);
  CHECK(numbers::distance(layer_norm(wide).value(), {1, -1, 1, -1}) <= 1e-14);
}

TEST_CASE("layer_norm with eps = 0: tiny numbers are as good as any, a constant row is 0") {
  const Array tiny = Array::of({1, 4}, {1e-30, -1e-30, 1e-30, -1e-30});
  CHECK(numbers::distance(layer_norm(tiny, {}, {}, {.eps = 0}).value(), {1, -1, 1, -1}) <= 1e-6);
  const Gradients got = run(Array::full({1, 4}, 3), Array(), Array(), Array::of({1, 4}, {1, 2, 3, 5}), {.eps = 0});
  CHECK(got.y.to_vector() == std::vector<double>(4, 0.0));
  CHECK(got.dx.to_vector() == std::vector<double>(4, 0.0));
}

TEST_CASE("LN-06: constant row, backward", "[case]") {
  const Array x = Array::full({1, 8}, 3, DType::float64);
  const Gradients got = run(x, Array(), Array(), Array::of({1, 8}, {1, 0, 0, 0, 0, 0, 0, 0}, DType::float64));
  CHECK(got.y.to_vector() == std::vector<double>(8, 0.0));
  CHECK(got.dx.at({0, 0}) == Catch::Approx(276.6993).epsilon(1e-6));
  for (Dim j = 1; j < 8; ++j) CHECK(got.dx.at({0, j}) == Catch::Approx(-39.5285).epsilon(1e-5));
}

TEST_CASE("LN-08: backward assumes 2-D input", "[case]") {
  const Array x = numbers::random({52, 7, 64}, 38), w = numbers::random({64}, 39), b = numbers::random({64}, 40),
              dy = numbers::random({52, 7, 64}, 41);
  const Gradients three = run(x, w, b, dy), two = run(x.reshape({364, 64}), w, b, dy.reshape({364, 64}));
  CHECK(three.dweight.shape() == Shape{64});
  CHECK(same_bits(three.dx.reshape({364, 64}), two.dx));
  CHECK(same_bits(three.dweight, two.dweight));
  CHECK(same_bits(three.dbias, two.dbias));
  const Reference right(x, w, b, dy);
  CHECK(numbers::distance(three.dweight, right.dweight) <= 1e-13);
  CHECK(numbers::distance(three.dx, right.dx) <= 1e-13);
}

TEST_CASE("LN-12: sum of a normalised row has zero gradient", "[case]") {
  const Array x = numbers::random({10, 512}, 42, DType::float32);
  const Gradients summed = run(x, Array(), Array(), Array::ones({10, 512}));
  for (const double d : summed.dx.to_vector()) REQUIRE(std::abs(d) <= 1e-5);
  const Array weights = numbers::random({10, 512}, 43, DType::float32);
  const Reference right(x, Array::ones({512}), Array::zeros({512}), weights);
  CHECK(numbers::distance(run(x, Array(), Array(), weights).dx, right.dx) <= 1e-5);
}

TEST_CASE("layer_norm: a NaN or an infinity stays in its row") {
  for (const double bad : {numbers::nan, numbers::inf}) {
    Array x = numbers::random({3, 9}, 44);
    x.mutable_data<double>()[9 + 4] = bad;
    const Array y = layer_norm(x).value();
    for (Dim j = 0; j < 9; ++j) {
      CHECK(std::isnan(y.at({1, j})));
      CHECK(std::isfinite(y.at({0, j})));
      CHECK(std::isfinite(y.at({2, j})));
    }
  }
}

TEST_CASE("layer_norm of nothing") {
  const Gradients none = run(Array({0, 5}), Array::ones({5}), Array::ones({5}), Array({0, 5}));
  CHECK(none.y.shape() == Shape{0, 5});
  CHECK(none.dweight.to_vector() == std::vector<double>(5, 0.0));
  CHECK(none.dbias.to_vector() == std::vector<double>(5, 0.0));
  CHECK(run(Array({4, 0}), Array({0}), Array(), Array({4, 0})).dweight.shape() == Shape{0});
}

TEST_CASE("layer_norm: same bits on one thread and two") {
  for (const Dim n : {33, 512}) {
    const Array x = numbers::random({601, n}, 45, DType::float32), w = numbers::random({n}, 46, DType::float32),
                b = numbers::random({n}, 47, DType::float32), dy = numbers::random({601, n}, 48, DType::float32);
    CHECK(numbers::same_on_two_threads([&]() -> std::vector<Array> {
      const Gradients got = run(x, w, b, dy);
      return {got.y, got.dx, got.dweight, got.dbias};
    }));
  }
}

TEST_CASE("layer_norm: errors") {
  const Array x({2, 3}), w({4});
  CHECK(message<ShapeError>([&] { layer_norm(x, w); }) == "layer_norm: weight must be [D] for x [..., D]; got x [2, 3], weight [4]");
  CHECK(message<ShapeError>([&] {
          layer_norm(x, {}, Array({2, 3}));
        }) == "layer_norm: bias must be [D] for x [..., D]; got x [2, 3], bias [2, 3]");
  CHECK(message<DTypeError>([&] { layer_norm(x, Array({3}, DType::float64)); }) ==
        "layer_norm: dtypes must agree; got x float32, weight float64. Use cast()");
  CHECK(message<ShapeError>([] { layer_norm(Array::ones({})); }) == "layer_norm: x must have a last axis; got x []");
  CHECK(message<ValueError>([&] { layer_norm(x, {}, {}, {.eps = -1}); }) ==
        "layer_norm: eps must be finite and not negative; got eps = -1");
  CHECK(message<ValueError>([&] { layer_norm(x, {}, {}, {.eps = numbers::nan}); }).starts_with("layer_norm: eps must be finite"));
}
