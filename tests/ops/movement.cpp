#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "products_testing.hpp"

using namespace products_testing;

namespace {

const DType f64 = DType::float64;

// Element by element.
Array permuted_by_definition(const Array& x, std::vector<int> axes) {
  Shape shape;
  for (const int axis : axes) shape.push_back(x.dim(axis));
  const std::vector<double> from = x.to_vector();
  std::vector<double> to(from.size());
  for (Dim i = 0; i < x.numel(); ++i) {
    Dim index[Shape::max_rank] = {}, rest = i, place = 0;
    for (int axis = shape.rank(); axis-- > 0; rest /= shape[axis]) index[axes[static_cast<std::size_t>(axis)]] = rest % shape[axis];
    for (int axis = 0; axis < x.rank(); ++axis) place = place * x.dim(axis) + index[axis];
    to[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(place)];
  }
  return Array::of(shape, std::span<const double>(to)).cast(x.dtype());
}

}  // namespace

TEST_CASE("permute: every order of four axes, for sizes around the block's edge") {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{1, 7, 1, 9}, Shape{2, 15, 3, 16}, Shape{17, 2, 33, 1}, Shape{3, 65, 2, 17}})
    for (const DType dtype : {DType::float32, f64}) {
      const Array x = numbers(shape, 1, dtype);
      std::vector<int> axes{0, 1, 2, 3};
      do CHECK(same_bits(permute(x, axes).value(), permuted_by_definition(x, axes)));
      while (std::next_permutation(axes.begin(), axes.end()));
    }
  CHECK(permute(numbers({3, 0, 2}, 1), {2, 0, 1}).shape() == Shape{2, 3, 0});
  CHECK(permute(numbers({}, 1), std::initializer_list<int>{}).shape() == Shape{});
  CHECK(permute(numbers({2, 3, 4}, 1), {-1, 0, -2}).shape() == Shape{4, 2, 3});
  const Array x = numbers({1, 3, 1, 4}, 1);
  CHECK(permute(x, {2, 1, 0, 3}).value().shares_buffer_with(x));  // no number moves
}

TEST_CASE("permute, transpose, reshape: gradcheck") {
  const auto check = [](auto f) {
    const auto report = gradcheck(f, {numbers({2, 3, 4, 5}, 1)});
    INFO(report.str());
    CHECK(report.ok(1e-11));
  };
  check([](const Tensor& x) { return permute(x, {0, 2, 1, 3}); });
  check([](const Tensor& x) { return permute(x, {3, 1, 0, 2}); });
  check([](const Tensor& x) { return transpose(x, 1, -1); });
  check([](const Tensor& x) { return reshape(x, {6, -1}); });
  check([](const Tensor& x) { return reshape(x, Shape{120}); });
}

TEST_CASE("reshape shares the buffer") {
  const Array x = numbers({2, 6}, 1);
  CHECK(reshape(x, {3, -1}).value().shares_buffer_with(x));
  CHECK(reshape(x, {3, -1}).shape() == Shape{3, 4});
  CHECK(message<ShapeError>([&] { reshape(x, {5, 2}); }) == "reshape: the number of elements must stay 12; got [2, 6] to [5, 2]");
}

TEST_CASE("slice: every axis, whole, empty and of one; the leading axis shares the buffer") {
  const Array x = numbers({3, 4, 5}, 1);
  for (int axis = 0; axis < 3; ++axis)
    for (Dim begin = 0; begin <= x.dim(axis); ++begin)
      for (Dim end = begin; end <= x.dim(axis); ++end) {
        const Array y = slice(x, axis, begin, end).value();
        CHECK(y.dim(axis) == end - begin);
        for (Dim i = 0; i < y.dim(0); ++i)
          for (Dim j = 0; j < y.dim(1); ++j)
            for (Dim k = 0; k < y.dim(2); ++k)
              CHECK(y.at({i, j, k}) == x.at({i + (axis == 0 ? begin : 0), j + (axis == 1 ? begin : 0), k + (axis == 2 ? begin : 0)}));
      }
  CHECK(slice(x, 0, 1, 3).value().shares_buffer_with(x));
  CHECK(slice(x, -1, 0, 5).value().shares_buffer_with(x));
}

TEST_CASE("AG-15: the gradient of a slice has x's shape, and slices that overlap add", "[case]") {
  Tape tape;
  const Tensor x = tape.watch(numbers({5}, 1));
  const Tensor y = slice(x, 0, 1, 3);
  CHECK(tape.gradients(y, {x}, Array::full({2}, 3, f64), {.keep = true})[0].to_vector() == std::vector<double>{0, 3, 3, 0, 0});
  const Tensor both = concat({slice(x, 0, 0, 3), slice(x, 0, 1, 4)}, 0);
  CHECK(tape.gradients(both, {x}, Array::ones({6}, f64))[0].to_vector() == std::vector<double>{1, 2, 2, 1, 0});
  const auto block = gradcheck([](const Tensor& z) { return slice(slice(z, 0, 1, 3), 1, 2, 4); }, {numbers({4, 5}, 1)});
  CHECK(block.ok(1e-11));
}

TEST_CASE("slices of one tensor add into one gradient, without a copy of it for each") {
  const Dim steps = 500;
  Tape tape;
  const Tensor x = tape.watch(Array::ones({steps, 64}));
  std::vector<Tensor> parts;
  for (Dim t = 0; t < steps; ++t) parts.push_back(slice(x, 0, t, t + 1));
  const Tensor y = concat(parts, 0);
  const auto before = memory_stats().copies;
  const Array dx = tape.gradients(y, {x}, Array::ones({steps, 64}))[0];
  CHECK(memory_stats().copies - before <= 1);
  CHECK(same_bits(dx, Array::ones({steps, 64})));
}

TEST_CASE("concat: every axis, parts of any size, one tensor twice, constants among them") {
  const Array a = numbers({2, 3, 4}, 1);
  for (int axis = -3; axis < 3; ++axis) {
    Shape other = a.shape();
    other.set(axis, 5);
    Shape nothing = a.shape();
    nothing.set(axis, 0);
    const Array b = numbers(other, 2), none = numbers(nothing, 3);
    const Array y = concat({a, none, b}, axis).value();
    const Dim middle = a.dim(axis);
    CHECK(y.dim(axis) == middle + 5);
    CHECK(same_bits(slice(y, axis, 0, middle).value(), a));
    CHECK(same_bits(slice(y, axis, middle, middle + 5).value(), b));
    const auto report = gradcheck([&](const Tensor& p, const Tensor& q) { return concat({q, p, b, p}, axis); }, {a, b});
    INFO(report.str());
    CHECK(report.ok(1e-11));
  }
}

TEST_CASE("movement: errors name the shapes") {
  const Array a = numbers({2, 3}, 1);
  CHECK(message<ShapeError>([&] { permute(a, {0, 0}); }) == "permute: axes must name each axis of x once; got x [2, 3], axes [0, 0]");
  CHECK(message<ShapeError>([&] { permute(a, {0}); }) == "permute: axes must name each axis of x once; got x [2, 3], axes [0]");
  CHECK(message<ShapeError>([&] { permute(a, {0, 2}); }) == "permute: axes must name each axis of x once; got x [2, 3], axes [0, 2]");
  CHECK(message<ShapeError>([&] { slice(a, 1, 2, 4); }) == "slice: [2, 4) must lie within axis 1 of size 3; got x [2, 3]");
  CHECK(message<ShapeError>([&] { slice(a, 1, 2, 1); }) == "slice: [2, 1) must lie within axis 1 of size 3; got x [2, 3]");
  CHECK(message<ShapeError>([&] {
          concat({a, numbers({3, 3}, 1)}, 1);
        }) == "concat: shapes must agree in all axes but 1; got [2, 3] and [3, 3]");
  CHECK(message<ShapeError>([&] { concat({a, numbers({3}, 1)}, 0); }) == "concat: shapes must agree in all axes but 0; got [2, 3] and [3]");
  const Array wide = Array::zeros({Dim{1} << 62, 0});
  CHECK(message<ShapeError>([&] {
          concat({wide, wide}, 0);
        }) == "concat: a size that fits 63 bits; got 4611686018427387904 more in axis 0");
  CHECK(message<ShapeError>([&] { concat(std::vector<Tensor>{}, 0); }) == "concat: at least one tensor; got none");
  CHECK(message<DTypeError>([&] {
          concat({a, numbers({2, 3}, 1, DType::float32)}, 0);
        }) == "concat: dtypes must agree; got float64 and float32. Use cast()");
}

TEST_CASE("movement: the same bits with 1 and 2 threads, where work is split") {
  const Array x = numbers({12, 64, 4, 32}, 1, DType::float32);
  CHECK(same_with_two_threads([&] { return std::vector<Array>{permute(x, {0, 2, 1, 3}).value()}; }));
  CHECK(same_with_two_threads([&] { return std::vector<Array>{permute(x, {3, 1, 2, 0}).value()}; }));
  CHECK(same_with_two_threads([&] {
    Tape tape;
    const Tensor z = tape.watch(x), y = concat({slice(z, 1, 0, 50), slice(z, 1, 10, 64)}, 1);
    return tape.gradients(y, {z}, Array::full(y.shape(), 0.1));
  }));
}
