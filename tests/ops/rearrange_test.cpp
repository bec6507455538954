#include <functional>
#include <numeric>
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

const DType f64 = DType::float64;

Array counted(const Shape& shape, DType dtype = f64) {
  Numbers values(static_cast<std::size_t>(shape.numel()));
  std::iota(values.begin(), values.end(), 0.0);
  return Array::of(shape, std::span<const double>(values)).cast(dtype);
}

template <class F>
void check_gradient(const Shape& shape, F f) {
  const auto report = gradcheck(f, {random(shape, 1)});
  INFO(report.str());
  CHECK(report.ok(1e-11));
}

Array gradient(const std::function<Tensor(const Tensor&)>& f, const Array& x, const Array& dy = {}) {
  Tape tape;
  const Tensor watched = tape.watch(x);
  const Tensor y = f(watched);
  return tape.gradients(y, {watched}, dy ? dy : Array::ones(y.shape(), x.dtype()))[0];
}

}  // namespace

TEST_CASE("squeeze and unsqueeze: axes of size 1 go and come, without a copy") {
  const Array x = counted({1, 3, 1, 4});
  CHECK(squeeze(x, 0).shape() == Shape{3, 1, 4});
  CHECK(squeeze(x, -2).shape() == Shape{1, 3, 4});
  CHECK(squeeze(x, {0, 2}).shape() == Shape{3, 4});
  CHECK(squeeze(x, {}).shape() == x.shape());
  CHECK(squeeze(x, {0, 2}).value().shares_buffer_with(x));
  CHECK(squeeze(Array::ones({1}), 0).shape() == Shape{});
  for (int axis = -5; axis <= 4; ++axis) {
    const Tensor y = unsqueeze(x, axis);
    CHECK(y.rank() == 5);
    CHECK(y.dim(axis < 0 ? axis + 5 : axis) == 1);
    CHECK(same_bits(squeeze(y, axis).value(), x));
  }
  CHECK(unsqueeze(Array::ones({}), 0).shape() == Shape{1});
  CHECK(unsqueeze(Array({0, 2}), 1).shape() == Shape{0, 1, 2});
  check_gradient({2, 1, 3}, [](const Tensor& t) { return squeeze(t, 1) * squeeze(t, {1}); });
  check_gradient({2, 3}, [](const Tensor& t) { return unsqueeze(t, 1) * t; });
  CHECK(message<ShapeError>([&] { squeeze(x, 1); }) == "squeeze: an axis must have size 1 to go; got x [1, 3, 1, 4], axis 1");
  CHECK(message<ShapeError>([&] { squeeze(x, 4); }) == "squeeze: axis 4 is not there; got x [1, 3, 1, 4]. Axes run from -4 to 3");
  CHECK(message<ShapeError>([&] { squeeze(x, {0, -4}); }) == "squeeze: axis 0 is given twice; got x [1, 3, 1, 4]. Name each axis once");
  CHECK(message<ShapeError>([&] { unsqueeze(x, 5); }) == "unsqueeze: the new axis must be from -5 to 4; got axis 5, x [1, 3, 1, 4]");
  CHECK(message<ShapeError>([&] {
          unsqueeze(Array::ones({1, 1, 1, 1, 1, 1, 1, 1}), 0);
        }) == "unsqueeze: at most 8 axes; got x [1, 1, 1, 1, 1, 1, 1, 1]");
}

TEST_CASE("split: parts of one size or of several; together they are x again") {
  const Array x = counted({2, 7, 3});
  for (int axis = -3; axis < 3; ++axis)
    for (const Dim size : {1, 2, 3, 7, 8}) {
      const std::vector<Tensor> parts = split(x, size, axis);
      CHECK(static_cast<Dim>(parts.size()) == (x.dim(axis) + size - 1) / size);
      CHECK(same_bits(concat(parts, axis).value(), x));
    }
  const std::vector<Tensor> parts = split(x, {3, 0, 4}, 1);
  REQUIRE(parts.size() == 3);
  CHECK(parts[1].shape() == Shape{2, 0, 3});
  CHECK(same_bits(concat(parts, 1).value(), x));
  CHECK(split(x, {2}).size() == 1);  // sizes, not a size
  CHECK(split(Array({0, 2}), 3)[0].shape() == Shape{0, 2});
  CHECK(split(Array({0, 2}), std::initializer_list<Dim>{}).empty());
  CHECK(split(x, 1)[0].value().shares_buffer_with(x));  // the leading axis
  check_gradient({3, 5}, [](const Tensor& t) {
    const auto part = split(t, {2, 2, 1}, 1);
    return concat({part[0] * part[1], part[0]}, 0);
  });
  CHECK(message<ShapeError>([&] { split(x, 0, 1); }) == "split: the size of a part must be at least 1; got 0, x [2, 7, 3]");
  CHECK(message<ShapeError>([&] { split(x, {3, 3}, 1); }) == "split: sizes must add up to 7, axis 1 of x; got sizes [3, 3], x [2, 7, 3]");
  CHECK(message<ShapeError>([&] {
          split(x, {8, -1}, -2);
        }) == "split: sizes must add up to 7, axis -2 of x; got sizes [8, -1], x [2, 7, 3]");
  CHECK(message<ShapeError>([&] { split(x, 1, 3); }) == "split: axis 3 is not there; got x [2, 7, 3]. Axes run from -3 to 2");
}

TEST_CASE("stack: a new axis at every place") {
  const Array a = counted({2, 3}), b = random({2, 3}, 2);
  for (int axis = -3; axis < 3; ++axis) {
    const Tensor y = stack({a, b, a}, axis);
    CHECK(y.dim(axis) == 3);
    CHECK(same_bits(squeeze(slice(y, axis, 1, 2), axis).value(), b));
    CHECK(same_bits(squeeze(slice(y, axis, 2, 3), axis).value(), a));
  }
  CHECK(stack({Array::of({}, {1}), Array::of({}, {2})}).value().to_vector() == Numbers{1, 2});
  const auto report = gradcheck([](const Tensor& p, const Tensor& q) { return stack({p, q, p}, 1); }, {a, b});
  CHECK(report.ok(1e-11));
  CHECK(message<ShapeError>([] { stack(std::vector<Tensor>{}); }) == "stack: at least one tensor; got none");
  CHECK(message<ShapeError>([&] { stack({a, random({3}, 1)}); }) == "stack: shapes must agree; got [2, 3] and [3]");
  CHECK(message<DTypeError>([&] {
          stack({a, b.cast(DType::float32)});
        }) == "stack: dtypes must agree; got float64 and float32. Use cast()");
  CHECK(message<ShapeError>([&] { stack({a, b}, 3); }) == "stack: the new axis must be from -3 to 2; got axis 3, x [2, 3]");
}

TEST_CASE("broadcast_to: axes of size 1 and new ones; what was repeated is summed") {
  CHECK(broadcast_to(counted({3, 1}), {2, 3, 2}).value().to_vector() == Numbers{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2});
  CHECK(broadcast_to(Array::of({}, {7}), {2, 2}).value().to_vector() == Numbers(4, 7));
  CHECK(broadcast_to(Array::ones({1, 3}), {0, 3}).shape() == Shape{0, 3});
  CHECK(gradient([](const Tensor& t) { return broadcast_to(t, {0, 3}); }, Array::ones({1, 3}, f64)).to_vector() == Numbers(3, 0));
  CHECK(gradient([](const Tensor& t) { return broadcast_to(t, {4, 3}); }, counted({3})).to_vector() == Numbers(3, 4));
  check_gradient({3, 1, 2}, [](const Tensor& t) { return broadcast_to(t, {2, 3, 5, 2}); });
  check_gradient({1, 2, 1, 1, 2, 1, 1, 2}, [](const Tensor& t) { return broadcast_to(t, {2, 2, 1, 3, 2, 1, 2, 2}); });
  const Tensor x = Array::ones({2, 3});
  CHECK(message<ShapeError>([&] {
          broadcast_to(x, {3, 3});
        }) == "broadcast_to: aligned at the last axis, each size of x must be the shape's or 1; got x [2, 3], shape [3, 3]");
  CHECK(message<ShapeError>([&] { broadcast_to(x, {3}); }) ==
        "broadcast_to: aligned at the last axis, each size of x must be the shape's or 1; got x [2, 3], shape [3]");
}

TEST_CASE("repeat: whole, along any axes; repeat_interleave: each index in a row") {
  CHECK(repeat(counted({2}), {2}).value().to_vector() == Numbers{0, 1, 0, 1});
  CHECK(repeat(counted({2, 2}), {2, 2}).value().to_vector() == Numbers{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3});
  CHECK(repeat(counted({2}), {2, 1}).shape() == Shape{2, 2});
  CHECK(repeat(Array::of({}, {3}), {2}).value().to_vector() == Numbers{3, 3});
  CHECK(repeat(counted({2, 3}), {0, 2}).shape() == Shape{0, 6});
  CHECK(repeat(counted({1, 1, 1, 1, 1, 1, 1, 2}), {1, 2, 1, 2, 1, 1, 1, 2}).shape() == Shape{1, 2, 1, 2, 1, 1, 1, 4});
  CHECK(repeat_interleave(counted({2}), 2, 0).value().to_vector() == Numbers{0, 0, 1, 1});
  CHECK(repeat_interleave(counted({2, 2}), 2, 0).value().to_vector() == Numbers{0, 1, 0, 1, 2, 3, 2, 3});
  CHECK(repeat_interleave(counted({2, 2}), 0, 1).shape() == Shape{2, 0});
  check_gradient({2, 3}, [](const Tensor& t) { return repeat(t, {2, 1, 3}); });
  check_gradient({2, 3, 2}, [](const Tensor& t) { return repeat_interleave(t, 3, 1); });
  CHECK(gradient([](const Tensor& t) { return repeat(t, {0}); }, counted({3})).to_vector() == Numbers(3, 0));
  const Tensor x = Array::ones({2, 3});
  CHECK(message<ShapeError>([&] { repeat(x, {2}); }) ==
        "repeat: one count for each axis of x, and for new leading ones up to 8; got counts [2], x [2, 3]");
  CHECK(message<ShapeError>([&] {
          repeat(x, {2, -1});
        }) == "repeat: 0 or more times, and a size that fits 63 bits; got size 3 times -1, x [2, 3]");
  CHECK(message<ShapeError>([&] { repeat_interleave(x, -1, 0); }) ==
        "repeat_interleave: 0 or more times, and a size that fits 63 bits; got size 2 times -1, x [2, 3]");
  CHECK(message<ShapeError>([&] {
          repeat(x, {1, INT64_MAX});
        }) == "repeat: 0 or more times, and a size that fits 63 bits; got size 3 times 9223372036854775807, x [2, 3]");
  CHECK_THROWS_AS(repeat(x, {INT64_MAX / 2, 1}), ShapeError);  // an axis that fits, an array that does not
  CHECK(message<ShapeError>([&] { repeat_interleave(x, 2, 2); }) ==
        "repeat_interleave: axis 2 is not there; got x [2, 3]. Axes run from -2 to 1");
}

// Grouped heads as a user writes them: the attention op has as many key and value heads as query heads.
TEST_CASE("MA-36: key and value heads are repeated in a row, so groups of query heads share one", "[case]") {
  const Array heads = Array::of({1, 3, 2, 1}, {1, 2, 1, 2, 1, 2}, f64);                       // [B, Tk, Hkv, d]
  const Tensor v = reshape(repeat_interleave(heads, 2, 2), {1, 3, 4});                        // [B, Tk, Hq·d]
  const Tensor out = attention(random({1, 2, 4}, 1), random({1, 3, 4}, 2), v, {.heads = 4});  // [B, Tq, Hq·d]
  const Numbers right{1, 1, 2, 2, 1, 1, 2, 2};
  CHECK(numbers::distance(out.value(), right) < 1e-15);
  CHECK(repeat(heads, {1, 1, 2, 1}).value().rows(0, 1).to_vector() == Numbers{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2});  // would be wrong
}

TEST_CASE("pad: before and after, any axis, any value") {
  const Array x = counted({2, 2});
  CHECK(pad(x, 0, 1, 0).value().to_vector() == Numbers{0, 0, 0, 1, 2, 3});
  CHECK(pad(x, -1, 1, 2, {.value = 9}).value().to_vector() == Numbers{9, 0, 1, 9, 9, 9, 2, 3, 9, 9});
  CHECK(pad(Array({0}), 0, 1, 1, {.value = 5}).value().to_vector() == Numbers{5, 5});
  CHECK(same_bits(pad(x, 1, 0, 0).value(), x));
  CHECK(pad(x, 0, 0, 1, {.value = -inf}).value().at({2, 1}) == -inf);
  for (int axis = 0; axis < 3; ++axis) check_gradient({2, 3, 2}, [axis](const Tensor& t) { return pad(t, axis, 1, 2, {.value = 0.5}); });
  CHECK(message<ShapeError>([&] { pad(x, 0, -1, 0); }) ==
        "pad: 0 or more indices, and a size that fits 63 bits; got -1 before and 0 after axis 0 of x [2, 2]");
  CHECK(message<ShapeError>([&] { pad(x, -1, 0, INT64_MAX); }) ==
        "pad: 0 or more indices, and a size that fits 63 bits; got 0 before and 9223372036854775807 after axis -1 of x [2, 2]");
  CHECK_THROWS_AS(pad(x, 0, 0, -2), ShapeError);
  CHECK(message<ShapeError>([&] { pad(x, 2, 0, 1); }) == "pad: axis 2 is not there; got x [2, 2]. Axes run from -2 to 1");
}

TEST_CASE("flip: any axes, and back") {
  const Array x = counted({2, 3});
  CHECK(flip(x, {0}).value().to_vector() == Numbers{3, 4, 5, 0, 1, 2});
  CHECK(flip(x, {-1}).value().to_vector() == Numbers{2, 1, 0, 5, 4, 3});
  CHECK(flip(x, {0, 1}).value().to_vector() == Numbers{5, 4, 3, 2, 1, 0});
  CHECK(same_bits(flip(x, {}).value(), x));
  CHECK(flip(Array({3, 0}), {1, 0}).shape() == Shape{3, 0});
  for (const DType dtype : {DType::float32, f64}) {
    const Array box = random({2, 3, 2, 17}, 1, dtype);
    for (int axis = 0; axis < 4; ++axis)
      CHECK(same_bits(flip(flip(box, {axis, 1 - axis % 2 + 2 * (axis / 2)}), {axis, 1 - axis % 2 + 2 * (axis / 2)}).value(), box));
  }
  check_gradient({2, 3, 4}, [](const Tensor& t) { return flip(t, {0, 2}); });
  CHECK(gradient([](const Tensor& t) { return flip(t, {0}); }, counted({3}), Array::of({3}, {1, 2, 3}, f64)).to_vector() ==
        Numbers{3, 2, 1});
  CHECK(message<ShapeError>([&] { flip(x, {2}); }) == "flip: axis 2 is not there; got x [2, 3]. Axes run from -2 to 1");
  CHECK(message<ShapeError>([&] { flip(x, {1, -1}); }) == "flip: axis 1 is given twice; got x [2, 3]. Name each axis once");
}

TEST_CASE("slice with a step: every range and step of every axis, by definition") {
  const Array x = counted({3, 7, 2});
  for (int axis = 0; axis < 3; ++axis)
    for (Dim begin = 0; begin <= x.dim(axis); ++begin)
      for (Dim end = begin; end <= x.dim(axis); ++end)
        for (const Dim step : {1, 2, 3, 100, -1, -2, -3, -100}) {
          std::vector<Dim> indices;
          if (step > 0)
            for (Dim i = begin; i < end; i += step) indices.push_back(i);
          else
            for (Dim i = end - 1; i >= begin; i += step) indices.push_back(i);
          const Array y = slice(x, axis, begin, end, step).value();
          REQUIRE(y.dim(axis) == static_cast<Dim>(indices.size()));
          for (std::size_t i = 0; i < indices.size(); ++i) {
            const Dim at = static_cast<Dim>(i);
            REQUIRE(same_bits(slice(y, axis, at, at + 1).value(), slice(x, axis, indices[i], indices[i] + 1).value()));
          }
        }
  CHECK(slice(counted({9}), 0, 3, 8, 2).value().to_vector() == Numbers{3, 5, 7});
  CHECK(slice(counted({9}), 0, 3, 8, -2).value().to_vector() == Numbers{7, 5, 3});
  CHECK(slice(counted({3}), 0, 0, 3, INT64_MIN).value().to_vector() == Numbers{2});
  CHECK(slice(counted({3}), 0, 0, 3, INT64_MAX).value().to_vector() == Numbers{0});
  check_gradient({3, 7}, [](const Tensor& t) { return slice(t, 1, 1, 7, 2); });
  check_gradient({7, 3}, [](const Tensor& t) { return slice(t, 0, 0, 6, -3); });
  CHECK(message<ValueError>([&] { slice(x, 1, 0, 4, 0); }) == "slice: the step must not be 0; got [0, 4) of axis 1, x [3, 7, 2]");
  CHECK(message<ShapeError>([&] { slice(x, 1, 3, 8, 2); }) == "slice: [3, 8) must lie within axis 1 of size 7; got x [3, 7, 2]");
}

TEST_CASE("AG-15: slices with steps that overlap add", "[case]") {
  const auto both = [](const Tensor& x) { return concat({slice(x, 0, 0, 5, 2), slice(x, 0, 0, 3, -1)}, 0); };
  CHECK(gradient(both, counted({5}), counted({6})).to_vector() == Numbers{0 + 5, 4, 1 + 3, 0, 2});
}

TEST_CASE("AG-14: a reversed and a repeated operand of a product", "[case]") {
  const Tensor x = Array::of({3}, {1, 2, 3}, f64), ones = Array::ones({3, 1}, f64);
  CHECK(matmul(broadcast_to(x, {4, 3}), ones).value().to_vector() == Numbers(4, 6));
  CHECK(gradient([&](const Tensor& t) { return matmul(broadcast_to(t, {4, 3}), ones); }, x.value()).to_vector() == Numbers(3, 4));
  const Tensor table = counted({2, 3});
  CHECK(matmul(flip(table, {0}), flip(ones, {0})).value().to_vector() == Numbers{12, 3});
}

TEST_CASE("tril and triu: every diagonal; what is cut off is not read") {
  const Array x = random({2, 3, 4}, 1);
  for (Dim diagonal = -5; diagonal <= 5; ++diagonal) {
    const Array lower = tril(x, diagonal).value(), upper = triu(x, diagonal).value();
    for (Dim b = 0; b < 2; ++b)
      for (Dim i = 0; i < 3; ++i)
        for (Dim j = 0; j < 4; ++j) {
          REQUIRE(lower.at({b, i, j}) == (j - i <= diagonal ? x.at({b, i, j}) : 0));
          REQUIRE(upper.at({b, i, j}) == (j - i >= diagonal ? x.at({b, i, j}) : 0));
        }
  }
  CHECK(same_bits(tril(x, INT64_MAX).value(), x));
  CHECK(same_bits(triu(x, INT64_MIN).value(), x));
  CHECK(tril(Array::of({2, 2}, {1, numbers::nan, 2, 3})).value().to_vector() == Numbers{1, 0, 2, 3});
  CHECK(
      gradient([](const Tensor& t) { return triu(t, 1); }, counted({2, 2}), Array::of({2, 2}, {1, 2, numbers::nan, 4}, f64)).to_vector() ==
      Numbers{0, 2, 0, 0});
  CHECK(tril(Array({2, 0, 3})).shape() == Shape{2, 0, 3});
  CHECK(triu(Array({2, 3, 0})).shape() == Shape{2, 3, 0});
  check_gradient({2, 3, 4}, [](const Tensor& t) { return tril(t, -1); });
  check_gradient({4, 3}, [](const Tensor& t) { return triu(t, 1); });
  CHECK(message<ShapeError>([] { tril(Array::ones({3})); }) == "tril: x must have two axes or more; got x [3]");
  CHECK(message<ShapeError>([] { triu(Array::ones({})); }) == "triu: x must have two axes or more; got x []");
}

TEST_CASE("rearranging: every op says which of its inputs holds nothing") {
  const Tensor none, x = Array::ones({2, 2});
  const std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"squeeze: x", [&] { squeeze(none, 0); }},
      {"unsqueeze: x", [&] { unsqueeze(none, 0); }},
      {"split: x", [&] { split(none, 1); }},
      {"split: x", [&] { split(none, {1}); }},
      {"stack: a part",
       [&] {
         stack({x, none});
       }},
      {"broadcast_to: x", [&] { broadcast_to(none, {1}); }},
      {"repeat: x", [&] { repeat(none, {1}); }},
      {"repeat_interleave: x", [&] { repeat_interleave(none, 1, 0); }},
      {"pad: x", [&] { pad(none, 0, 1, 1); }},
      {"flip: x", [&] { flip(none, {0}); }},
      {"slice: x", [&] { slice(none, 0, 0, 1, 2); }},
      {"tril: x", [&] { tril(none); }},
      {"triu: x", [&] { triu(none); }},
  };
  for (const auto& [input, call] : calls) CHECK_THAT(message<ValueError>(call), Catch::Matchers::StartsWith(input + " holds nothing"));
}

TEST_CASE("rearranging: the same bits with 1 and 2 threads") {
  const Array x = random({300, 7, 66}, 1, DType::float32);
  CHECK(numbers::same_on_two_threads([&] {
    return std::vector<Array>{
        flip(x, {0, 2}).value(), tril(x, 3).value(), repeat(x, {1, 2, 1}).value(),
        gradient([](const Tensor& t) { return slice(t, 2, 0, 66, -3); }, x),
        gradient([](const Tensor& t) { return repeat_interleave(t, 2, 1); }, x, random({300, 14, 66}, 2, DType::float32))};
  }));
}
