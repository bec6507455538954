#include <functional>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "numbers.hpp"

using namespace tapeform;
using numbers::random;

namespace {

// As many axes as there may be; axes of size 1 at both ends and in the middle.
const Shape full{1, 2, 1, 3, 2, 1, 2, 1};

}  // namespace

TEST_CASE("ops along every axis of an array of rank 8: values as of the same numbers in three axes, and gradcheck") {
  const Array x = random(full, 1);
  using Op = std::function<Tensor(const Tensor&, int)>;
  const std::vector<std::pair<std::string, Op>> ops{
      {"cumsum", [](const Tensor& t, int axis) { return cumsum(t, axis); }},
      {"logsumexp", [](const Tensor& t, int axis) { return logsumexp(t, {axis}, {.keepdims = true}); }},
      {"var", [](const Tensor& t, int axis) { return var(t, {axis}, {.correction = 0, .keepdims = true}); }},
      {"pad", [](const Tensor& t, int axis) { return pad(t, axis, 2, 1, {.value = 0.5}); }},
      {"flip", [](const Tensor& t, int axis) { return flip(t, {axis}); }},
      {"slice", [](const Tensor& t, int axis) { return slice(t, axis, 0, t.dim(axis), -2); }},
      {"split", [](const Tensor& t, int axis) { return concat(split(t, 1, axis), axis); }},
      {"repeat_interleave", [](const Tensor& t, int axis) { return repeat_interleave(t, 2, axis); }},
      {"index_select",
       [](const Tensor& t, int axis) {
         return index_select(t, axis, {0, 0});
       }},
      {"take_along_axis", [](const Tensor& t, int axis) { return take_along_axis(t, argsort(t, axis), axis); }},
      {"topk", [](const Tensor& t, int axis) { return gather(t, axis, topk(t, 1, axis).ids); }},
  };
  for (const auto& [name, op] : ops)
    for (int axis = 0; axis < Shape::max_rank; ++axis) {
      const Array y = op(x, axis).value();
      const Array three = x.reshape(Shape{full.numel(0, axis), full[axis], full.numel(axis + 1, full.rank())});
      INFO(name << " along axis " << axis);
      REQUIRE(y.rank() == Shape::max_rank);
      CHECK(same_bits(y.reshape(Shape{y.numel()}), op(three, 1).value().reshape(Shape{y.numel()})));
      const auto report = gradcheck([f = op, axis](const Tensor& t) { return f(t, axis); }, {x});
      INFO(report.str());
      CHECK(report.ok(1e-11));
    }
}

TEST_CASE("a stack, a broadcast, a repetition and a triangle of rank 8") {
  const Array x = random({2, 1, 3, 1, 2, 1, 2}, 1);
  CHECK(stack({x, x}, 3).shape() == Shape{2, 1, 3, 2, 1, 2, 1, 2});
  CHECK(broadcast_to(x, {2, 2, 1, 3, 2, 2, 1, 2}).shape() == Shape{2, 2, 1, 3, 2, 2, 1, 2});
  CHECK(repeat(x, {2, 1, 3, 1, 1, 1, 2, 1}).shape() == Shape{2, 2, 3, 3, 1, 2, 2, 2});
  const Array square = random({1, 2, 1, 1, 2, 1, 3, 3}, 2), lower = tril(square).value();
  CHECK(lower.at({0, 1, 0, 0, 1, 0, 1, 2}) == 0);
  CHECK(lower.at({0, 1, 0, 0, 1, 0, 2, 1}) == square.at({0, 1, 0, 0, 1, 0, 2, 1}));
}

TEST_CASE("AG-11: a new axis against an empty one; backward", "[case]") {
  Tape tape;
  const Tensor a = tape.watch(Array(Shape{4, 0}, DType::float64)), b = tape.watch(random({4}, 1));
  const Tensor loss = sum(a + unsqueeze(b, 1));
  CHECK(loss.item() == 0);
  tape.backward(loss);
  CHECK(tape.grad(b).to_vector() == std::vector<double>(4, 0));
  CHECK(tape.grad(a).shape() == Shape{4, 0});
}

TEST_CASE("AG-49: an axis of size 1 goes when it is named, never by its size alone", "[case]") {
  const Tensor batch_of_one = random({1, 1, 4}, 1);  // [B, T, D]
  CHECK(squeeze(batch_of_one, 1).shape() == Shape{1, 4});
  CHECK(squeeze(batch_of_one, {1}).shape() == Shape{1, 4});
  CHECK(max(batch_of_one, {1}).shape() == Shape{1, 4});
  CHECK(argmax(batch_of_one, -1).shape() == Shape{1, 1});
  CHECK(einsum("bti,ij->btj", {batch_of_one, random({4, 1}, 2)}).shape() == Shape{1, 1, 1});
}
