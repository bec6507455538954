#include <tapeform/core/ops/ops.hpp>

#include "catch.hpp"
#include "ops/golden_runners.hpp"
#include "numbers.hpp"

using namespace tapeform;
using golden::Case;
using golden::Runner;

namespace {

bool keep(const Case& c) { return c.option("keep", 0) != 0; }

/// A reduction whose only option is whether axes stay.
template <class F>
Runner reduction(const char* prefix, F f) {
  return {prefix, [f](Case& c) { c.check("y", f(c.x("x"), c.axes("axes"), ReduceOptions{.keepdims = keep(c)})); }};
}

template <class F>
Runner spread(const char* prefix, F f) {
  return {prefix, [f](Case& c) {
            c.check("y", f(c.x("x"), c.axes("axes"), VarOptions{.correction = c.option("correction", 1), .keepdims = keep(c)}));
          }};
}

using Axes = std::vector<int>;

}  // namespace

std::vector<Runner> golden::reduction_runners() {
  return {spread("var_", [](const Tensor& x, const Axes& axes, VarOptions o) { return var(x, axes, o); }),
          spread("stddev_", [](const Tensor& x, const Axes& axes, VarOptions o) { return stddev(x, axes, o); }),
          {"norm_",
           [](Case& c) {
             const double p = c.option("p", 2);
             c.check("y", norm(c.x("x"), c.axes("axes"), {.p = p == 0 ? numbers::inf : p, .keepdims = keep(c)}));
           }},
          reduction("max_", [](const Tensor& x, const Axes& axes, ReduceOptions o) { return max(x, axes, o); }),
          reduction("min_", [](const Tensor& x, const Axes& axes, ReduceOptions o) { return min(x, axes, o); }),
          reduction("prod_", [](const Tensor& x, const Axes& axes, ReduceOptions o) { return prod(x, axes, o); }),
          reduction("logsumexp_", [](const Tensor& x, const Axes& axes, ReduceOptions o) { return logsumexp(x, axes, o); }),
          {"cumsum_", [](Case& c) {
             c.check("y", cumsum(c.x("x"), static_cast<int>(c.option("axis", 0)), {.reverse = c.option("reverse", 0) != 0}));
           }}};
}

TEST_CASE("golden: reductions agree with PyTorch in float64, forward and backward") {
  golden::run_file("reductions", DType::float64, golden::reduction_runners());
}
TEST_CASE("golden: reductions agree with PyTorch in float32, forward and backward") {
  golden::run_file("reductions", DType::float32, golden::reduction_runners());
}
