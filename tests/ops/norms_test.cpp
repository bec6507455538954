#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "ops/numbers.hpp"

using namespace tapeform;

namespace {

using Numbers = std::vector<double>;
const DType dtypes[] = {DType::float32, DType::float64};

struct Gradients {
  Array y, dx, dweight;
};
Gradients rms(const Array& x0, const Array& w0, const Array& dy, RmsNormOptions options = {}) {
  Tape tape;
  const Tensor x = tape.watch(x0), w = w0 ? tape.watch(w0) : Tensor();
  const Tensor y = rms_norm(x, w, options);
  tape.backward(y, dy);
  return {y.value(), tape.grad(x), w ? tape.grad(w) : Array()};
}

}  // namespace

TEST_CASE("rms_norm: its composed twin, every width and dtype") {
  for (const DType dtype : dtypes)
    for (const Dim n : numbers::widths) {
      const Array x = numbers::random({5, n}, 31, dtype), w = numbers::random({n}, 32, dtype), dy = numbers::random({5, n}, 33, dtype);
      const Gradients got = rms(x, w, dy);
      Tape tape;
      const Tensor a = tape.watch(x.cast(DType::float64)), b = tape.watch(w.cast(DType::float64));
      const Tensor y = a * rsqrt(mean(a * a, {-1}, {.keepdims = true}) + 0x1p-23) * b;
      tape.backward(y, dy.cast(DType::float64));
      const double tolerance = dtype == DType::float32 ? 1e-6 : 1e-14;
      CAPTURE(n, name(dtype));
      CHECK(numbers::distance(got.y, y.value()) <= tolerance);
      CHECK(numbers::distance(got.dx, tape.grad(a)) <= 4 * tolerance);
      CHECK(numbers::distance(got.dweight, tape.grad(b)) <= tolerance);
    }
}

TEST_CASE("rms_norm: gradcheck with and without weight, over several axes, from one element on") {
  for (const Dim n : {1, 2, 7, 8, 9, 17, 33, 65}) {
    CAPTURE(n);
    const RmsNormOptions options{.eps = n <= 2 ? .5 : 1e-5};  // a row of one would be ±1 with hardly a slope
    const Array x = numbers::random({3, 2, n}, 35), w = numbers::random({n}, 36), table = numbers::random({2, n}, 37);
    CHECK(gradcheck([&](const Tensor& v, const Tensor& s) { return rms_norm(v, s, options); }, {x, w}).error <= 1e-11);
    CHECK(gradcheck([&](const Tensor& v) { return rms_norm(v, {}, options); }, {x}).error <= 1e-11);
    CHECK(gradcheck([&](const Tensor& v, const Tensor& s) { return rms_norm(v, s, {.eps = options.eps, .axes = 2}); }, {x, table}).error <=
          1e-11);
  }
}

TEST_CASE("rms_norm: huge and tiny rows, rows of zeros, one element") {
  for (const double size : {1e30, 3e38, 1e-30})
    CHECK(numbers::distance(rms_norm(Array::of({1, 4}, {size, -size, size, -size}), {}, {.eps = 0}).value(), {1, -1, 1, -1}) <= 1e-6);
  for (const double size : {1e300, 1e-300}) {
    const Array x = Array::of({1, 4}, {size, -size, size, -size}, DType::float64);
    const Gradients got = rms(x, Array(), Array::of({1, 4}, {1, 2, 3, 5}, DType::float64), {.eps = 0});
    CHECK(numbers::distance(got.y, {1, -1, 1, -1}) <= 1e-14);
    // g = (1, 2, 3, 5), mean(g·x̂) = -3/4
    CHECK(numbers::distance((Tensor(got.dx) * size).value(), {1.75, 1.25, 3.75, 4.25}) <= 1e-14);
  }
  for (const double eps : {0.0, 1e-5})
    for (const DType dtype : dtypes) {
      const Gradients zeros = rms(Array::zeros({2, 9}, dtype), Array(), Array::ones({2, 9}, dtype), {.eps = eps});
      CHECK(zeros.y.to_vector() == Numbers(18, 0.0));
      for (const double d : zeros.dx.to_vector()) CHECK(d == Catch::Approx(eps == 0 ? 0 : 1 / std::sqrt(eps)).epsilon(1e-6));
    }
  CHECK(rms_norm(Array::of({1, 1}, {-3}), {}, {.eps = 0}).item() == -1);
  CHECK(std::isnan(rms_norm(Array::of({1, 2}, {1, numbers::nan})).value().at({0, 0})));
}

TEST_CASE("rms_norm of nothing") {
  const Gradients none = rms(Array({0, 5}), Array::ones({5}), Array({0, 5}));
  CHECK(none.y.shape() == Shape{0, 5});
  CHECK(none.dweight.to_vector() == Numbers(5, 0.0));
  CHECK(rms(Array({4, 0}), Array({0}), Array({4, 0})).dweight.shape() == Shape{0});
}

TEST_CASE("rms_norm: same bits on one thread and two") {
  for (const Dim n : {33, 512}) {
    const Array x = numbers::random({601, n}, 45, DType::float32), w = numbers::random({n}, 46, DType::float32),
                dy = numbers::random({601, n}, 48, DType::float32);
    CHECK(numbers::same_on_two_threads([&]() -> std::vector<Array> {
      const Gradients got = rms(x, w, dy);
      return {got.y, got.dx, got.dweight};
    }));
  }
}

TEST_CASE("layer_norm over several axes is layer_norm of them as one; gradcheck") {
  const Array x = numbers::random({4, 3, 5}, 51), w = numbers::random({3, 5}, 52), b = numbers::random({3, 5}, 53);
  const Tensor flat = layer_norm(x.reshape({4, 15}), w.reshape({15}), b.reshape({15}));
  const Tensor y = layer_norm(x, w, b, {.axes = 2});
  CHECK(y.shape() == Shape{4, 3, 5});
  CHECK(same_bits(y.value().reshape({4, 15}), flat.value()));
  const auto all_three = [](const Tensor& v, const Tensor& s, const Tensor& t) { return layer_norm(v, s, t, {.axes = 2}); };
  CHECK(gradcheck(all_three, {x, w, b}).error <= 1e-11);
  CHECK(gradcheck([](const Tensor& v) { return layer_norm(v, {}, {}, {.axes = 3}); }, {x}).error <= 1e-11);
  CHECK(gradcheck([](const Tensor& v, const Tensor& t) { return layer_norm(v, {}, t, {.axes = 2}); }, {x, b}).error <= 1e-11);
  CHECK(layer_norm(Array({0, 3, 5}), {}, {}, {.axes = 2}).shape() == Shape{0, 3, 5});
  CHECK(layer_norm(Array({2, 0, 5}), {}, {}, {.axes = 2}).shape() == Shape{2, 0, 5});
}

TEST_CASE("norms over several axes: errors") {
  const Array x({2, 3, 4});
  CHECK(message<ShapeError>([&] { layer_norm(x, {}, {}, {.axes = 4}); }) ==
        "layer_norm: axes must be from 1 to 3, the number of axes of x; got axes = 4, x [2, 3, 4]");
  CHECK(message<ShapeError>([&] { rms_norm(x, {}, {.axes = 0}); }) ==
        "rms_norm: axes must be from 1 to 3, the number of axes of x; got axes = 0, x [2, 3, 4]");
  CHECK(message<ShapeError>([&] { layer_norm(x, Array({12}), {}, {.axes = 2}); }) ==
        "layer_norm: weight must be [3, 4], the last 2 axes of x; got x [2, 3, 4], weight [12]");
  CHECK(message<ShapeError>([&] { rms_norm(x, Array({3})); }) ==
        "rms_norm: weight must be [D] for x [..., D]; got x [2, 3, 4], weight [3]");
  CHECK(message<DTypeError>([&] { rms_norm(x, Array({4}, DType::float64)); }) ==
        "rms_norm: dtypes must agree; got x float32, weight float64. Use cast()");
  CHECK(message<ShapeError>([] { rms_norm(Array::ones({})); }) == "rms_norm: x must have a last axis; got x []");
  CHECK(message<ValueError>([&] { rms_norm(x, {}, {.eps = -1}); }) == "rms_norm: eps must be finite and not negative; got eps = -1");
}
