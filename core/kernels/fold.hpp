#pragma once
#include <cstdint>
#include <tapeform/core/array.hpp>

// Reductions that need all numbers of a slice at once, with their derivatives. Sums and products are held in double precision, and
// every slice is worked out by one thread in one order.

namespace tapeform::kernels {

enum class Fold : std::uint8_t { var, stddev, norm_1, norm_2, norm_inf, max, min, prod, logsumexp };

/// Any axes of an array as the last one of [outer, n]: the axes that are reduced go behind those that stay.
class FoldAxes {
 public:
  FoldAxes(const Shape& x, std::uint32_t bits);

  Dim outer = 1, n = 1;
  Array to_rows(const Array& x) const;       ///< shares the buffer when the reduced axes are the last ones
  Array from_rows(const Array& rows) const;  ///< the inverse, in x's shape

 private:
  Shape shape_, moved_;
  int order_[Shape::max_rank] = {}, back_[Shape::max_rank] = {};
};

/// One number for every slice, under the shape `result`. `correction` is taken from n in the divisor of var and stddev. max and min
/// need n ≥ 1; of nothing, var and stddev are NaN, norms 0, prod 1, logsumexp −inf.
Array fold(Fold op, const Array& x, const FoldAxes& axes, const Shape& result, double correction = 0);
/// dx from x, from what `fold` made of it and from its gradient dy.
Array fold_gradient(Fold op, const Array& x, const Array& y, const Array& dy, const FoldAxes& axes, double correction = 0);

}  // namespace tapeform::kernels
