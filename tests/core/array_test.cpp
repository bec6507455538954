#include <limits>
#include <tapeform/core/array.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/memory.hpp>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;

static const std::vector<double> one_to_six{1, 2, 3, 4, 5, 6};

static Array two_by_three(DType dtype = DType::float32) { return Array::of({2, 3}, {1, 2, 3, 4, 5, 6}, dtype); }

TEST_CASE("an array is what it was made of") {
  const Array a = two_by_three();
  CHECK(a.shape() == Shape{2, 3});
  CHECK(a.dtype() == DType::float32);
  CHECK(a.rank() == 2);
  CHECK(a.dim(-1) == 3);
  CHECK(a.numel() == 6);
  CHECK(a.to_vector() == one_to_six);
  CHECK(a.at({1, 2}) == 6);
  CHECK(reinterpret_cast<std::uintptr_t>(a.data<float>()) % 64 == 0);
  CHECK(Array::zeros({3}).to_vector() == std::vector<double>{0, 0, 0});
  CHECK(Array::ones({2}, DType::float64).to_vector() == std::vector<double>{1, 1});
  CHECK(Array::full({}, 2.5).item() == 2.5);
  CHECK(Array::of({2}, std::vector<float>{1, 2}).dtype() == DType::float32);
  CHECK(Array::of({2}, std::vector<double>{1, 2}).dtype() == DType::float64);
  CHECK(Array::zeros({0, 5}).to_vector().empty());
}

TEST_CASE("a copy never changes behind its owner's back") {
  Array a = two_by_three();
  const Array copy = a, view = a.reshape({3, 2}), row = a.rows(1, 2);
  CHECK(copy.shares_buffer_with(a));
  CHECK(view.shares_buffer_with(a));
  CHECK(row.shares_buffer_with(a));
  a.write<float>([](std::span<float> x) { x[5] = 60; });
  CHECK(a.at({1, 2}) == 60);
  CHECK(copy.to_vector() == one_to_six);
  CHECK(view.to_vector() == one_to_six);
  CHECK(row.to_vector() == std::vector<double>{4, 5, 6});
  CHECK_FALSE(copy.shares_buffer_with(a));
}

TEST_CASE("writing to a view of rows changes those rows alone, in a buffer of their own size") {
  Array a = two_by_three();
  Array row = a.rows(1, 2);
  row += Array::of({1, 3}, {10, 20, 30});
  CHECK(row.to_vector() == std::vector<double>{14, 25, 36});
  CHECK(a.to_vector() == one_to_six);
  CHECK(row.rows(0, 1).is_same(row));
  CHECK(a.rows(2, 2).numel() == 0);
}

TEST_CASE("an only owner writes in place") {
  Array a = two_by_three();
  const auto before = memory_stats().copies;
  const float* const place = a.data<float>();
  a += a;  // reads itself, holds itself once
  a += two_by_three();
  CHECK(a.data<float>() == place);
  CHECK(a.to_vector() == std::vector<double>{3, 6, 9, 12, 15, 18});
  Array moved = std::move(a);
  CHECK(moved.mutable_data<float>() == place);
  CHECK(memory_stats().copies == before);
}

TEST_CASE("is_same and same_bits tell views and numbers apart") {
  const Array a = two_by_three(), b = two_by_three();
  CHECK(a.is_same(Array(a)));
  CHECK_FALSE(a.is_same(b));
  CHECK_FALSE(a.is_same(a.reshape({3, 2})));
  CHECK_FALSE(a.rows(0, 1).is_same(a.rows(1, 2)));
  CHECK(same_bits(a, b));
  CHECK_FALSE(same_bits(a, a.reshape({3, 2})));
  CHECK_FALSE(same_bits(a, a.cast(DType::float64)));
  CHECK_FALSE(same_bits(Array::zeros({1}), Array::full({1}, -0.0)));
  const Array nan = Array::full({1}, std::numeric_limits<double>::quiet_NaN());
  CHECK(same_bits(nan, Array::full({1}, std::numeric_limits<double>::quiet_NaN())));
  CHECK(same_bits(Array(), Array()));
  CHECK_FALSE(same_bits(Array(), Array::zeros({0})));
}

TEST_CASE("reshape works one size out and keeps the number of elements") {
  const Array a = two_by_three();
  CHECK(a.reshape({-1}).shape() == Shape{6});
  CHECK(a.reshape({3, -1, 1}).shape() == Shape{3, 2, 1});
  CHECK(Array::zeros({0, 4}).reshape({2, -1}).shape() == Shape{2, 0});
  CHECK(message<ShapeError>([&] { a.reshape({4, 2}); }) == "reshape: the number of elements must stay 6; got [2, 3] to [4, 2]");
  CHECK(message<ShapeError>([&] { a.reshape({-1, -1}); }) == "reshape: only one size may be -1; got two for [2, 3]");
  CHECK(message<ShapeError>([&] { a.reshape({4, -1}); }) == "reshape: 6 elements do not divide by 4; got [2, 3]. No size fits the -1");
  CHECK(message<ShapeError>([&] {
          Array::zeros({0}).reshape({0, -1});
        }) == "reshape: 0 elements do not divide by 0; got [0]. No size fits the -1");
  CHECK(message<ShapeError>([&] { a.rows(1, 3); }) == "rows: [1, 3) must lie within the leading axis; got [2, 3]");
  CHECK(message<ShapeError>([&] { a.rows(1, 0); }) == "rows: [1, 0) must lie within the leading axis; got [2, 3]");
  CHECK(message<ShapeError>([&] { Array::full({}, 1).rows(0, 0); }) == "rows: [0, 0) must lie within the leading axis; got []");
}

TEST_CASE("cast rounds to the nearest and shares what need not change") {
  const Array wide = Array::of({3}, {0.1, 1e300, -1e-300}, DType::float64);
  const Array narrow = wide.cast(DType::float32);
  CHECK(narrow.at({0}) == static_cast<double>(0.1f));
  CHECK(narrow.at({1}) == std::numeric_limits<double>::infinity());
  CHECK(narrow.at({2}) == 0.0);
  CHECK(wide.cast(DType::float64).is_same(wide));
  CHECK(two_by_three().rows(1, 2).cast(DType::float64).to_vector() == std::vector<double>{4, 5, 6});
  CHECK_FALSE(Array().cast(DType::float64));
}

TEST_CASE("an array that holds nothing is neither empty nor zero") {
  const Array nothing;
  CHECK_FALSE(nothing);
  CHECK(Array::zeros({0}));
  const std::string text =
      "array: it holds nothing (default-constructed, moved from, or a gradient that is not there). Test it with `if (array)`";
  CHECK(message<ValueError>([&] { nothing.data<float>(); }) == text);
  CHECK(message<ValueError>([&] { nothing.to_vector(); }) == text);
  CHECK(message<ShapeError>([&] { nothing.item(); }) == "item: exactly one element; got no array");
  Array a = two_by_three();
  const Array taken = std::move(a);
  CHECK_FALSE(a);
}

TEST_CASE("misuse of arrays says what, where and what to do") {
  const Array a = two_by_three();
  CHECK(message<DTypeError>([&] { a.data<double>(); }) == "array: its numbers are float32; asked for as float64. Use cast()");
  CHECK(message<ShapeError>([&] { a.item(); }) == "item: exactly one element; got [2, 3]");
  CHECK(message<ShapeError>([&] { a.at({0, 3}); }) == "offset: index 3 is outside axis 1 of size 3; got shape [2, 3]");
  CHECK(message<ShapeError>([&] { a.at({0}); }) == "offset: one index per axis; got 1 for shape [2, 3]");
  CHECK(message<ShapeError>([&] { a.dim(2); }) == "shape: axis 2 is outside rank 2; got shape [2, 3]. Axes run from -2 to 1");
  CHECK(message<ShapeError>([&] { Array::of({2}, {1, 2, 3}); }) == "array: one value per element; got 3 values for shape [2]");
  Array sum = a;
  CHECK(message<ShapeError>([&] { sum += a.reshape({3, 2}); }) == "+=: shapes must agree; got [2, 3] and [3, 2]");
  CHECK(message<DTypeError>([&] { sum += two_by_three(DType::float64); }) == "+=: dtypes must agree; got float32 and float64. Use cast()");
  CHECK(sum.is_same(a));
  CHECK(message<ShapeError>([&] { Shape{2, -1}; }) == "shape: sizes must not be negative; got -1");
  CHECK(message<ShapeError>([&] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }) ==
        "shape: at most 8 axes; got one more than [1, 1, 1, 1, 1, 1, 1, 1]");
}

TEST_CASE("AG-51: 32-bit offset", "[case]") {
  const Shape shape{32, 400, 80, 4096};
  CHECK(shape.numel() == 4'194'304'000);
  CHECK(shape.offset({31, 399, 79, 4095}) == 4'194'303'999);
  const Dim large = Dim{1} << 32;
  CHECK(message<ShapeError>([&] {
          Array({large, large});
        }) == "shape: the number of elements must fit 63 bits; got [4294967296, 4294967296]. Use smaller sizes");
  CHECK(message<ShapeError>([&] {
          Array({large, 1 << 20});
        }) == "array: 4503599627370496 elements are more than any memory holds; got shape [4294967296, 1048576]");
  CHECK((Shape{large, large, 0}).numel() == 0);
}

TEST_CASE("ids keep 64 bits, share until written, and refuse ragged rows") {
  Ids ids = Ids::rows({{1, 2, 3}, {4, 5, 6'000'000'000}});
  CHECK(ids.shape() == Shape{2, 3});
  CHECK(ids[5] == 6'000'000'000);
  CHECK(ids.at({1, 0}) == 4);
  const Ids copy = ids, flat = ids.reshape({6});
  ids.write([](std::span<std::int64_t> x) { x[0] = 9; });
  CHECK(ids[0] == 9);
  CHECK(copy[0] == 1);
  CHECK(flat[0] == 1);
  CHECK(flat == Ids{1, 2, 3, 4, 5, 6'000'000'000});
  CHECK_FALSE(flat == copy);
  CHECK_FALSE(ids == copy);
  CHECK(Ids::rows(std::vector<std::vector<std::int64_t>>{{1}, {2}}).shape() == Shape{2, 1});
  CHECK(Ids::full({2, 2}, 7) == Ids::rows({{7, 7}, {7, 7}}));
  CHECK(Ids::arange(3) == Ids{0, 1, 2});
  CHECK(Ids().numel() == 0);
  CHECK(Ids() == Ids(std::initializer_list<std::int64_t>{}));
  CHECK(Ids::arange(0).values().empty());

  CHECK(message<ShapeError>([] { Ids::rows({{1, 2}, {3}}); }) == "ids: rows must have one length; got 2 and 1. Pad the shorter ones");
  CHECK(message<ShapeError>([&] { static_cast<void>(flat[6]); }) == "ids: position 6 is outside 6 elements; got shape [6]");
  CHECK(message<ShapeError>([&] {
          static_cast<void>(copy.at({2, 0}));
        }) == "offset: index 2 is outside axis 0 of size 2; got shape [2, 3]");
  CHECK(message<ShapeError>([] { Ids(Shape{2}, std::vector<std::int64_t>{1}); }) ==
        "ids: one value per element; got 1 values for shape [2]");
  CHECK(message<ShapeError>([&] { flat.reshape({5}); }) == "reshape: the number of elements must stay 6; got [6] to [5]");
}
