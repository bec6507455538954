#include <tapeform/core/ops/activation.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/elementwise.hpp"

namespace tapeform {

using kernels::Binary;
using kernels::Unary;

Tensor relu(const Tensor& x) {
  shapes::filled("relu", "x", x);
  const Array y = kernels::unary(Unary::relu, x.value());
  // y is positive, or NaN, exactly where x is, and the next layer saves it as well.
  return record("relu", y, wrt(x, [y](const Array& dy) { return kernels::binary(Binary::relu_gradient, dy, y); }));
}

Tensor gelu(const Tensor& x, GeluOptions options) {
  shapes::filled("gelu", "x", x);
  const bool exact = options.approximate == GeluForm::none;
  const Binary gradient = exact ? Binary::gelu_erf_gradient : Binary::gelu_tanh_gradient;
  return record("gelu", kernels::unary(exact ? Unary::gelu_erf : Unary::gelu_tanh, x.value()),
                wrt(x, [X = x.value(), gradient](const Array& dy) { return kernels::binary(gradient, dy, X); }));
}

}  // namespace tapeform
