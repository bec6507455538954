#include <tapeform/core/ops/layer_norm.hpp>

#include <fmt/format.h>

#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/layer_norm.hpp"
#include "kernels/rms_norm.hpp"

namespace tapeform {

namespace {

void check_x(const char* op, const Tensor& x, int axes, double eps) {
  shapes::filled(op, "x", x);
  if (x.rank() == 0) throw ShapeError(fmt::format("{}: x must have a last axis; got x {}", op, x.shape().str()));
  if (axes < 1 || axes > x.rank())
    throw ShapeError(
        fmt::format("{}: axes must be from 1 to {}, the number of axes of x; got axes = {}, x {}", op, x.rank(), axes, x.shape().str()));
  if (!(eps >= 0 && std::isfinite(eps))) throw ValueError(fmt::format("{}: eps must be finite and not negative; got eps = {}", op, eps));
}

void check_affine(const char* op, const Tensor& x, const Tensor& affine, const char* name_of_it, int axes) {
  if (!affine) return;
  const Shape trailing(x.shape().sizes().last(static_cast<std::size_t>(axes)));
  if (affine.shape() != trailing)
    throw ShapeError(axes == 1 ? fmt::format("{}: {} must be [D] for x [..., D]; got x {}, {} {}", op, name_of_it, x.shape().str(),
                                             name_of_it, affine.shape().str())
                               : fmt::format("{}: {} must be {}, the last {} axes of x; got x {}, {} {}", op, name_of_it, trailing.str(),
                                             axes, x.shape().str(), name_of_it, affine.shape().str()));
  if (affine.dtype() != x.dtype())
    throw DTypeError(
        fmt::format("{}: dtypes must agree; got x {}, {} {}. Use cast()", op, name(x.dtype()), name_of_it, name(affine.dtype())));
}

// The array with its last `axes` axes as one: the kernels' rows.
Array as_rows(const Array& x, int axes) {
  if (axes == 1 || !x) return x;
  const int outer = x.rank() - axes;
  Shape rows(x.shape().sizes().first(static_cast<std::size_t>(outer)));
  rows.push_back(x.shape().numel(outer, x.rank()));
  return x.reshape(rows);
}

// That shape back.
Array in_shape(const Array& x, const Shape& shape) { return x ? x.reshape(shape) : x; }

}  // namespace

// y = x̂·weight + bias, x̂ = (x − mean)/σ      with g = dy·weight: dx = (g − mean g − x̂·mean(g·x̂))/σ   dweight = Σ dy·x̂   dbias = Σ dy
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const LayerNormOptions& options) {
  const int axes = options.axes;
  check_x("layer_norm", x, axes, options.eps);
  check_affine("layer_norm", x, weight, "weight", axes);
  check_affine("layer_norm", x, bias, "bias", axes);
  kernels::LayerNormResult result =
      kernels::layer_norm(as_rows(x.value(), axes), as_rows(weight.value(), axes), as_rows(bias.value(), axes), options.eps);
  if (axes == 1)
    return record(
        "layer_norm", std::move(result.y),
        wrt({x, weight, bias},
            [X = x.value(), W = weight.value(), stats = std::move(result.stats)](const Array& dy, const Needs<3>& need) -> Grads<3> {
              auto gradients = kernels::layer_norm_backward(dy, X, W, stats, need[0], need[1], need[2]);
              return {std::move(gradients.dx), std::move(gradients.dweight), std::move(gradients.dbias)};
            }));
  const Shape trailing(x.shape().sizes().last(static_cast<std::size_t>(axes)));
  return record(
      "layer_norm", in_shape(result.y, x.shape()),
      wrt({x, weight, bias},
          [X = x.value(), W = as_rows(weight.value(), axes), stats = std::move(result.stats), axes, trailing](
              const Array& dy, const Needs<3>& need) -> Grads<3> {
            const auto gradients = kernels::layer_norm_backward(as_rows(dy, axes), as_rows(X, axes), W, stats, need[0], need[1], need[2]);
            return {in_shape(gradients.dx, X.shape()), in_shape(gradients.dweight, trailing), in_shape(gradients.dbias, trailing)};
          }));
}

// y = x̂·weight, x̂ = x/σ      with g = dy·weight: dx = (g − x̂·mean(g·x̂))/σ   dweight = Σ dy·x̂
Tensor rms_norm(const Tensor& x, const Tensor& weight, const RmsNormOptions& options) {
  const int axes = options.axes;
  check_x("rms_norm", x, axes, options.eps);
  check_affine("rms_norm", x, weight, "weight", axes);
  kernels::RmsNormResult result = kernels::rms_norm(as_rows(x.value(), axes), as_rows(weight.value(), axes), options.eps);
  return record("rms_norm", in_shape(result.y, x.shape()),
                wrt({x, weight},
                    [X = x.value(), W = weight.value(), inverse = std::move(result.inverse), axes](const Array& dy,
                                                                                                   const Needs<2>& need) -> Grads<2> {
                      const auto gradients =
                          kernels::rms_norm_backward(as_rows(dy, axes), as_rows(X, axes), as_rows(W, axes), inverse, need[0], need[1]);
                      return {in_shape(gradients.dx, X.shape()), in_shape(gradients.dweight, W.shape())};
                    }));
}

}  // namespace tapeform
