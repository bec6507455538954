#include <tapeform/core/compare.hpp>
#include <tapeform/core/creation.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/core/tape.hpp>
#include <tapeform/core/xtensor.hpp>
#include <type_traits>

#include "catch.hpp"
#include "message.hpp"

using namespace tapeform;

namespace {

const Array table = array_of({{1, 2, 3}, {4, 5, 6}});

template <class A>
concept Viewable = requires(A&& x) {
  xtensor_view<float>(std::forward<A>(x));
};
template <class C>
concept Takeable = requires(C&& x) {
  from_xtensor(std::forward<C>(x));
};

}  // namespace

TEST_CASE("xtensor: a view reads an array's numbers where they are") {
  const auto view = xtensor_view<float>(table);
  CHECK(view.data() == table.data<float>());
  CHECK(view.dimension() == 2);
  CHECK(view.shape()[0] == 2);
  CHECK(view.shape()[1] == 3);
  CHECK(view(1, 2) == 6);
  const xt::xarray<float> sums = xt::sum(view, {1});
  CHECK(sums(0) == 6);
  CHECK(sums(1) == 15);
  const Array row = table.rows(1, 2), scalar = Array::full({}, 7), empty = Array::zeros({0, 3});
  CHECK(xtensor_view<float>(row)(0, 0) == 4);
  CHECK(xtensor_view<float>(scalar)() == 7);
  CHECK(xtensor_view<float>(empty).size() == 0);
  CHECK(message<DTypeError>([] { xtensor_view<double>(table); }) == "array: its numbers are float32; asked for as float64. Use cast()");
}

TEST_CASE("xtensor: a view shows what the array held, as long as some array does") {
  Array a = table.cast(DType::float64);
  const Array keeper = a;
  const auto view = xtensor_view<double>(a);
  a.write<double>([](auto x) { x[0] = 100; });  // goes to a copy: the view stays with keeper
  CHECK(view(0, 0) == 1);
  CHECK(view.data() == keeper.data<double>());
  a = Array();
  CHECK(view(1, 2) == 6);
  // An array that dies with the expression has no view.
  STATIC_REQUIRE(Viewable<const Array&>);
  STATIC_REQUIRE(Viewable<Array&>);
  STATIC_REQUIRE_FALSE(Viewable<Array>);
}

TEST_CASE("xtensor: writing reaches one array alone, and its own buffer without a copy") {
  Array a = array_of({{1, 2}, {3, 4}});
  const float* const place = a.data<float>();
  const auto copies = memory_stats().copies;
  xtensor_write<float>(a, [](auto view) { view = 2 * view + 1; });
  CHECK(a.data<float>() == place);
  CHECK(memory_stats().copies == copies);
  CHECK(all_equal(a, array_of({{3, 5}, {7, 9}})));
  const Array copy = a;
  xtensor_write<float>(a, [](auto view) { view(0, 0) = 50; });
  CHECK(copy.at({0, 0}) == 3);
  CHECK(a.at({0, 0}) == 50);
}

TEST_CASE("xtensor: a container becomes an array without a copy, which frees it") {
  xt::xarray<double> numbers = {{1, 2, 3}, {4, 5, 6}};
  const double* const place = numbers.data();
  Array kept;
  {
    const Array a = from_xtensor(std::move(numbers));
    CHECK(a.shape() == Shape{2, 3});
    CHECK(a.dtype() == DType::float64);
    CHECK(a.data<double>() == place);
    kept = a.rows(1, 2);
  }
  CHECK(kept.data<double>() == place + 3);  // the last array that shares it keeps all of it
  CHECK(kept.to_vector() == std::vector<double>{4, 5, 6});

  xt::xtensor<float, 2> fixed = {{1, 2}, {3, 4}};
  const float* const fixed_place = fixed.data();
  Array b = from_xtensor(std::move(fixed));
  b.write<float>([](auto x) { x[3] = 40; });  // an only owner writes in place
  CHECK(b.data<float>() == fixed_place);
  CHECK(b.at({1, 1}) == 40);
  CHECK(from_xtensor(xt::xarray<float>(xt::zeros<float>({0, 2}))).shape() == Shape{0, 2});

  STATIC_REQUIRE(Takeable<xt::xarray<float>>);
  STATIC_REQUIRE_FALSE(Takeable<xt::xarray<float>&>);  // a named one is given by std::move, or a copy of it

  xt::xarray<float> deep = xt::zeros<float>({1, 1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(message<ShapeError>([&] { from_xtensor(std::move(deep)); }).starts_with("shape: at most 8 axes"));
  CHECK(deep.size() == 1);
}

TEST_CASE("xtensor: its numbers go through ops and tapes like any others") {
  xt::xarray<double> numbers = {{0.5, -1}, {2, 0.25}};
  const Array x0 = from_xtensor(std::move(numbers));
  Tape tape;
  const Tensor x = tape.watch(x0);
  tape.backward(sum(x * x));
  const Array gradient = tape.grad(x);
  const xt::xarray<double> expected = 2 * xtensor_view<double>(x0);
  const bool equal = xtensor_view<double>(gradient) == expected;
  CHECK(equal);
}
