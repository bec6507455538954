#include <tapeform/nn/feed_forward.hpp>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/activation.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/dropout.hpp>
#include <tapeform/core/ops/movement.hpp>

#include "detail/checks.hpp"

namespace tapeform::nn {

Tensor activate(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return relu(x);
    case Activation::gelu:
      return gelu(x);
    case Activation::silu:
      return silu(x);
    case Activation::gelu_tanh:
      break;
  }
  return gelu(x, {.approximate = GeluForm::tanh});
}

Tensor activate_gated(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      break;
    case Activation::gelu:
      return geglu(x);
    case Activation::silu:
      return swiglu(x);
    case Activation::gelu_tanh:
      return geglu(x, {.approximate = GeluForm::tanh});
  }
  if (x.rank() < 1 || x.dim(-1) % 2 != 0)
    throw ShapeError(fmt::format("activate_gated: the last axis must hold two halves, values and gates; got x {}", x.shape().str()));
  const Dim half = x.dim(-1) / 2;
  return slice(x, -1, 0, half) * relu(slice(x, -1, half, 2 * half));
}

FeedForward::FeedForward(Dim num_hiddens, Dim ffn_num_hiddens, Rng& rng, const Options& options)
    : linear1(num_hiddens, (options.gated ? 2 : 1) * ffn_num_hiddens, rng, {.bias = options.bias}),
      linear2(ffn_num_hiddens, num_hiddens, rng, {.bias = options.bias}),
      options_(options) {
  detail::checked_dropout("feed_forward", options.dropout);
}

Tensor FeedForward::forward(const Tensor& x) const {
  const Tensor h = linear1(x);
  return linear2(dropout(options_.gated ? activate_gated(h, options_.activation) : activate(h, options_.activation), options_.dropout));
}

}  // namespace tapeform::nn
