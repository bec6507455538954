#include <tapeform/nn/feed_forward.hpp>
#include <tapeform/core/ops/activation.hpp>
#include <tapeform/core/ops/dropout.hpp>

#include "detail/checks.hpp"

namespace tapeform::nn {

Tensor activate(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return relu(x);
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      break;
  }
  return gelu(x, {.approximate = GeluForm::tanh});
}

FeedForward::FeedForward(Dim num_hiddens, Dim ffn_num_hiddens, Rng& rng, const Options& options)
    : linear1(num_hiddens, ffn_num_hiddens, rng, {.bias = options.bias}),
      linear2(ffn_num_hiddens, num_hiddens, rng, {.bias = options.bias}),
      options_(options) {
  detail::checked_dropout("feed_forward", options.dropout);
}

Tensor FeedForward::forward(const Tensor& x) const { return linear2(dropout(activate(linear1(x), options_.activation), options_.dropout)); }

}  // namespace tapeform::nn
