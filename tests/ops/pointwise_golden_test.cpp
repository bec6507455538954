#include <tapeform/core/ops/ops.hpp>

#include "catch.hpp"
#include "ops/golden_runners.hpp"

using namespace tapeform;
using golden::Case;
using golden::Runner;

namespace {

template <class F>
Runner unary(const char* prefix, F f) {
  return {prefix, [f](Case& c) { c.check("y", f(c.x("x"))); }};
}

template <class F>
Runner binary(const char* prefix, F f) {
  return {prefix, [f](Case& c) {
            const Tensor a = c.x("a"), b = c.x("b");
            c.check("y", f(a, b));
          }};
}

std::vector<Runner> functions() {
  return {unary("log1p", [](const Tensor& x) { return log1p(x); }),
          unary("expm1", [](const Tensor& x) { return expm1(x); }),
          unary("log2", [](const Tensor& x) { return log2(x); }),
          unary("rsqrt", [](const Tensor& x) { return rsqrt(x); }),
          unary("abs", [](const Tensor& x) { return abs(x); }),
          unary("sin", [](const Tensor& x) { return sin(x); }),
          unary("cos", [](const Tensor& x) { return cos(x); }),
          {"power_", [](Case& c) { c.check("y", pow(c.x("x"), c.option("p", 0))); }},
          {"power_of_number", [](Case& c) { c.check("y", pow(c.option("base", 0), c.x("x"))); }},
          binary("pow_", [](const Tensor& a, const Tensor& b) { return pow(a, b); })};
}

std::vector<Runner> choices() {
  return {binary("maximum_", [](const Tensor& a, const Tensor& b) { return maximum(a, b); }),
          binary("minimum_", [](const Tensor& a, const Tensor& b) { return minimum(a, b); }),
          {"clamp", [](Case& c) { c.check("y", clamp(c.x("x"), {.min = c.option("min", 0), .max = c.option("max", 0)})); }},
          {"where",
           [](Case& c) {
             const Tensor a = c.x("a"), b = c.x("b");
             c.check("y", where(c.ids("condition"), a, b));
           }},
          {"masked_fill", [](Case& c) { c.check("y", masked_fill(c.x("x"), c.ids("mask"), c.option("value", 0))); }}};
}

std::vector<Runner> activations() {
  return {unary("sigmoid_", [](const Tensor& x) { return sigmoid(x); }),
          unary("log_sigmoid_", [](const Tensor& x) { return log_sigmoid(x); }),
          unary("silu_", [](const Tensor& x) { return silu(x); }),
          {"softplus_", [](Case& c) { c.check("y", softplus(c.x("x"), {.beta = c.option("beta", 1)})); }},
          {"leaky_relu_", [](Case& c) { c.check("y", leaky_relu(c.x("x"), {.negative_slope = c.option("slope", 0.01)})); }},
          {"elu_", [](Case& c) { c.check("y", elu(c.x("x"), {.alpha = c.option("alpha", 1)})); }},
          unary("glu", [](const Tensor& x) { return glu(x); }),
          unary("swiglu", [](const Tensor& x) { return swiglu(x); }),
          unary("geglu", [](const Tensor& x) { return geglu(x); })};
}

}  // namespace

std::vector<Runner> golden::pointwise_runners() {
  std::vector<Runner> all;
  for (const auto& part : {functions(), choices(), activations()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST_CASE("golden: functions, choices and activations agree with PyTorch in float64, forward and backward") {
  golden::run_file("pointwise", DType::float64, golden::pointwise_runners());
}
TEST_CASE("golden: functions, choices and activations agree with PyTorch in float32, forward and backward") {
  golden::run_file("pointwise", DType::float32, golden::pointwise_runners());
}
