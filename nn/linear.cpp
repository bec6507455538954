#include <tapeform/nn/linear.hpp>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/nn/init.hpp>

namespace tapeform::nn {

Linear::Linear(Dim in, Dim out, Rng& rng, const Options& options) {
  if (in < 1 || out < 1) throw ValueError(fmt::format("linear: both widths must be at least 1; got in {}, out {}", in, out));
  weight = Parameter(fan_in_uniform({out, in}, in, rng));
  if (options.bias) bias = Parameter(fan_in_uniform({out}, in, rng));
}

Tensor Linear::forward(const Tensor& x) const { return linear(x, weight, bias); }

}  // namespace tapeform::nn
