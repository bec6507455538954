#include <string>
#include <tapeform/core/ops/ops.hpp>

#include "catch.hpp"
#include "ops/golden_runners.hpp"

using namespace tapeform;
using golden::Case;
using golden::Runner;

namespace {

int axis(const Case& c) { return static_cast<int>(c.option("axis", 0)); }

/// A runner of an op on one input that reads what else it needs from the case.
template <class F>
Runner op(const char* prefix, F f) {
  return {prefix, [f](Case& c) { c.check("y", f(c.x("x"), c)); }};
}

std::vector<Runner> rearranging() {
  return {op("squeeze", [](const Tensor& x, Case&) { return squeeze(x, 1); }),
          op("unsqueeze", [](const Tensor& x, Case&) { return unsqueeze(x, -2); }),
          op("split",
             [](const Tensor& x, Case&) {
               const auto parts = split(x, 2, 1);
               return concat({parts[2], parts[0], parts[0]}, 1);
             }),
          {"stack_",
           [](Case& c) {
             const Tensor a = c.x("a"), b = c.x("b");
             c.check("y", stack({a, b}, axis(c)));
           }},
          op("broadcast_to", [](const Tensor& x, Case& c) { return broadcast_to(x, Shape(c.ids("shape").values())); }),
          op("repeat_", [](const Tensor& x, Case& c) { return repeat(x, c.ids("counts").values()); }),
          op("interleave_", [](const Tensor& x, Case& c) { return repeat_interleave(x, 3, axis(c)); }),
          op("pad_",
             [](const Tensor& x, Case& c) {
               const Ids sizes = c.ids("sizes");
               return pad(x, axis(c), sizes[0], sizes[1], {.value = c.option("value", 0)});
             }),
          op("flip_", [](const Tensor& x, Case& c) { return flip(x, c.axes("axes")); }),
          op("steps_",
             [](const Tensor& x, Case& c) {
               const Ids range = c.ids("range");
               return slice(x, static_cast<int>(range[0]), range[1], range[2], range[3]);
             }),
          op("tril_", [](const Tensor& x, Case& c) { return tril(x, static_cast<Dim>(c.option("diagonal", 0))); }),
          op("triu_", [](const Tensor& x, Case& c) { return triu(x, static_cast<Dim>(c.option("diagonal", 0))); })};
}

std::vector<Runner> picking() {
  return {op("gather_", [](const Tensor& x, Case& c) { return gather(x, axis(c), c.ids("ids")); }),
          op("take_along_axis_", [](const Tensor& x, Case& c) { return take_along_axis(x, c.ids("ids"), axis(c)); }),
          op("index_select_", [](const Tensor& x, Case& c) { return index_select(x, axis(c), c.ids("ids")); }),
          {"scatter_add_",
           [](Case& c) {
             const Tensor x = c.x("x"), src = c.x("src");
             c.check("y", scatter_add(x, axis(c), c.ids("ids"), src));
           }},
          {"einsum_", [](Case& c) {
             std::string equation;
             for (const std::int64_t letter : c.ids("equation").values()) equation += static_cast<char>(letter);
             std::vector<Tensor> operands;
             for (int i = 0; c.has("in/x" + std::to_string(i)); ++i) operands.push_back(c.x("x" + std::to_string(i)));
             c.check("y", einsum(equation, operands));
           }}};
}

}  // namespace

std::vector<Runner> golden::movement_runners() {
  std::vector<Runner> all = rearranging();
  for (const Runner& runner : picking()) all.push_back(runner);
  return all;
}

TEST_CASE("golden: movement and einsum agree with PyTorch in float64, forward and backward") {
  golden::run_file("movement", DType::float64, golden::movement_runners());
}
TEST_CASE("golden: movement and einsum agree with PyTorch in float32, forward and backward") {
  golden::run_file("movement", DType::float32, golden::movement_runners());
}
