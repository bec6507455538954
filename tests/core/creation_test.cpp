#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tapeform/core/compare.hpp>
#include <tapeform/core/creation.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

#include "catch.hpp"
#include "message.hpp"

using namespace tapeform;

using Numbers = std::vector<double>;

TEST_CASE("creation: numbers in nested braces have the shape in which they are written") {
  const Array a = array_of({{1, 2, 3}, {4, 5, 6}});
  CHECK(a.shape() == Shape{2, 3});
  CHECK(a.dtype() == DType::float32);
  CHECK(a.to_vector() == Numbers{1, 2, 3, 4, 5, 6});
  CHECK(array_of({1.5, -2}, DType::float64).to_vector() == Numbers{1.5, -2});
  CHECK(array_of({{1}, {2}}).shape() == Shape{2, 1});
  CHECK(array_of({{1, 2}}).shape() == Shape{1, 2});
  CHECK(array_of({1}).shape() == Shape{1});
  CHECK(array_of({{{{{{{{7}}}}}}}}).shape() == Shape{1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(array_of({{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}}).shape() == Shape{2, 3, 2});
  CHECK(array_of({}).shape() == Shape{0});
  CHECK(array_of({{}, {}}).shape() == Shape{2, 0});

  CHECK(message<ShapeError>([] {
          array_of({{1, 2}, {3}});
        }) == "array_of: lists of one axis must have one length; got 2 and 1. Pad the shorter ones");
  CHECK(message<ShapeError>([] {
          array_of({{1, 2}, 3});
        }) == "array_of: numbers must stand at one depth; got one at depth 1 and one at another");
  CHECK(message<ShapeError>([] {
          array_of({1, {3}});
        }) == "array_of: numbers must stand at one depth; got one at depth 1 and one at another");
  CHECK(message<ShapeError>([] { array_of({{{{{{{{{7}}}}}}}}}); }) == "shape: at most 8 axes; got one more than [1, 1, 1, 1, 1, 1, 1, 1]");
}

TEST_CASE("creation: vectors and spans keep their type") {
  const std::vector<float> floats{1, 2};
  const double doubles[] = {1, 2, 3};
  CHECK(array_of(floats).dtype() == DType::float32);
  CHECK(array_of(std::span<const double>(doubles)).shape() == Shape{3});
  const Array rows = array_of(std::vector<std::vector<double>>{{1, 2}, {3, 4}, {5, 6}});
  CHECK(rows.shape() == Shape{3, 2});
  CHECK(rows.dtype() == DType::float64);
  CHECK(rows.values<double>()[5] == 6);
  CHECK(array_of(std::vector<std::vector<float>>{}).shape() == Shape{0, 0});
  CHECK(array_of(Ids::rows({{1, 2}, {3, -4}})).to_vector() == Numbers{1, 2, 3, -4});
  CHECK(array_of(Ids(), DType::float64).shape() == Shape{0});
  CHECK(message<ShapeError>([] {
          array_of(std::vector<std::vector<float>>{{1}, {2, 3}});
        }) == "array_of: lists of one axis must have one length; got 1 and 2. Pad the shorter ones");
}

TEST_CASE("creation: ranges and the identity") {
  CHECK(arange(4).to_vector() == Numbers{0, 1, 2, 3});
  CHECK(arange(2.5, DType::float64).to_vector() == Numbers{0, 1, 2});
  CHECK(arange(1, 2, 0.25).to_vector() == Numbers{1, 1.25, 1.5, 1.75});
  CHECK(arange(3, 0, -1).to_vector() == Numbers{3, 2, 1});
  CHECK(arange(3, 0).shape() == Shape{0});
  CHECK(linspace(0, 1, 5).to_vector() == Numbers{0, 0.25, 0.5, 0.75, 1});
  CHECK(linspace(2, -2, 2).to_vector() == Numbers{2, -2});
  CHECK(linspace(3, 7, 1).to_vector() == Numbers{3});
  CHECK(linspace(3, 7, 0).numel() == 0);
  const Array fine = linspace(0.1, 0.7, 1001, DType::float64);
  CHECK(fine.at({0}) == 0.1);
  CHECK(fine.at({1000}) == 0.7);
  CHECK(linspace(-1e308, 1e308, 3, DType::float64).to_vector() == Numbers{-1e308, 0, 1e308});
  CHECK(eye(2).to_vector() == Numbers{1, 0, 0, 1});
  CHECK(eye(2, 3, DType::float64).to_vector() == Numbers{1, 0, 0, 0, 1, 0});
  CHECK(eye(3, 1).to_vector() == Numbers{1, 0, 0});
  CHECK(eye(0).shape() == Shape{0, 0});

  CHECK(message<ValueError>([] { arange(0, 1, 0); }) == "arange: the step must not be 0; got begin 0, end 1");
  CHECK(message<ValueError>([] { arange(NAN); }) == "arange: bounds and step must be finite; got nan");
  CHECK(message<ShapeError>([] { arange(0, 1e300, 1e-300); }) == "arange: inf numbers are more than any memory holds; got step 1e-300");
  CHECK(message<ShapeError>([] { arange(1e15); }).starts_with("array: 1000000000000000 elements are more than any memory holds"));
  CHECK(message<ValueError>([] { linspace(0, 1, -1); }) == "linspace: the count must not be negative; got -1");
  CHECK(message<ValueError>([] { linspace(0, INFINITY, 3); }) == "linspace: bounds and step must be finite; got inf");
  CHECK(message<ShapeError>([] { eye(-1); }) == "shape: sizes must not be negative; got -1");
}

TEST_CASE("creation: numbers that stand elsewhere are used where they are, and let go with the last array") {
  static int released;
  released = 0;
  std::vector<float> storage{1, 2, 3, 4, 5, 6};
  {
    Array a = Array::adopt({2, 3}, storage.data(), &storage, [](void*) noexcept { ++released; });
    CHECK(a.data<float>() == storage.data());
    a.write<float>([](std::span<float> x) { x[0] = 10; });  // an only owner writes in place
    CHECK(storage[0] == 10);
    const Array row = a.rows(1, 2);
    const auto before = memory_stats().copies;
    a.write<float>([](std::span<float> x) { x[5] = 60; });  // a shared one copies, and lets go
    CHECK(memory_stats().copies == before + 1);
    CHECK(storage[5] == 6);
    CHECK(row.data<float>() == storage.data() + 3);
    CHECK(released == 0);
    a = Array();
    CHECK(released == 0);
  }
  CHECK(released == 1);
  CHECK(message<ShapeError>([&] {
          Array::adopt({Dim{1} << 45}, storage.data(), &storage, [](void*) noexcept { ++released; });
        }).starts_with("array: 35184372088832 elements are more than any memory holds"));
  CHECK(released == 1);
}

TEST_CASE("creation: adopted numbers need no alignment but their own") {
  Rng rng(1);
  const Array drawn = normal({17, 33}, 0, 1, rng);
  std::vector<float> storage(1 + 17 * 33);
  std::copy_n(drawn.data<float>(), drawn.numel(), storage.data() + 1);
  const Array odd = Array::adopt({17, 33}, storage.data() + 1, nullptr, [](void*) noexcept {});
  CHECK(reinterpret_cast<std::uintptr_t>(odd.data<float>()) % 16 != 0);
  const auto results = [](const Array& x) {
    Tape tape(Tape::no_dropout);
    const Tensor w = tape.watch(x);
    const Tensor y = matmul(softmax(gelu(w) * x + x), layer_norm(w), {.transpose_b = true});
    return std::vector<Array>{y.value(), tape.gradients(sum(y * y), {w})[0]};
  };
  const auto here = results(odd), there = results(drawn);
  CHECK(same_bits(here[0], there[0]));
  CHECK(same_bits(here[1], there[1]));
}

TEST_CASE("comparison: arrays that agree, and where they do not") {
  const Array a = array_of({{1, 2, 3}, {4, 5, 6}}), b = array_of({{1, 2.5, 3}, {4, 5, 8}});
  CHECK(compare(a, a).text == "all elements agree");
  CHECK(all_equal(a, array_of({{1, 2, 3}, {4, 5, 6}})));
  const Comparison found = compare(a, b);
  CHECK_FALSE(found);
  CHECK(found.differing == 2);
  CHECK(found.elements == 6);
  CHECK(found.first == std::vector<Dim>{0, 1});
  CHECK(found.worst == std::vector<Dim>{1, 2});
  CHECK(found.text == "2 of 6 elements differ: first [0, 1], 2 for 2.5; most [1, 2], 6 for 8 (by 2, relative 0.25)");
  CHECK(compare(a, b, {.rtol = 0.2}).differing == 1);
  CHECK(compare(a, b, {.atol = 2}).agree);
  CHECK_FALSE(all_close(a, b));
  CHECK(all_close(a, a.cast(DType::float64).cast(DType::float32)));

  CHECK(compare(a, a.reshape({3, 2})).text == "float32 [2, 3] is no float32 [3, 2]");
  CHECK(compare(a, a.cast(DType::float64)).text == "float32 [2, 3] is no float64 [2, 3]");
  CHECK(compare(Array(), a).text == "nothing is no float32 [2, 3]");
  CHECK(all_equal(Array(), Array()));
  CHECK(all_equal(Array::zeros({0, 2}), Array::zeros({0, 2})));
  CHECK(message<ValueError>([&] { all_close(a, b, {.rtol = -1}); }) == "compare: tolerances must not be negative; got rtol -1, atol 0");
}

TEST_CASE("comparison: NaN and infinities are close to nothing but their like") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Array odd = array_of({inf, -inf, nan, 0}), same = array_of({inf, -inf, nan, -0.0});
  CHECK(compare(odd, same).text == "1 of 4 elements differ: first [2], nan for nan; most [2], nan for nan (by nan, relative nan)");
  CHECK(compare(odd, same, {.equal_nan = true}));
  const CompareOptions wide{.rtol = 1e300, .atol = 1e300, .equal_nan = true};
  CHECK(compare(odd, array_of({-inf, -inf, nan, 0}), wide).differing == 1);
  CHECK(compare(odd, array_of({1, -inf, nan, 0}), wide).differing == 1);
  CHECK(compare(array_of({1}), array_of({inf}), wide).differing == 1);
  CHECK(compare(array_of({nan}), array_of({1}), wide).differing == 1);
  CHECK(compare(array_of({0, 5}), array_of({nan, 9}), {}).worst == std::vector<Dim>{0});
}
