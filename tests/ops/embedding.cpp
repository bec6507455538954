#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/embedding.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/parameter.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "products_testing.hpp"

using namespace products_testing;

namespace {

const DType f64 = DType::float64;

Ids random_ids(const Shape& shape, Dim below) {
  Ids ids = Ids::full(shape, 0);
  std::uint32_t state = 5;
  ids.write([&](std::span<std::int64_t> values) {
    for (std::int64_t& id : values) {
      state = state * 1664525u + 1013904223u;
      id = (state >> 16) % below;
    }
  });
  return ids;
}

Array gradient(const Array& weight, const Ids& ids, const Array& dy, EmbeddingOptions options = {}) {
  Tape tape;
  const Tensor w = tape.watch(weight);
  return tape.gradients(embedding(w, ids, options), {w}, dy)[0];
}

}  // namespace

TEST_CASE("embedding: rows of the table under the ids' shape, for every width") {
  for (const Dim width : {0, 1, 7, 8, 9, 17, 33, 65}) {
    const Array weight = numbers({6, width}, 1, DType::float32);
    const Ids ids = Ids::rows({{5, 0, 3}, {3, 3, 1}});
    const Array y = embedding(weight, ids).value();
    CHECK(y.shape() == Shape{2, 3, width});
    for (Dim i = 0; i < 6; ++i) CHECK(same_bits(y.reshape({6, width}).rows(i, i + 1), weight.rows(ids[i], ids[i] + 1)));
  }
  CHECK(embedding(numbers({6, 4}, 1), Ids::full({0}, 0)).shape() == Shape{0, 4});
  CHECK(embedding(numbers({6, 4}, 1), Ids::full({}, 2)).shape() == Shape{4});
}

TEST_CASE("embedding: gradcheck, with padding and a tied head") {
  const Ids ids = Ids::rows({{1, 4, 1}, {0, 2, 1}});
  CHECK(gradcheck([&](const Tensor& w) { return embedding(w, ids); }, {numbers({5, 9}, 1)}).ok(1e-11));
  CHECK(gradcheck([&](const Tensor& w) { return linear(embedding(w, ids), w); }, {numbers({5, 9}, 1)}).ok(1e-11));
}

TEST_CASE("AG-17: a repeated id adds to its row, in order", "[case]") {
  const Array dw = gradient(Array::of({1, 1}, {.1}, f64), {0, 0}, Array::of({2, 1}, {.2, .3}, f64));
  CHECK(dw.item() == .2 + .3);
}

TEST_CASE("AG-19: the padding row gets no gradient", "[case]") {
  const Array dw = gradient(numbers({10, 5}, 1), {0, 1, 1, 0, 3}, Array::ones({5, 5}, f64), {.padding_id = 0});
  for (Dim row = 0; row < 10; ++row)
    for (Dim column = 0; column < 5; ++column) CHECK(dw.at({row, column}) == (row == 1 ? 2 : row == 3 ? 1 : 0));
  const Ids ids = random_ids({256, 3, 7}, 10);
  const Array many = gradient(numbers({10, 5}, 1), ids, Array::ones({256, 3, 7, 5}, f64), {.padding_id = 0});
  double count[10] = {};
  for (const std::int64_t id : ids.values()) ++count[id];
  CHECK(count[0] > 0);
  count[0] = 0;
  for (Dim row = 0; row < 10; ++row)
    for (Dim column = 0; column < 5; ++column) CHECK(many.at({row, column}) == count[row]);
  Array nan = Array::ones({2, 5}, f64);
  nan.write<double>([](std::span<double> v) { std::fill_n(v.begin(), 5, std::numeric_limits<double>::quiet_NaN()); });
  const Array kept_out = gradient(numbers({10, 5}, 1), {0, 1}, nan, {.padding_id = 0});
  CHECK(kept_out.at({0, 0}) == 0);
  CHECK(kept_out.at({1, 0}) == 1);
}

TEST_CASE("SL-09: an id outside the table is named with its position, before any write", "[case]") {
  const Array weight = numbers({5, 2}, 1);
  CHECK(message<ValueError>([&] {
          embedding(weight, {1, 0, 5});
        }) == "embedding: ids must lie in [0, 5), a row of the weight each; got 5 at [2] of ids [3], weight [5, 2]");
  CHECK(message<ValueError>([&] {
          embedding(weight, Ids::rows({{1, 0}, {4, 3}, {-1, 2}}));
        }) == "embedding: ids must lie in [0, 5), a row of the weight each; got -1 at [2, 0] of ids [3, 2], weight [5, 2]");
  CHECK(message<ValueError>([&] { embedding(weight, {1}, {.padding_id = 5}); }) ==
        "embedding: padding_id must be -1 (none) or in [0, 5); got 5, weight [5, 2]");
  CHECK(message<ValueError>([&] { embedding(weight, {1}, {.padding_id = -2}); }) ==
        "embedding: padding_id must be -1 (none) or in [0, 5); got -2, weight [5, 2]");
  CHECK(message<ShapeError>([&] { embedding(numbers({5}, 1), {1}); }) == "embedding: weight must be [V, D]; got weight [5]");
}

TEST_CASE("embedding: the same bits with 1 and 2 threads, repeated ids and all") {
  const Array weight = numbers({65, 128}, 1, DType::float32), dy = numbers({768, 128}, 2, DType::float32);
  const Ids ids = random_ids({768}, 65);
  CHECK(same_with_two_threads([&] { return std::vector<Array>{embedding(weight, ids).value()}; }));
  CHECK(same_with_two_threads([&] { return std::vector<Array>{gradient(weight, ids, dy)}; }));
}
