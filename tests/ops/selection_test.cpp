#include <algorithm>
#include <functional>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/ops.hpp>

#include "catch.hpp"
#include "message.hpp"
#include "numbers.hpp"

using namespace tapeform;
using numbers::inf, numbers::random;

namespace {

using Numbers = std::vector<double>;

const DType f64 = DType::float64;

Array row(const Numbers& values) { return Array::of({static_cast<Dim>(values.size())}, std::span<const double>(values)); }

}  // namespace

TEST_CASE("argmax and argmin: every axis, the first of equals, NaN before all") {
  const Array x = Array::of({2, 3}, {1, 5, 5, 7, 2, 0}, f64);
  CHECK(argmax(x, 1) == Ids{1, 0});
  CHECK(argmax(x, 0) == Ids{1, 0, 0});
  CHECK(argmax(x, -1, {.keepdims = true}) == Ids::rows({{1}, {0}}));
  CHECK(argmin(x, 1) == Ids{0, 2});
  CHECK(argmax(x) == Ids::full({}, 3));
  CHECK(argmin(x) == Ids::full({}, 5));
  CHECK(argmax(Array::of({}, {4})) == Ids::full({}, 0));
  CHECK(argmax(row({-inf, -inf})).values()[0] == 0);
  for (const Dim n : {1, 7, 8, 9, 33})
    for (Dim at = 0; at < n; ++at) {
      Numbers values(static_cast<std::size_t>(n), 3.0);
      values[static_cast<std::size_t>(at)] = numbers::nan;
      values.back() = numbers::nan;
      REQUIRE(argmax(row(values))[0] == at);
      REQUIRE(argmin(row(values))[0] == at);
    }
  const Array box = random({4, 5, 6}, 1, DType::float32);
  for (int axis = 0; axis < 3; ++axis) {
    const Ids best = argmax(box, axis, {.keepdims = true});
    CHECK(same_bits(take_along_axis(box, best, axis).value(), max(box, {axis}, {.keepdims = true}).value()));
    CHECK(
        same_bits(take_along_axis(box, argmin(box, axis, {.keepdims = true}), axis).value(), min(box, {axis}, {.keepdims = true}).value()));
  }
  CHECK(argmax(Array({0, 3}), 1).shape() == Shape{0});
  CHECK(message<ShapeError>([] {
          argmax(Array({2, 0}), 1);
        }) == "argmax: there must be an element to choose; got x [2, 0]. Axis 1 is empty");
  CHECK(message<ShapeError>([] { argmin(Array(Shape{0})); }) == "argmin: there must be an element to choose; got x [0]. Axis 0 is empty");
  CHECK(message<ShapeError>([&] { argmax(x, 2); }) == "argmax: axis 2 is not there; got x [2, 3]. Axes run from -2 to 1");
}

TEST_CASE("sort and argsort: both orders, equals in their order, NaN as the largest") {
  const Array x = row({3, numbers::nan, 1, 3, -inf, inf, 1});
  CHECK(argsort(x) == Ids{4, 2, 6, 0, 3, 5, 1});
  CHECK(argsort(x, 0, {.descending = true}) == Ids{1, 5, 0, 3, 2, 6, 4});
  CHECK(sort(row({3, 1, 2})).to_vector() == Numbers{1, 2, 3});
  CHECK(sort(row({3, 1, 2}), -1, {.descending = true}).to_vector() == Numbers{3, 2, 1});
  const Array box = random({3, 65, 2}, 1, DType::float32);
  for (int axis = 0; axis < 3; ++axis) {
    const Array sorted = sort(box, axis);
    CHECK(sorted.shape() == box.shape());
    CHECK(same_bits(sorted, take_along_axis(box, argsort(box, axis), axis).value()));
    const Array moved = transpose(sorted, axis, -1).value();
    const Numbers numbers = moved.to_vector();
    for (std::size_t i = 1; i < numbers.size(); ++i)
      if (i % static_cast<std::size_t>(box.dim(axis)) != 0) REQUIRE(numbers[i - 1] <= numbers[i]);
  }
  CHECK(sort(Array({2, 0})).shape() == Shape{2, 0});
  CHECK(message<ShapeError>([&] { sort(box, 3); }) == "sort: axis 3 is not there; got x [3, 65, 2]. Axes run from -3 to 2");
  CHECK(message<ShapeError>([] { argsort(Array::ones({})); }) == "argsort: axis -1 is not there; got x []. A scalar has no axes");
  // Sorted numbers with a gradient, as the header says.
  const auto report = gradcheck([](const Tensor& t) { return take_along_axis(t, argsort(t, 1), 1); }, {random({3, 8}, 2)});
  CHECK(report.ok(1e-11));
}

TEST_CASE("topk: the first of the sorted, largest or smallest, along every axis") {
  const Array x = random({4, 9, 5}, 1);
  for (int axis = -3; axis < 3; ++axis)
    for (Dim k = 0; k <= x.dim(axis); ++k)
      for (const bool largest : {true, false}) {
        const TopK best = topk(x, k, axis, {.largest = largest});
        CHECK(same_bits(best.values, slice(sort(x, axis, {.descending = largest}), axis, 0, k).value()));
        CHECK(same_bits(best.values, take_along_axis(x, best.ids, axis).value()));
      }
  CHECK(topk(row({2, 5, 5, 1}), 3).ids == Ids{1, 2, 0});
  CHECK(topk(row({2, numbers::nan, 5}), 2).ids == Ids{1, 2});
  CHECK(message<ValueError>([&] { topk(x, 6); }) == "topk: k must lie between 0 and 5, the size of axis -1; got k 6, x [4, 9, 5]");
  CHECK(message<ValueError>([&] { topk(x, -1, 0); }) == "topk: k must lie between 0 and 4, the size of axis 0; got k -1, x [4, 9, 5]");
}

TEST_CASE("one_hot and bincount") {
  const Array hot = one_hot(Ids::rows({{0, 2}, {1, 1}}), 3);
  CHECK(hot.shape() == Shape{2, 2, 3});
  CHECK(hot.dtype() == DType::float32);
  CHECK(hot.to_vector() == Numbers{1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0});
  CHECK(one_hot(Ids::full({}, 1), 2, f64).to_vector() == Numbers{0, 1});
  CHECK(one_hot(Ids::full({0}, 0), 0).shape() == Shape{0, 0});
  CHECK(argmax(hot, -1) == Ids::rows({{0, 2}, {1, 1}}));
  CHECK(message<ValueError>([] { one_hot({1, 0, 5}, 5); }) == "one_hot: ids must lie in [0, 5), a class each; got 5 at [2] of ids [3]");
  CHECK(message<ShapeError>([] { one_hot({0}, -1); }) ==
        "one_hot: ids must have fewer than 8 axes and classes must not be negative; got ids [1], classes -1");
  CHECK(bincount({1, 3, 1}) == Ids{0, 2, 0, 1});
  CHECK(bincount({1}, 4) == Ids{0, 1, 0, 0});
  CHECK(bincount({5}, 2) == Ids{0, 0, 0, 0, 0, 1});
  CHECK(bincount(Ids::full({0}, 0)) == Ids::full({0}, 0));
  CHECK(bincount(Ids::rows({{0, 1}, {1, 1}})) == Ids{1, 3});
  CHECK(message<ValueError>([] {
          bincount(Ids::rows({{0}, {-1}}));
        }) == "bincount: ids must lie in [0, 9223372036854775807); got -1 at [1, 0] of ids [2, 1]");
  CHECK(message<ValueError>([] { bincount({0}, -1); }) == "bincount: classes must not be negative; got -1");
}

TEST_CASE("selection: every op says that its input holds nothing") {
  const Tensor none;
  const std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"argmax", [&] { argmax(none); }},   {"argmax", [&] { argmax(none, 0); }}, {"argmin", [&] { argmin(none); }},
      {"argsort", [&] { argsort(none); }}, {"sort", [&] { sort(none); }},        {"topk", [&] { topk(none, 0); }},
  };
  for (const auto& [op, call] : calls) CHECK_THAT(message<ValueError>(call), Catch::Matchers::StartsWith(op + ": x holds nothing"));
}

TEST_CASE("selection: the same places with 1 and 2 threads") {
  const Array x = random({70, 65, 33}, 1, DType::float32);
  CHECK(numbers::same_on_two_threads([&] {
    const Ids best = argmax(x, 1, {.keepdims = true});
    return std::vector<Array>{sort(x, 1), topk(x, 3, 0).values, take_along_axis(x, best, 1).value()};
  }));
}
