#include <tapeform/nn/dropout.hpp>
#include <tapeform/core/ops/dropout.hpp>

#include "detail/checks.hpp"

namespace tapeform::nn {

Dropout::Dropout(double probability) : p(detail::checked_dropout("dropout", probability)) {}

Tensor Dropout::forward(const Tensor& x) const { return dropout(x, p); }

}  // namespace tapeform::nn
