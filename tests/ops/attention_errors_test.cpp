#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/attention.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "message.hpp"

using namespace tapeform;

namespace {

Array x(const Shape& shape, DType dtype = DType::float32) { return Array::zeros(shape, dtype); }

}  // namespace

TEST_CASE("attention: heads that do not divide the width list those that do") {
  CHECK(message<ShapeError>([] {
          attention(x({1, 2, 10}), x({1, 2, 10}), x({1, 2, 10}), {.heads = 3});
        }) == "attention: the number of heads must divide the width; got 3 heads, width 10 of q and k. Counts that do: 1, 2, 5, 10");
  CHECK(message<ShapeError>([] {
          attention(x({1, 2, 4}), x({1, 2, 4}), x({1, 2, 6}), {.heads = 4});
        }) == "attention: the number of heads must divide the width; got 4 heads, width 6 of v. Counts that do: 1, 2, 3, 6");
  CHECK(message<ShapeError>([] {
          attention_qkv(x({1, 2, 12}), {.heads = 0});
        }) == "attention_qkv: the number of heads must divide the width; got 0 heads, width 4 of q and k. Counts that do: 1, 2, 4");
  CHECK(message<ShapeError>([] { attention_qkv(x({1, 2, 12}), {.heads = -1}); }).starts_with("attention_qkv: the number of heads"));
  CHECK(message<ShapeError>([] { attention_kv(x({1, 2, 2}), x({1, 2, 4}), {.heads = 8}); }).ends_with("Counts that do: 1, 2"));
}

TEST_CASE("attention: shapes that do not fit each other") {
  CHECK(message<ShapeError>([] { attention(x({2, 4}), x({2, 4}), x({2, 4})); }) == "attention: q must be [B, T, width]; got q [2, 4]");
  CHECK(message<ShapeError>([] {
          attention(x({1, 2, 4}), x({1, 2, 4}), x({1, 2, 4}), {.q_lens = {2}, .k_lens = {2}});
        }) == "attention: q must be packed rows [N, width]; got q [1, 2, 4]");
  CHECK(message<ShapeError>([] {
          attention(x({1, 2, 4}), x({1, 2, 6}), x({1, 2, 4}));
        }) == "attention: q and k must have one width; got q [1, 2, 4], k [1, 2, 6]");
  CHECK(message<ShapeError>([] {
          attention(x({1, 2, 4}), x({1, 3, 4}), x({1, 2, 4}));
        }) == "attention: k and v must have the same rows; got k [1, 3, 4], v [1, 2, 4]");
  CHECK(message<ShapeError>([] {
          attention(x({2, 2, 4}), x({3, 2, 4}), x({3, 2, 4}));
        }) == "attention: batches must agree; got q [2, 2, 4], k [3, 2, 4]");
  CHECK(message<ShapeError>([] {
          attention_qkv(x({1, 2, 4}));
        }) == "attention_qkv: the width must be three times that of q; got qkv [1, 2, 4]");
  CHECK(message<ShapeError>([] {
          attention_kv(x({1, 2, 4}), x({1, 2, 4}));
        }) == "attention_kv: kv must be twice as wide as q; got q [1, 2, 4], kv [1, 2, 4]");
  CHECK(message<ValueError>([] { attention(Tensor(), x({1, 2, 4}), x({1, 2, 4})); }) == "attention: q holds nothing");
}

TEST_CASE("attention: dtypes are never mixed") {
  const Array wide = x({1, 2, 4}, DType::float64), narrow = x({1, 2, 4});
  CHECK(message<DTypeError>([&] { attention(narrow, wide, wide); }) ==
        "attention: dtypes must agree; got k float64, the first input float32. Use cast()");
  CHECK(message<DTypeError>([&] {
          attention(narrow, narrow, narrow, {.bias = x({2, 2}, DType::float64)});
        }) == "attention: dtypes must agree; got bias float64, q float32. Use cast()");
}

TEST_CASE("attention: a bias that does not fit, and one of rank 3, which could mean two things") {
  const Array q = x({2, 3, 4});
  for (const Shape& shape : {Shape{3, 4}, Shape{2, 3, 3}, Shape{3}, Shape{3, 1, 3, 3}})
    CHECK(message<ShapeError>([&] { attention(q, q, q, {.heads = 2, .bias = x(shape)}); }) ==
          "attention: a bias is [Tq or 1, Tk or 1] or [B or 1, H or 1, Tq or 1, Tk or 1]; got bias " + shape.str() +
              ", scores [2, 2, 3, 3]. One table a head is [1, H, Tq, Tk], one a sample [B, 1, Tq, Tk]");
}

TEST_CASE("attention: dropout and scale within their ranges") {
  const Array q = x({1, 2, 4});
  CHECK(message<ValueError>([&] { attention(q, q, q, {.dropout = 1.5}); }) == "attention: dropout must be from 0 to 1; got 1.5");
  CHECK_THROWS_AS(attention(q, q, q, {.dropout = -0.1}), ValueError);
  CHECK_THROWS_AS(attention(q, q, q, {.dropout = std::numeric_limits<double>::quiet_NaN()}), ValueError);
  CHECK(message<ValueError>([&] { attention(q, q, q, {.scale = std::numeric_limits<double>::infinity()}); }) ==
        "attention: the scale must be finite; got inf");
  Tape tape;
  CHECK_THROWS_AS(attention(q, q, q, {.dropout = 0.5}), TapeError);
  CHECK_NOTHROW(attention(q, q, q, {.dropout = 0}));
}

TEST_CASE("attention: lengths of packed rows") {
  const Array rows = x({5, 4});
  CHECK(message<ShapeError>([&] {
          attention(rows, rows, rows, {.q_lens = {2, 3}});
        }) == "attention: q_lens and k_lens are [B], both given or neither; got [2] and [0]");
  CHECK(message<ShapeError>([&] {
          attention(rows, rows, rows, {.q_lens = {2, 2}, .k_lens = {2, 3}});
        }) == "attention: q_lens must add up to the packed rows; got a sum of 4, 5 rows");
  CHECK(message<ValueError>([&] {
          attention(rows, rows, rows, {.q_lens = {2, 3}, .k_lens = {-1, 6}});
        }) == "attention: k_lens must be from 0 to 6; got -1 for sample 0");
  CHECK(message<ValueError>([&] {
          attention(rows, rows, rows, {.q_lens = {2, 3}, .k_lens = {2, 3}, .q_time = 2});
        }) == "attention: q_lens must be from 0 to 2; got 3 for sample 1");
  CHECK(message<ShapeError>([&] {
          attention_qkv(x({5, 12}), {.q_lens = {2, 3}, .k_lens = {3, 2}});
        }) == "attention_qkv: queries are the keys, so q_lens must equal k_lens; they differ");
}

TEST_CASE("attention: masks are checked against the scores") {
  const Array q = x({2, 3, 4}), k = x({2, 5, 4});
  CHECK(message<ValueError>([&] {
          attention(q, k, k, {.mask = Mask::valid_lens({5, 6})});
        }) == "attention: a valid length may not exceed the 5 keys; got 6 for sample 1");
  CHECK(message<ShapeError>([&] {
          attention(q, k, k, {.mask = Mask::valid_lens({5, 5, 5})});
        }) == "attention: valid lengths must be [B], one a sample; got lengths [3], scores [2, 1, 3, 5]");
  CHECK(message<ShapeError>([&] {
          attention(q, k, k, {.heads = 2, .mask = Mask::allow(std::vector<bool>(30), {2, 1, 5, 3})});
        }).starts_with("attention: the mask must fit the scores [B, H, Tq, Tk]; got mask [2, 1, 5, 3], scores [2, 2, 3, 5]"));
}
