#include <tapeform/core/ops/ops.hpp>

#include "catch.hpp"
#include "ops/golden_runners.hpp"

using namespace tapeform;
using golden::Case;
using golden::Runner;

namespace {

int axis(const Case& c) { return static_cast<int>(c.option("axis", 0)); }

/// Places, orders and counts as the files hold them.
Array as_array(const Ids& ids, const Case& c) {
  const std::vector<double> numbers(ids.values().begin(), ids.values().end());
  return Array::of(ids.shape(), std::span<const double>(numbers)).cast(c.dtype());
}

template <class Tensors, class Number>
void compare(std::vector<Runner>& all, const std::string& name, Tensors tensors, Number number) {
  all.push_back({name + "_tensors", [tensors](Case& c) {
                   const Tensor a = c.array("a"), b = c.array("b");
                   c.check_numbers("out/y", as_array(tensors(a, b), c));
                 }});
  all.push_back({name + "_number",
                 [number](Case& c) { c.check_numbers("out/y", as_array(number(Tensor(c.array("a")), c.option("number", 0)), c)); }});
}

void comparisons(std::vector<Runner>& all) {
  const auto less = [](const auto& a, const auto& b) { return a < b; };
  const auto less_or_equal = [](const auto& a, const auto& b) { return a <= b; };
  const auto greater = [](const auto& a, const auto& b) { return a > b; };
  const auto greater_or_equal = [](const auto& a, const auto& b) { return a >= b; };
  const auto equal = [](const auto& a, const auto& b) { return equal_to(a, b); };
  const auto not_equal = [](const auto& a, const auto& b) { return not_equal_to(a, b); };
  compare(all, "less", less, less);
  compare(all, "less_or_equal", less_or_equal, less_or_equal);
  compare(all, "greater", greater, greater);
  compare(all, "greater_or_equal", greater_or_equal, greater_or_equal);
  compare(all, "equal", equal, equal);
  compare(all, "not_equal", not_equal, not_equal);
}

void places(std::vector<Runner>& all) {
  all.push_back({"argmax_", [](Case& c) { c.check_numbers("out/y", as_array(argmax(c.array("x"), axis(c)), c)); }});
  all.push_back({"argmax_all", [](Case& c) { c.check_numbers("out/y", as_array(argmax(c.array("x")), c)); }});
  all.push_back({"argmin_", [](Case& c) { c.check_numbers("out/y", as_array(argmin(c.array("x"), axis(c)), c)); }});
  all.push_back({"argmin_all", [](Case& c) { c.check_numbers("out/y", as_array(argmin(c.array("x")), c)); }});
  all.push_back({"sort_", [](Case& c) {
                   const SortOptions options{.descending = c.option("descending", 0) != 0};
                   c.check_numbers("out/values", sort(c.array("x"), axis(c), options));
                   c.check_numbers("out/places", as_array(argsort(c.array("x"), axis(c), options), c));
                 }});
  all.push_back({"topk_", [](Case& c) {
                   const TopK best = topk(c.array("x"), 3, axis(c), {.largest = c.option("largest", 1) != 0});
                   c.check_numbers("out/values", best.values);
                   c.check_numbers("out/places", as_array(best.ids, c));
                 }});
  all.push_back({"one_hot", [](Case& c) { c.check_numbers("out/y", one_hot(c.ids("ids"), 5, c.dtype())); }});
  all.push_back({"bincount_",
                 [](Case& c) { c.check_numbers("out/y", as_array(bincount(c.ids("ids"), static_cast<Dim>(c.option("classes", 0))), c)); }});
}

void rows(std::vector<Runner>& all) {
  all.push_back({"pack_rows", [](Case& c) { c.check("y", pack_rows(c.x("x"), c.ids("lens"))); }});
  all.push_back({"unpack_rows", [](Case& c) { c.check("y", unpack_rows(c.x("x"), c.ids("lens"), 4)); }});
  all.push_back({"keep_rows", [](Case& c) { c.check("y", keep_rows(c.x("x"), c.ids("keep"))); }});
  all.push_back({"transpose", [](Case& c) { c.check("y", transpose(c.x("x"), 0, -1)); }});
}

}  // namespace

std::vector<Runner> golden::selection_runners() {
  std::vector<Runner> all;
  comparisons(all);
  places(all);
  rows(all);
  return all;
}

TEST_CASE("golden: places, orders, counts and rows agree with PyTorch in float64, forward and backward") {
  golden::run_file("selection", DType::float64, golden::selection_runners());
}
TEST_CASE("golden: places, orders, counts and rows agree with PyTorch in float32, forward and backward") {
  golden::run_file("selection", DType::float32, golden::selection_runners());
}
