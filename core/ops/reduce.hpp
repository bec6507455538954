#pragma once
#include <initializer_list>
#include <span>
#include <tapeform/core/tensor.hpp>

namespace tapeform {

struct ReduceOptions {
  bool keepdims = false;  ///< axes that were reduced stay with size 1
};

/// y = Σ x over all elements, a scalar of shape [].   dx = dy, repeated.   Nothing sums to 0.
///
/// Sums are taken in double precision and in an order that depends on the shape alone: a float32 sum of millions is right to its last
/// bit or two, and has the same bits with any number of threads.
Tensor sum(const Tensor& x);
/// y = Σ x over `axes`, in any order; negative axes count from the last. No axes: y = x.   dx = dy, repeated along the axes.
///
///     sum(x, {0})                          // [N, D] -> [D]
///     sum(x, {-1}, {.keepdims = true})     // [N, D] -> [N, 1]
/// @throws ShapeError for an axis that is not there, or given twice.
Tensor sum(const Tensor& x, std::span<const int> axes, ReduceOptions options = {});
Tensor sum(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options = {});

/// y = Σ x / n over all n elements.   dx = dy/n, repeated.   The mean of nothing is NaN.
Tensor mean(const Tensor& x);
/// y = Σ x / n over `axes`, n elements each.   dx = dy/n, repeated along the axes.
/// @throws ShapeError for an axis that is not there, or given twice.
Tensor mean(const Tensor& x, std::span<const int> axes, ReduceOptions options = {});
Tensor mean(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options = {});

}  // namespace tapeform
