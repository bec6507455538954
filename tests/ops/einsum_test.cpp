#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/ops.hpp>

#include "catch.hpp"
#include "message.hpp"
#include "numbers.hpp"

using namespace tapeform;
using numbers::random;

namespace {

const DType f64 = DType::float64;

template <class E = ValueError>
std::string refused(const char* equation, const std::vector<Shape>& shapes) {
  std::vector<Tensor> operands;
  for (const Shape& shape : shapes) operands.push_back(random(shape, 1));
  return message<E>([&] { einsum(equation, operands); });
}

void check_gradient(const char* equation, const std::vector<Shape>& shapes) {
  std::vector<Array> inputs;
  for (const Shape& shape : shapes) inputs.push_back(random(shape, inputs.size() + 1));
  const auto report = gradcheck([equation](const std::vector<Tensor>& x) { return einsum(equation, x); }, inputs);
  INFO(equation << ": " << report.str());
  CHECK(report.ok(1e-11));
}

}  // namespace

TEST_CASE("einsum: products, sums, transposes and diagonals are what other ops make of them") {
  const Tensor a = random({3, 4}, 1), b = random({4, 5}, 2), square = random({4, 4}, 3);
  CHECK(same_bits(einsum("ij,jk->ik", {a, b}).value(), matmul(a, b).value()));
  CHECK(same_bits(einsum(" i j , j k -> i k ", {a, b}).value(), matmul(a, b).value()));
  CHECK(same_bits(einsum("ij,jk", {a, b}).value(), matmul(a, b).value()));
  CHECK(same_bits(einsum("ba", {a}).value(), transpose(a, 0, 1).value()));
  CHECK(same_bits(einsum("ij->", {a}).value(), sum(a).value()));
  CHECK(same_bits(einsum("ij,ij->ij", {a, a}).value(), (a * a).value()));
  CHECK(einsum("ij->ij", {a}).value().shares_buffer_with(a.value()));
  double trace = 0;
  for (Dim i = 0; i < 4; ++i) {
    trace += square.value().at({i, i});
    CHECK(einsum("ii->i", {square}).value().at({i}) == square.value().at({i, i}));
  }
  CHECK(einsum("ii", {square}).item() == Catch::Approx(trace).epsilon(1e-14));
  CHECK(einsum("aaa->a", {random({3, 3, 3}, 1)}).value().at({2}) == random({3, 3, 3}, 1).at({2, 2, 2}));
  CHECK(numbers::distance(einsum("bqhd,bkhd->bhqk", {random({2, 3, 2, 4}, 1), random({2, 5, 2, 4}, 2)}).value(),
                          matmul(permute(random({2, 3, 2, 4}, 1), {0, 2, 1, 3}), permute(random({2, 5, 2, 4}, 2), {0, 2, 3, 1})).value()) <
        1e-14);
}

TEST_CASE("einsum: '...' stands for leading axes, which broadcast") {
  const Tensor x = random({2, 1, 3, 4}, 1), w = random({4, 5}, 2), y = random({6, 3, 4}, 3);
  CHECK(numbers::distance(einsum("...ij,jk->...ik", {x, w}).value(), matmul(x, w).value()) < 1e-14);
  CHECK(same_bits(einsum("...ij,jk", {x, w}).value(), einsum("...ij,jk->...ik", {x, w}).value()));
  CHECK(einsum("...ij,...kj->...ik", {x, y}).shape() == Shape{2, 6, 3, 3});
  CHECK(numbers::distance(einsum("...ij,...kj->...ik", {x, y}).value(), matmul(x, y, {.transpose_b = true}).value()) < 1e-14);
  CHECK(einsum("i...->...i", {x}).shape() == Shape{1, 3, 4, 2});
  CHECK(einsum("...i->...", {w}).shape() == Shape{4});
  CHECK(einsum("...,...->...", {random({}, 1), random({3}, 2)}).shape() == Shape{3});
}

TEST_CASE("einsum: empty sums and sizes of 0 and 1") {
  CHECK(einsum("ij,jk->ik", {Array({2, 0}, f64), Array({0, 3}, f64)}).value().to_vector() == std::vector<double>(6, 0));
  CHECK(einsum("ii->i", {Array({0, 0}, f64)}).shape() == Shape{0});
  CHECK(einsum("ii->", {random({1, 1}, 1)}).item() == random({1, 1}, 1).item());
  CHECK(einsum(",->", {random({}, 1), random({}, 2)}).item() == random({}, 1).item() * random({}, 2).item());
  CHECK(einsum("abcdefgh->hgfedcba", {random({1, 2, 1, 2, 1, 2, 1, 2}, 1)}).shape() == Shape{2, 1, 2, 1, 2, 1, 2, 1});
}

TEST_CASE("einsum: gradcheck") {
  check_gradient("ij,jk->ki", {{2, 3}, {3, 4}});
  check_gradient("bi,oij,bj->bo", {{2, 3}, {4, 3, 2}, {2, 2}});
  check_gradient("iji->j", {{3, 2, 3}});
  check_gradient("i,j,k->kij", {{2}, {3}, {2}});
  check_gradient("...i,...i->...", {{2, 1, 3}, {4, 3}});
  check_gradient("ij,k->k", {{2, 3}, {4}});
  check_gradient("ij,ij", {{2, 3}, {2, 3}});
}

TEST_CASE("einsum: errors name the equation and the shapes") {
  CHECK(refused("ij,jk->ik", {{2, 3}}) == "einsum: one term for each operand; 2 for 1 operands; got \"ij,jk->ik\"");
  CHECK(refused("i+j", {{2}}) == "einsum: axes are letters, \"...\", \",\" and \"->\", not '+'; got \"i+j\"");
  CHECK(refused("i..j", {{2, 2}}) == "einsum: a term may hold \"...\" once; got \"i..j\"");
  CHECK(refused("...i...", {{2}}) == "einsum: a term may hold \"...\" once; got \"...i...\"");
  CHECK(refused("ij->ik", {{2, 2}}) == "einsum: the result names 'k', which no operand has; got \"ij->ik\"");
  CHECK(refused("ij->ii", {{2, 2}}) == "einsum: the result names 'i' twice; got \"ij->ii\"");
  CHECK(refused("...i->i", {{2, 2}}) == "einsum: operands have \"...\", so the result must have it; got \"...i->i\"");
  CHECK(refused<ShapeError>("ij,jk->ik", {{2, 3}, {4, 5}}) ==
        "einsum: 'j' stands for two sizes, 3 and 4; got \"ij,jk->ik\", [2, 3], [4, 5]");
  CHECK(refused<ShapeError>("ii", {{2, 3}}) == "einsum: 'i' stands for two sizes, 2 and 3; got \"ii\", [2, 3]");
  CHECK(refused<ShapeError>("ij", {{2, 3, 4}}) == "einsum: a term names 2 axes of an operand with 3; got \"ij\", [2, 3, 4]");
  CHECK(refused<ShapeError>("...ij", {{2}}) == "einsum: a term names 2 axes of an operand with 1; got \"...ij\", [2]");
  CHECK(refused<ShapeError>("...i,...i->...", {{2, 3}, {4, 3}}) ==
        "einsum: axes under \"...\" must be equal or 1, not 2 and 4; got \"...i,...i->...\", [2, 3], [4, 3]");
  CHECK(refused<ShapeError>("abcde,fghij->abcdefghij", {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}}) ==
        "einsum: at most 8 axes on the way; got \"abcde,fghij->abcdefghij\", [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]");
  CHECK(message<ValueError>([] { einsum("i", std::vector<Tensor>{}); }) == "einsum: at least one operand; got \"i\" and none");
  CHECK(message<DTypeError>([] {
          einsum("i,i", {random({2}, 1), random({2}, 1, DType::float32)});
        }) == "einsum: dtypes must agree; got float64 and float32. Use cast()");
  CHECK_THAT(message<ValueError>([] {
               einsum("i,i", {random({2}, 1), Tensor()});
             }),
             Catch::Matchers::StartsWith("einsum: an operand holds nothing"));
}
