#include <tapeform/core/ops/layer_norm.hpp>

#include <fmt/format.h>

#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/layer_norm.hpp"

namespace tapeform {

static void check_affine(const Tensor& x, const Tensor& affine, const char* name_of_it) {
  if (!affine) return;
  if (affine.shape() != Shape{x.dim(-1)})
    throw ShapeError(fmt::format("layer_norm: {} must be [D] for x [..., D]; got x {}, {} {}", name_of_it, x.shape().str(), name_of_it,
                                 affine.shape().str()));
  if (affine.dtype() != x.dtype())
    throw DTypeError(
        fmt::format("layer_norm: dtypes must agree; got x {}, {} {}. Use cast()", name(x.dtype()), name_of_it, name(affine.dtype())));
}

// y = x̂·weight + bias, x̂ = (x − mean)/σ      with g = dy·weight: dx = (g − mean g − x̂·mean(g·x̂))/σ   dweight = Σ dy·x̂   dbias = Σ dy
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const LayerNormOptions& options) {
  shapes::filled("layer_norm", "x", x);
  if (x.rank() == 0) throw ShapeError(fmt::format("layer_norm: x must have a last axis; got x {}", x.shape().str()));
  check_affine(x, weight, "weight");
  check_affine(x, bias, "bias");
  if (!(options.eps >= 0 && std::isfinite(options.eps)))
    throw ValueError(fmt::format("layer_norm: eps must be finite and not negative; got eps = {}", options.eps));
  kernels::LayerNormResult result = kernels::layer_norm(x.value(), weight.value(), bias.value(), options.eps);
  return record(
      "layer_norm", std::move(result.y),
      wrt({x, weight, bias},
          [X = x.value(), W = weight.value(), stats = std::move(result.stats)](const Array& dy, const Needs<3>& need) -> Grads<3> {
            auto gradients = kernels::layer_norm_backward(dy, X, W, stats, need[0], need[1], need[2]);
            return {std::move(gradients.dx), std::move(gradients.dweight), std::move(gradients.dbias)};
          }));
}

}  // namespace tapeform
