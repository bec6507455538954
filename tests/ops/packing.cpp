#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/packing.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "products_testing.hpp"

using namespace products_testing;

namespace {

const DType f64 = DType::float64;

// The rows of x [B, T, ..] from lens[b] on, NaN.
Array spoiled(Array x, const Ids& lens) {
  const Dim width = x.shape().numel(2, x.rank()), length = x.dim(1);
  x.write<double>([&](std::span<double> v) {
    for (Dim b = 0; b < lens.numel(); ++b)
      for (Dim i = (b * length + lens[b]) * width; i < (b + 1) * length * width; ++i)
        v[static_cast<std::size_t>(i)] = std::numeric_limits<double>::quiet_NaN();
  });
  return x;
}

}  // namespace

TEST_CASE("pack_rows and unpack_rows are inverse on valid rows, for lengths 0 to T") {
  for (const Shape& rest : {Shape{}, Shape{1}, Shape{7}, Shape{2, 9}}) {
    Shape shape{4, 5};
    for (const Dim size : rest.sizes()) shape.push_back(size);
    const Ids lens{3, 0, 5, 1};
    const Array x = numbers(shape, 1), packed = pack_rows(spoiled(x, lens), lens).value();
    CHECK(packed.dim(0) == 9);
    CHECK(same_bits(packed.rows(0, 3), x.rows(0, 1).reshape(packed.rows(0, 5).shape()).rows(0, 3)));
    CHECK(same_bits(packed.rows(3, 8), x.rows(2, 3).reshape(packed.rows(3, 8).shape())));
    const Array back = unpack_rows(packed, lens, 5).value();
    CHECK(back.shape() == shape);
    CHECK(same_bits(pack_rows(back, lens).value(), packed));
    const Dim width = rest.numel();
    const std::vector<double> all = back.to_vector();
    for (Dim b = 0; b < 4; ++b)
      for (Dim i = (b * 5 + lens[b]) * width; i < (b + 1) * 5 * width; ++i) CHECK(all[static_cast<std::size_t>(i)] == 0);
  }
  CHECK(pack_rows(numbers({2, 3, 4}, 1), {0, 0}).shape() == Shape{0, 4});
  CHECK(same_bits(unpack_rows(numbers({0, 4}, 1), {0, 0}, 3).value(), Array::zeros({2, 3, 4}, f64)));
}

TEST_CASE("packing: gradcheck") {
  const Ids lens{2, 0, 3};
  CHECK(gradcheck([&](const Tensor& x) { return pack_rows(x, lens); }, {numbers({3, 3, 5}, 1)}).ok(1e-11));
  CHECK(gradcheck([&](const Tensor& x) { return unpack_rows(x, lens, 4); }, {numbers({5, 2, 3}, 1)}).ok(1e-11));
  const Ids keep = Ids::rows({{1, 0, 1}, {0, 0, 1}});
  CHECK(gradcheck([&](const Tensor& x) { return keep_rows(x, keep); }, {numbers({2, 3, 4}, 1)}).ok(1e-11));
}

TEST_CASE("rows that are left out reach neither value nor gradient, NaN included") {
  const Ids lens{2, 1}, keep = Ids::rows({{1, 1, 0}, {1, 0, 0}});
  const Array x = numbers({2, 3, 4}, 1), nan = spoiled(x, lens);
  Tape tape;
  const Tensor t = tape.watch(nan);
  const Tensor kept = keep_rows(t, keep), packed = pack_rows(t, lens), padded = unpack_rows(packed, lens, 3);
  CHECK(same_bits(kept.value(), padded.value()));
  const Array ones = Array::ones({2, 3, 4}, f64);
  const Array dx = tape.gradients(kept, {t}, spoiled(ones, lens), {.keep = true})[0];
  CHECK(same_bits(dx, keep_rows(ones, keep).value()));
  CHECK(same_bits(tape.gradients(padded, {t}, spoiled(ones, lens))[0], dx));
}

TEST_CASE("packing: errors name shapes, values and the sample") {
  const Array x = numbers({2, 3, 4}, 1);
  CHECK(message<ShapeError>([&] {
          pack_rows(x, {1, 2, 3});
        }) == "pack_rows: x must be [B, T, ...] and lens [B]; got x [2, 3, 4], lens [3]");
  CHECK(message<ValueError>([&] { pack_rows(x, {1, 4}); }) == "pack_rows: lengths must lie in [0, 3]; got 4 for sample 1");
  CHECK(message<ValueError>([&] { pack_rows(x, {-1, 3}); }) == "pack_rows: lengths must lie in [0, 3]; got -1 for sample 0");
  CHECK(message<ShapeError>([&] {
          unpack_rows(numbers({4, 2}, 1), {2, 3}, 3);
        }) == "unpack_rows: x must have as many rows as lens add up to, 5; got x [4, 2], lens [2]. Give the lens that pack_rows was given");
  CHECK(message<ValueError>([&] {
          unpack_rows(numbers({5, 2}, 1), {2, 3}, 2);
        }) == "unpack_rows: lengths must lie in [0, 2]; got 3 for sample 1");
  CHECK(message<ShapeError>([&] {
          keep_rows(x, {1, 0});
        }) == "keep_rows: x must be [B, T, ...] and keep [B, T]; got x [2, 3, 4], keep [2]");
  CHECK(message<ValueError>([&] { keep_rows(x, Ids::rows({{1, 0, 2}, {1, 1, 1}})); }) == "keep_rows: keep must hold 0 and 1 only; got 2");
}

TEST_CASE("packing: the same bits with 1 and 2 threads, where work is split") {
  const Array x = numbers({64, 33, 65}, 1, DType::float32);
  Ids lens = Ids::full({64}, 0), keep = Ids::full({64, 33}, 1);
  lens.write([](std::span<std::int64_t> v) {
    for (std::size_t b = 0; b < v.size(); ++b) v[b] = static_cast<std::int64_t>(b * 7 % 34);
  });
  CHECK(same_with_two_threads([&] {
    const Array packed = pack_rows(x, lens).value();
    return std::vector<Array>{packed, unpack_rows(packed, lens, 33).value(), keep_rows(x, keep).value()};
  }));
}
