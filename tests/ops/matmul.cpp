#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/parameter.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "products_testing.hpp"

using namespace products_testing;

namespace {

const DType f64 = DType::float64;

Dim leading(const Shape& shape, int from_right) {
  const int axis = shape.rank() - 3 - from_right;
  return axis < 0 ? 1 : shape[axis];
}

// Where the matrix of batch `index` begins; index counts over `batch`, outermost axis first.
Dim matrix_at(const Shape& shape, const Shape& batch, Dim index) {
  Dim offset = 0, step = shape[-1] * shape[-2];
  for (int i = 0; i < batch.rank(); ++i) {
    const Dim size = batch[batch.rank() - 1 - i], own = leading(shape, i);
    if (own != 1) offset += index % size * step;
    index /= size;
    step *= own;
  }
  return offset;
}

// The product by its definition, in double.
Array by_definition(const Array& a, const Array& b, MatmulOptions options) {
  Shape batch;
  for (int i = std::max(a.rank(), b.rank()) - 3; i >= 0; --i)
    batch.push_back(leading(a.shape(), i) == 1 ? leading(b.shape(), i) : leading(a.shape(), i));
  const Dim m = a.dim(options.transpose_a ? -1 : -2), k = a.dim(options.transpose_a ? -2 : -1), n = b.dim(options.transpose_b ? -2 : -1);
  Shape shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  std::vector<double> c;
  for (Dim index = 0; index < batch.numel(); ++index) {
    const double* const left = x.data() + matrix_at(a.shape(), batch, index);
    const double* const right = y.data() + matrix_at(b.shape(), batch, index);
    for (Dim i = 0; i < m; ++i)
      for (Dim j = 0; j < n; ++j) {
        double sum = 0;
        for (Dim p = 0; p < k; ++p)
          sum += left[options.transpose_a ? p * m + i : i * k + p] * right[options.transpose_b ? j * k + p : p * n + j];
        c.push_back(sum);
      }
  }
  return Array::of(shape, std::span<const double>(c)).cast(a.dtype());
}

const MatmulOptions every_option[] = {{}, {.transpose_a = true}, {.transpose_b = true}, {.transpose_a = true, .transpose_b = true}};

Shape matrix(Shape batch, Dim rows, Dim columns, bool transposed) {
  batch.push_back(transposed ? columns : rows);
  batch.push_back(transposed ? rows : columns);
  return batch;
}

struct Leading {
  Shape a, b;
};
const Leading leadings[] = {{{}, {}},     {{3}, {}},        {{}, {3}},        {{3}, {3}},          {{3}, {1}},    {{1}, {3}},
                            {{2, 3}, {}}, {{2, 3}, {2, 3}}, {{2, 1}, {1, 3}}, {{2, 1, 4}, {3, 1}}, {{1, 2}, {2}}, {{9}, {9}}};

// y = x·Wᵀ + b and its three gradients.
std::vector<Array> linear_and_gradients(const Array& x, const Array& w, const Array& b, const Array& dy) {
  Tape tape;
  const Tensor tx = tape.watch(x), tw = tape.watch(w), tb = tape.watch(b);
  const Tensor y = linear(tx, tw, tb);
  std::vector<Array> result{y.value()};
  for (Array& g : tape.gradients(y, {tx, tw, tb}, dy)) result.push_back(std::move(g));
  return result;
}

}  // namespace

TEST_CASE("matmul: every axis size and transpose, against the definition") {
  double worst = 0, worst32 = 0;
  for (const Dim m : {1, 7, 8, 9, 33, 65})
    for (const Dim k : {1, 8, 17, 65})
      for (const Dim n : {1, 7, 8, 9, 17, 33, 65})
        for (const MatmulOptions& o : every_option) {
          const Array a = numbers(matrix({}, m, k, o.transpose_a), 1), b = numbers(matrix({}, k, n, o.transpose_b), 2);
          const Array c = by_definition(a, b, o);
          worst = std::max(worst, distance(matmul(a, b, o).value(), c));
          const Array c32 = matmul(a.cast(DType::float32), b.cast(DType::float32), o).value();
          worst32 = std::max(worst32, distance(c32.cast(f64), c));
        }
  CHECK(worst < 1e-13);
  CHECK(worst32 < 1e-5);
}

TEST_CASE("matmul: leading axes broadcast, forward and backward, with every transpose") {
  for (const Leading& l : leadings)
    for (const MatmulOptions& o : every_option) {
      const Array a = numbers(matrix(l.a, 3, 5, o.transpose_a), 1), b = numbers(matrix(l.b, 5, 2, o.transpose_b), 2);
      CAPTURE(a.shape().str(), b.shape().str());
      CHECK(distance(matmul(a, b, o).value(), by_definition(a, b, o)) < 1e-14);
      const auto report = gradcheck([&](const Tensor& x, const Tensor& y) { return matmul(x, y, o); }, {a, b});
      INFO(report.str());
      CHECK(report.ok(1e-11));
    }
}

TEST_CASE("matmul: empty axes give empty results, and zeros where nothing is added up") {
  CHECK(matmul(numbers({0, 3}, 1), numbers({3, 2}, 2)).shape() == Shape{0, 2});
  CHECK(matmul(numbers({4, 0, 3}, 1), numbers({3, 2}, 2)).shape() == Shape{4, 0, 2});
  CHECK(matmul(numbers({0, 2, 3}, 1), numbers({1, 3, 2}, 2)).shape() == Shape{0, 2, 2});
  CHECK(same_bits(matmul(numbers({2, 0}, 1), numbers({0, 3}, 2)).value(), Array::zeros({2, 3}, f64)));
  Tape tape;
  const Tensor a = tape.watch(numbers({2, 3}, 1)), b = tape.watch(numbers({0, 3, 4}, 2));  // no matrix to multiply a with
  const Tensor c = matmul(a, b);
  const auto gradients = tape.gradients(c, {a, b}, Array::ones({0, 2, 4}, f64));
  CHECK(same_bits(gradients[0], Array::zeros({2, 3}, f64)));
  CHECK(gradients[1].shape() == Shape{0, 3, 4});
}

TEST_CASE("AG-03: the same tensor as both operands", "[case]") {
  const auto gradient = [](MatmulOptions options) {
    Tape tape;
    const Tensor x = tape.watch(Array::of({2, 2}, {1, 2, 3, 4}, f64));
    return tape.gradients(matmul(x, x, options), {x}, Array::ones({2, 2}, f64))[0].to_vector();
  };
  CHECK(gradient({}) == std::vector<double>{7, 11, 9, 13});
  CHECK(gradient({.transpose_b = true}) == std::vector<double>{8, 12, 8, 12});
  const auto report = gradcheck([](const Tensor& x) { return matmul(x, x, {.transpose_a = true}); }, {numbers({9, 9}, 3)});
  CHECK(report.ok(1e-11));
}

TEST_CASE("AG-12: transposed operands equal materialised ones", "[case]") {
  const Array a = Array::of({3, 2}, {0, 1, 0, 1, 0, 1}, f64), diagonal = Array::of({3, 3}, {1, 0, 0, 0, 2, 0, 0, 0, 3}, f64);
  CHECK(matmul(a, diagonal, {.transpose_a = true}).value().to_vector() == std::vector<double>{0, 0, 0, 1, 2, 3});
  const Array x = numbers({5, 7}, 1), y = numbers({4, 5}, 2);
  CHECK(distance(matmul(x, y, {.transpose_a = true, .transpose_b = true}).value(), matmul(transpose(x, 0, 1), transpose(y, 0, 1)).value()) <
        1e-15);
  const Array q = numbers({1, 8, 64, 1600}, 3, DType::float32), k = numbers({1, 8, 64, 1600}, 4, DType::float32);
  const Array scores = matmul(q, k, {.transpose_b = true}).value();
  CHECK(scores.shape() == Shape{1, 8, 64, 64});
  CHECK(distance(scores, matmul(q, transpose(k, -1, -2)).value()) < 2e-4);
  const Array outer = matmul(q, k, {.transpose_a = true}).value();
  CHECK(outer.shape() == Shape{1, 8, 1600, 1600});
  CHECK(distance(outer, matmul(transpose(q, -1, -2), k).value()) < 1e-4);
}

// There are no strided views; a broadcast axis is the nearest.
TEST_CASE("AG-14: an expanded operand, read once for every row", "[case]") {
  Tape tape;
  const Tensor x = tape.watch(Array::of({1, 1, 3}, {1, 2, 3}, f64));
  const Tensor y = matmul(x, Array::ones({4, 3, 1}, f64));
  CHECK(y.value().to_vector() == std::vector<double>{6, 6, 6, 6});
  CHECK(tape.gradients(y, {x}, Array::ones({4, 1, 1}, f64))[0].to_vector() == std::vector<double>{4, 4, 4});
}

TEST_CASE("AG-49: a batch of one keeps its axis, and its numbers are a row's of a larger batch", "[case]") {
  const Array x = numbers({3, 1, 6}, 1), w = numbers({4, 6}, 2), other = numbers({3, 6, 1}, 3);
  CHECK(linear(x.rows(1, 2), w).shape() == Shape{1, 1, 4});
  CHECK(distance(linear(x.rows(1, 2), w).value(), linear(x, w).value().rows(1, 2)) < 1e-15);
  CHECK(matmul(x.rows(1, 2), other.rows(1, 2)).shape() == Shape{1, 1, 1});
  CHECK(distance(matmul(x.rows(1, 2), other.rows(1, 2)).value(), matmul(x, other).value().rows(1, 2)) < 1e-15);
}

TEST_CASE("matmul: errors name both shapes and a cure") {
  const Array a = numbers({2, 3}, 1), b = numbers({4, 5}, 1);
  CHECK(message<ShapeError>([&] { matmul(a, b); }) ==
        "matmul: inner sizes must agree; got a [2, 3], b [4, 5]. They are 3 and 4: an operand stored the other way round needs transpose_a "
        "or "
        "transpose_b");
  CHECK(message<ShapeError>([&] { matmul(a, b, {.transpose_b = true}); }) ==
        "matmul: inner sizes must agree; got a [2, 3], b [4, 5]. They are 3 and 5, transposes counted");
  CHECK(message<ShapeError>([&] {
          matmul(numbers({3}, 1), numbers({3, 4}, 1));
        }) == "matmul: operands need at least two axes; got a [3], b [3, 4]. Reshape a vector to [1, n] or [n, 1]");
  CHECK(message<ShapeError>([&] {
          matmul(numbers({2, 4, 3}, 1), numbers({5, 3, 4}, 1));
        }) == "matmul: leading axes must agree or be 1; got a [2, 4, 3], b [5, 3, 4]. 2 meets 5");
  CHECK(message<DTypeError>([&] {
          matmul(a, numbers({3, 2}, 1, DType::float32));
        }) == "matmul: dtypes must agree; got a float64, b float32. Use cast()");
}

TEST_CASE("linear: every axis size, with and without bias, against products and sums") {
  double worst = 0;
  for (const Dim rows : {1, 7, 8, 9, 65})
    for (const Dim in : {1, 8, 9, 33})
      for (const Dim out : {1, 7, 8, 17, 65}) {
        const Array x = numbers({rows, in}, 1), w = numbers({out, in}, 2), b = numbers({out}, 3), dy = numbers({rows, out}, 4);
        const auto got = linear_and_gradients(x, w, b, dy);
        Array y = matmul(x, w, {.transpose_b = true}).value();
        CHECK(distance(linear(x, w).value(), y) < 1e-13);
        y += matmul(Array::ones({rows, 1}, f64), b.reshape({1, out})).value();
        const Array wanted[] = {y, matmul(dy, w).value(), matmul(dy, x, {.transpose_a = true}).value(),
                                matmul(Array::ones({1, rows}, f64), dy).value().reshape({out})};
        for (std::size_t i = 0; i < 4; ++i) worst = std::max(worst, distance(got[i], wanted[i]));
      }
  CHECK(worst < 1e-13);
}

TEST_CASE("linear: gradcheck, any rank, a weight used twice") {
  const Array w = numbers({4, 3}, 2), b = numbers({4}, 3);
  for (const Shape& shape : {Shape{3}, Shape{5, 3}, Shape{2, 1, 5, 3}}) {
    const auto report = gradcheck([](const Tensor& x, const Tensor& weight, const Tensor& bias) { return linear(x, weight, bias); },
                                  {numbers(shape, 1), w, b});
    INFO(report.str());
    CHECK(report.ok(1e-11));
  }
  const auto twice = gradcheck([](const Tensor& x, const Tensor& square) { return linear(linear(x, square), square); },
                               {numbers({5, 3}, 1), numbers({3, 3}, 2)});
  CHECK(twice.ok(1e-11));
}

TEST_CASE("AG-09: an empty batch through linear", "[case]") {
  const auto got = linear_and_gradients(numbers({0, 8}, 1), numbers({4, 8}, 2), numbers({4}, 3), Array::ones({0, 4}, f64));
  CHECK(got[0].shape() == Shape{0, 4});
  CHECK(got[1].shape() == Shape{0, 8});
  CHECK(same_bits(got[2], Array::zeros({4, 8}, f64)));
  CHECK(same_bits(got[3], Array::zeros({4}, f64)));
  CHECK(same_bits(linear(numbers({3, 0}, 1), numbers({4, 0}, 2)).value(), Array::zeros({3, 4}, f64)));
  CHECK(linear(numbers({3, 2}, 1), numbers({0, 2}, 2)).shape() == Shape{3, 0});
}

TEST_CASE("linear: errors name the shapes and a cure") {
  const Array w = numbers({4, 8}, 1);
  CHECK(message<ShapeError>([&] {
          linear(numbers({2, 7}, 1), w);
        }) == "linear: x must end in in_features 8; got x [2, 7], weight [4, 8]. Build the layer for 7 or change the last axis of x");
  CHECK(message<ShapeError>([&] {
          linear(numbers({2, 8}, 1), w, numbers({8}, 1));
        }) == "linear: bias must be [4], weight's out_features; got weight [4, 8], bias [8]");
  CHECK(message<ShapeError>([&] {
          linear(numbers({2, 8}, 1), numbers({8}, 1));
        }) == "linear: weight must be [out, in]; got x [2, 8], weight [8]");
  CHECK(message<DTypeError>([&] {
          linear(numbers({2, 8}, 1, DType::float32), w);
        }) == "linear: dtypes must agree; got x float32, weight float64. Use cast()");
}

TEST_CASE("products: the same bits with 1 and 2 threads, where work is split") {
  for (const DType dtype : {DType::float32, f64}) {
    const Array x = numbers({12, 64, 128}, 1, dtype), w = numbers({384, 128}, 2, dtype), b = numbers({384}, 3, dtype);
    const Array dy = numbers({12, 64, 384}, 4, dtype);
    CHECK(same_with_two_threads([&] { return linear_and_gradients(x, w, b, dy); }));
    const Array q = numbers({12, 4, 64, 32}, 5, dtype), shared = numbers({4, 32, 65}, 6, dtype), dc = numbers({12, 4, 64, 65}, 7, dtype);
    CHECK(same_with_two_threads([&] {
      Tape tape;
      const Tensor tq = tape.watch(q), ts = tape.watch(shared), c = matmul(tq, ts);
      auto result = tape.gradients(c, {tq, ts}, dc);
      result.push_back(c.value());
      return result;
    }));
  }
}

TEST_CASE("linear: the gradient of a long sum stays accurate in float32") {
  const Dim rows = 100000;
  const Array dy = Array::full({rows, 3}, 0.1, DType::float32);
  const auto got = linear_and_gradients(Array::ones({rows, 1}), Array::ones({3, 1}), Array::zeros({3}), dy);
  for (const double value : got[3].to_vector()) CHECK(std::fabs(value / (0.1f * static_cast<double>(rows)) - 1) < 1e-5);
}
