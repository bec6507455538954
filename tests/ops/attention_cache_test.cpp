#include <tapeform/core/error.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/ops/attention.hpp>
#include <tapeform/core/ops/attention_cache.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "message.hpp"
#include "ops/numbers.hpp"

using namespace tapeform;

namespace {

Array drawn(const Shape& shape, std::uint64_t seed) { return numbers::random(shape, seed); }

double worst(const Array& a, const Array& b) {
  REQUIRE(a.shape() == b.shape());
  const auto x = a.to_vector(), y = b.to_vector();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

}  // namespace

TEST_CASE("a cache of keys and values gives what attention gives, in any order of its rows") {
  for (const Dim heads : {1, 2, 6}) {
    const Array before = drawn({3, 4, 24}, 1), newest = drawn({3, 1, 24}, 2), q = drawn({5, 1, 12}, 3);
    KeyValueCache cache;
    CHECK(cache.empty());
    cache.append(before);
    cache.append(newest);
    CHECK(cache.lengths() == Ids{5, 5, 5});
    const std::vector<Dim> from = {2, 0, 0, 1, 2};
    cache.keep(from);
    CHECK(cache.rows() == 5);
    Array weights;
    const Array out = cache.attend(q, {.heads = heads, .weights = &weights}).value();
    const Array all = concat({before, newest}, 1).value();  // [3, 5, 24]
    for (Dim n = 0; n < 5; ++n) {
      Array expected_weights;
      const Dim row = from[static_cast<std::size_t>(n)];
      const Tensor expected = attention_kv(q.rows(n, n + 1), all.rows(row, row + 1), {.heads = heads, .weights = &expected_weights});
      CHECK(worst(out.rows(n, n + 1), expected.value()) < 1e-12);
      CHECK(worst(weights.rows(n, n + 1), expected_weights) < 1e-12);
    }
    CHECK(same_bits(out, cache.attend(q, {.heads = heads}).value()));
  }
}

TEST_CASE("rows of a cache have lengths of their own; one that holds nothing gives 0") {
  const Array kv = drawn({5, 8}, 1), q = drawn({3, 1, 4}, 2);
  KeyValueCache cache;
  cache.append(kv, Ids{3, 0, 2});
  Array weights;
  const Array out = cache.attend(q, {.heads = 2, .weights = &weights}).value();
  CHECK(weights.shape() == Shape{3, 2, 1, 3});
  const Tensor expected = attention_kv(q.reshape({3, 4}), kv, {.heads = 2, .q_lens = Ids{1, 1, 1}, .k_lens = Ids{3, 0, 2}});
  CHECK(worst(out.reshape({3, 4}), expected.value()) < 1e-12);
  for (Dim i = 0; i < 4; ++i) CHECK(out.at({1, 0, i}) == 0);
  CHECK(weights.at({2, 1, 0, 2}) == 0);
}

TEST_CASE("rows of a cache change places without a buffer, and a copy goes its own way") {
  KeyValueCache cache;
  cache.append(drawn({64, 3, 32}, 1));
  const MemoryStats before = memory_stats();
  std::vector<Dim> from(256);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<Dim>(i * 7 % 64);
  KeyValueCache other = cache;
  other.keep(from);
  CHECK(memory_stats().buffers == before.buffers);
  CHECK(other.rows() == 256);
  CHECK(cache.rows() == 64);
}

TEST_CASE("a cache names what does not fit") {
  KeyValueCache cache;
  CHECK(message<ValueError>([&] {
          cache.attend(drawn({1, 1, 4}, 1), {});
        }) == "attention_cached: the cache is empty. Append keys and values first");
  cache.append(drawn({2, 3, 8}, 1));
  CHECK(message<ShapeError>([&] {
          cache.append(drawn({3, 1, 8}, 1));
        }) ==
        "key_value_cache: kv must be [N, T, 2E], or [M, 2E] with lens [N] that add up to M, N and E as before; got kv [3, 1, 8], lens [0], "
        "rows 2");
  CHECK(message<ShapeError>([&] {
          cache.append(drawn({3, 8}, 1), Ids{1, 1});
        }) ==
        "key_value_cache: kv must be [N, T, 2E], or [M, 2E] with lens [N] that add up to M, N and E as before; got kv [3, 8], lens [2], "
        "rows 2");
  CHECK(message<DTypeError>([&] {
          cache.append(drawn({2, 1, 8}, 1).cast(DType::float32));
        }) == "key_value_cache: dtypes must agree; got kv float32, before float64. Use cast()");
  CHECK(message<ShapeError>([&] { cache.keep(std::vector<Dim>{0, 2}); }) == "key_value_cache: rows are 0 to 1; got 2");
  CHECK(message<ShapeError>([&] {
          cache.attend(drawn({2, 1, 4}, 1), {.heads = 3});
        }) == "attention_cached: q must be [2, 1, 4], a width that heads divide; got q [2, 1, 4], heads 3");
  CHECK(message<DTypeError>([&] {
          cache.attend(drawn({2, 1, 4}, 1).cast(DType::float32), {});
        }) == "attention_cached: dtypes must agree; got q float32, cache float64. Use cast()");
  Tape tape;
  const Tensor watched = tape.watch(drawn({2, 1, 4}, 1));
  CHECK(message<TapeError>([&] { cache.attend(watched, {}); }) ==
        "attention_cached: a cache keeps no derivatives, and a tape records. Decode in the scope of a NoTape");
}
