#include <tapeform/nn/layer_norm.hpp>
#include <cmath>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/layer_norm.hpp>

namespace tapeform::nn {

LayerNorm::LayerNorm(Dim num_hiddens, const Options& options) : num_hiddens_(num_hiddens), eps_(options.eps) {
  if (num_hiddens < 1) throw ValueError(fmt::format("layer_norm: num_hiddens must be at least 1; got {}", num_hiddens));
  if (!std::isfinite(eps_) || eps_ < 0) throw ValueError(fmt::format("layer_norm: eps must be finite and at least 0; got {}", eps_));
  if (!options.elementwise_affine) return;
  weight = Parameter(Array::ones({num_hiddens}));
  if (options.bias) bias = Parameter(Array::zeros({num_hiddens}));
}

Tensor LayerNorm::forward(const Tensor& x) const {
  if (x.rank() < 1 || x.dim(-1) != num_hiddens_)
    throw ShapeError(
        fmt::format("layer_norm: the last axis must be the module's num_hiddens, {}; got x {}", num_hiddens_, x.shape().str()));
  return layer_norm(x, weight, bias, {.eps = eps_});
}

void LayerNorm::reset() {
  if (weight) weight.assign(Array::ones(weight.shape(), weight.dtype()));
  if (bias) bias.assign(Array::zeros(bias.shape(), bias.dtype()));
}

}  // namespace tapeform::nn
