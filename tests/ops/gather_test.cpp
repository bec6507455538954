#include <functional>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "message.hpp"
#include "numbers.hpp"

using namespace tapeform;
using numbers::random;

namespace {

using Numbers = std::vector<double>;

const DType f64 = DType::float64;

Ids random_ids(const Shape& shape, Dim below, std::uint64_t seed = 1) {
  Rng rng(seed);
  Ids ids = Ids::full(shape, 0);
  ids.write([&](std::span<std::int64_t> values) {
    for (std::int64_t& id : values) id = rng.below(below);
  });
  return ids;
}

Array gradient(const std::function<Tensor(const Tensor&)>& f, const Array& x, const Array& dy) {
  Tape tape;
  const Tensor watched = tape.watch(x);
  return tape.gradients(f(watched), {watched}, dy)[0];
}

template <class F>
void check_gradient(const std::vector<Array>& inputs, F f) {
  const auto report = gradcheck(f, inputs);
  INFO(report.str());
  CHECK(report.ok(1e-11));
}

}  // namespace

TEST_CASE("gather: by definition along every axis, and a part of x beside it") {
  const Array x = random({3, 4, 5}, 1);
  for (int axis = -3; axis < 3; ++axis) {
    Shape shape = x.shape();
    shape.set(axis, 7);
    const Ids ids = random_ids(shape, x.dim(axis));
    const Array y = gather(x, axis, ids).value();
    REQUIRE(y.shape() == shape);
    const int at = x.shape().axis(axis);
    for (Dim i = 0; i < shape[0]; ++i)
      for (Dim j = 0; j < shape[1]; ++j)
        for (Dim k = 0; k < shape[2]; ++k) {
          const Dim id = ids.at({i, j, k});
          REQUIRE(y.at({i, j, k}) == x.at({at == 0 ? id : i, at == 1 ? id : j, at == 2 ? id : k}));
        }
    CHECK(same_bits(take_along_axis(x, ids, axis).value(), y));
    check_gradient({x}, [&](const Tensor& t) { return gather(t, axis, ids); });
  }
  const Ids part = random_ids({2, 6, 3}, 4);
  const Array y = gather(x, 1, part).value();
  CHECK(y.at({1, 5, 2}) == x.at({1, part.at({1, 5, 2}), 2}));
  check_gradient({x}, [&](const Tensor& t) { return gather(t, 1, part); });
  CHECK(gather(x, 1, Ids::full({3, 0, 5}, 0)).shape() == Shape{3, 0, 5});
  CHECK(gather(random({1, 1, 1, 1, 2, 1, 1, 3}, 1), 4, Ids::full({1, 1, 1, 1, 5, 1, 1, 3}, 1)).shape() == Shape{1, 1, 1, 1, 5, 1, 1, 3});
}

TEST_CASE("take_along_axis: sizes beside the axis broadcast, both ways") {
  const Array x = random({3, 4}, 1), column = random({3, 1}, 2);
  const Ids one = Ids::rows({{3, 1}});
  const Array y = take_along_axis(x, one, 1).value();
  CHECK(y.shape() == Shape{3, 2});
  for (Dim i = 0; i < 3; ++i) CHECK(y.at({i, 0}) == x.at({i, 3}));
  const Ids ids = random_ids({5, 4}, 3);
  CHECK(take_along_axis(column, ids, 0).shape() == Shape{5, 4});
  CHECK(take_along_axis(column, ids, 0).value().at({4, 2}) == column.at({ids.at({4, 2}), 0}));
  check_gradient({x}, [&](const Tensor& t) { return take_along_axis(t, one, -1); });
  check_gradient({column}, [&](const Tensor& t) { return take_along_axis(t, ids, 0); });
}

TEST_CASE("AG-17: a gathered id that repeats adds up in the gradient", "[case]") {
  const Array x = Array::of({1}, {.1}, f64), dy = Array::of({2}, {.2, .3}, f64);
  CHECK(gradient([](const Tensor& t) { return gather(t, 0, {0, 0}); }, x, dy).to_vector() == Numbers{.2 + .3});
  CHECK(gradient([](const Tensor& t) { return take_along_axis(t, {0, 0}, 0); }, x, dy).to_vector() == Numbers{.2 + .3});
  CHECK(gradient([](const Tensor& t) { return index_select(t, 0, {0, 0}); }, x, dy).to_vector() == Numbers{.2 + .3});
  CHECK(scatter_add(x, 0, {0, 0}, dy).value().to_vector() == Numbers{.1 + .2 + .3});
}

TEST_CASE("index_select: slices of every axis; of a matrix's rows it is embedding") {
  const Array x = random({3, 4, 5}, 1);
  const Ids ids{2, 0, 2, 1};
  for (int axis = 0; axis < 3; ++axis) {
    const Array y = index_select(x, axis, ids).value();
    for (Dim i = 0; i < 4; ++i) CHECK(same_bits(slice(y, axis, i, i + 1).value(), slice(x, axis, ids[i], ids[i] + 1).value()));
    check_gradient({x}, [&](const Tensor& t) { return index_select(t, axis, ids); });
  }
  const Array table = random({3, 17}, 2);
  CHECK(same_bits(index_select(table, 0, ids).value(), embedding(table, ids).value()));
  CHECK(index_select(x, 1, Ids::full({0}, 0)).shape() == Shape{3, 0, 5});
  CHECK(index_select(Array({0, 3}), 1, {2, 2}).shape() == Shape{0, 2});
}

TEST_CASE("scatter_add: by definition, with ids that repeat; the inverse of gather's gradient") {
  const Array x = random({2, 3, 4}, 1);
  for (int axis = 0; axis < 3; ++axis) {
    Shape shape = x.shape();
    shape.set(axis, 6);
    const Ids ids = random_ids(shape, x.dim(axis), 7);
    const Array src = random(shape, 2);
    Numbers expected = x.to_vector();
    for (Dim i = 0; i < shape[0]; ++i)
      for (Dim j = 0; j < shape[1]; ++j)
        for (Dim k = 0; k < shape[2]; ++k) {
          const Dim id = ids.at({i, j, k});
          const Dim at = x.shape().offset({axis == 0 ? id : i, axis == 1 ? id : j, axis == 2 ? id : k});
          expected[static_cast<std::size_t>(at)] += src.at({i, j, k});
        }
    CHECK(scatter_add(x, axis, ids, src).value().to_vector() == expected);
    CHECK(same_bits(gradient([&](const Tensor& t) { return gather(t, axis, ids); }, x, src),
                    scatter_add(Array::zeros(x.shape(), f64), axis, ids, src).value()));
    check_gradient({x, src}, [&](const Tensor& t, const Tensor& s) { return scatter_add(t, axis, ids, s); });
  }
  CHECK(same_bits(scatter_add(x, 1, Ids::full({2, 0, 4}, 0), Array({2, 0, 4}, f64)).value(), x));
  const Array before = x;
  scatter_add(x, 0, Ids::full({1, 3, 4}, 1), Array::ones({1, 3, 4}, f64));
  CHECK(same_bits(x, before));  // x itself is not written
}

TEST_CASE("SL-09: an id outside the axis is named with its place, before any write", "[case]") {
  const Tensor x = random({3, 5}, 1);
  CHECK(message<ValueError>([&] {
          gather(x, 1, Ids::rows({{0, 1}, {2, 5}, {0, 0}}));
        }) == "gather: ids must lie in [0, 5), axis 1 of x; got 5 at [1, 1] of ids [3, 2], x [3, 5]");
  CHECK(message<ValueError>([&] { take_along_axis(x, Ids::rows({{-1}}), -2); }) ==
        "take_along_axis: ids must lie in [0, 3), axis 0 of x; got -1 at [0, 0] of ids [1, 1], x [3, 5]");
  CHECK(message<ValueError>([&] {
          index_select(x, 0, {0, 3});
        }) == "index_select: ids must lie in [0, 3), axis 0 of x; got 3 at [1] of ids [2], x [3, 5]");
  CHECK(message<ValueError>([&] {
          scatter_add(x, 0, Ids::full({1, 5}, 7), Array::ones({1, 5}, f64));
        }) == "scatter_add: ids must lie in [0, 3), axis 0 of x; got 7 at [0, 0] of ids [1, 5], x [3, 5]");
  CHECK(message<ValueError>([&] {
          gather(Array({0, 5}), 0, Ids::full({1, 5}, 0));
        }) == "gather: ids must lie in [0, 0), axis 0 of x; got 0 at [0, 0] of ids [1, 5], x [0, 5]");
}

TEST_CASE("gather and scatter_add: errors name the shapes") {
  const Tensor x = random({3, 5}, 1), none;
  CHECK(message<ShapeError>([&] { gather(x, 0, {1}); }) ==
        "gather: ids must have x's rank and, beside axis 0, be no larger than x; got ids [1], x [3, 5]");
  CHECK(message<ShapeError>([&] {
          gather(x, 0, Ids::full({2, 6}, 0));
        }) == "gather: ids must have x's rank and, beside axis 0, be no larger than x; got ids [2, 6], x [3, 5]");
  CHECK(message<ShapeError>([&] {
          take_along_axis(x, Ids::full({2, 2}, 0), 0);
        }) ==
        "take_along_axis: ids must have x's rank and, beside axis 0, sizes equal to x's or one of the two 1; got ids [2, 2], x [3, 5]");
  CHECK(message<ShapeError>([&] {
          scatter_add(x, 1, Ids::full({2, 2}, 0), x);
        }) == "scatter_add: ids must have x's rank and, beside axis 1, x's sizes; got ids [2, 2], x [3, 5]");
  CHECK(message<ShapeError>([&] {
          scatter_add(x, 1, Ids::full({3, 2}, 0), x);
        }) == "scatter_add: src must have the shape of ids; got src [3, 5], ids [3, 2]");
  CHECK(message<DTypeError>([&] {
          scatter_add(x, 1, Ids::full({3, 2}, 0), Array::ones({3, 2}));
        }) == "scatter_add: dtypes must agree; got x float64, src float32. Convert one with cast()");
  CHECK(message<ShapeError>([&] {
          index_select(x, 1, Ids::full({1, 1}, 0));
        }) == "index_select: ids must have one axis; got ids [1, 1], x [3, 5]");
  CHECK(message<ShapeError>([&] { index_select(x, 2, {0}); }) == "index_select: axis 2 is not there; got x [3, 5]. Axes run from -2 to 1");
  const std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"gather: x", [&] { gather(none, 0, {0}); }},
      {"take_along_axis: x", [&] { take_along_axis(none, {0}, 0); }},
      {"index_select: x", [&] { index_select(none, 0, {0}); }},
      {"scatter_add: x", [&] { scatter_add(none, 0, {0}, x); }},
      {"scatter_add: src", [&] { scatter_add(x, 0, {0}, none); }},
  };
  for (const auto& [input, call] : calls) CHECK_THAT(message<ValueError>(call), Catch::Matchers::StartsWith(input + " holds nothing"));
}

TEST_CASE("gather and scatter_add: the same bits with 1 and 2 threads") {
  const Array x = random({64, 20, 65}, 1, DType::float32), dy = random({64, 40, 65}, 2, DType::float32);
  const Ids ids = random_ids({64, 40, 65}, 20), rows = random_ids({40}, 20);
  CHECK(numbers::same_on_two_threads([&] {
    return std::vector<Array>{gather(x, 1, ids).value(), gradient([&](const Tensor& t) { return gather(t, 1, ids); }, x, dy),
                              index_select(x, 1, rows).value(), gradient([&](const Tensor& t) { return index_select(t, 1, rows); }, x, dy),
                              scatter_add(x, 1, ids, dy).value()};
  }));
}
