#include <tapeform/nn/linear.hpp>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/nn/init.hpp>

namespace tapeform::nn {

Linear::Linear(Dim in, Dim out, Rng& rng, const Options& options) {
  if (in < 1 || out < 1) throw ValueError(fmt::format("linear: both widths must be at least 1; got in {}, out {}", in, out));
  weight = Parameter(Array({out, in}));
  if (options.bias) bias = Parameter(Array(Shape{out}));
  reset(rng);
}

void Linear::reset(Rng& rng) {
  const Dim in = weight.dim(1);
  weight.assign(fan_in_uniform(weight.shape(), in, rng).cast(weight.dtype()));
  if (bias) bias.assign(fan_in_uniform(bias.shape(), in, rng).cast(bias.dtype()));
}

Tensor Linear::forward(const Tensor& x) const { return linear(x, weight, bias); }

}  // namespace tapeform::nn
