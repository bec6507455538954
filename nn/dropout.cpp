#include <tapeform/nn/dropout.hpp>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/dropout.hpp>

namespace tapeform::nn {

double detail::checked_dropout(const char* op, double p) {
  if (!(p >= 0.0 && p <= 1.0)) throw ValueError(fmt::format("{}: dropout must be a probability between 0 and 1; got {}", op, p));
  return p;
}

Dropout::Dropout(double probability) : p(detail::checked_dropout("dropout", probability)) {}

Tensor Dropout::forward(const Tensor& x) const { return dropout(x, p); }

}  // namespace tapeform::nn
