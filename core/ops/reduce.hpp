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

struct VarOptions {
  double correction = 1;  ///< taken from n in the divisor; 1 estimates without bias, 0 gives the mean of squared deviations
  bool keepdims = false;
};

/// y = Σ (x − mean)² / max(n − correction, 0) over all elements, or over `axes` of n elements each. NaN where the divisor is 0 and
/// all are equal, as for a single number.
///
/// dx = 2·dy·(x − mean)/(n − correction). The mean is taken out twice, so numbers far from 0 lose nothing.
/// @throws ShapeError for an axis that is not there, or given twice.
Tensor var(const Tensor& x, VarOptions options = {});
Tensor var(const Tensor& x, std::span<const int> axes, VarOptions options = {});
Tensor var(const Tensor& x, std::initializer_list<int> axes, VarOptions options = {});

/// y = √var(x), the standard deviation. (A function `std` could not be called where `using namespace tapeform` meets the namespace std.)
///
/// dx = dy·(x − mean)/((n − correction)·y), and 0 where y = 0: of equal numbers, no direction is better than its opposite.
/// @throws ShapeError for an axis that is not there, or given twice.
Tensor stddev(const Tensor& x, VarOptions options = {});
Tensor stddev(const Tensor& x, std::span<const int> axes, VarOptions options = {});
Tensor stddev(const Tensor& x, std::initializer_list<int> axes, VarOptions options = {});

struct NormOptions {
  double p = 2;  ///< 1, 2 or infinity
  bool keepdims = false;
};

/// The p-norm of all elements, or over `axes`: y = √Σ x² (p = 2), Σ |x| (p = 1), max |x| (p = infinity). Squares of any finite
/// numbers are summed without overflow. The norm of nothing is 0.
///
/// p = 2: dx = dy·x/y. p = 1: dx = dy·sign(x). p = infinity: dx = dy·sign(x) where |x| = y, in equal parts. Where y = 0 the gradient
/// is 0 (a subgradient), so norm(x)·norm(x) has gradient 0 there, not NaN; a norm written as sqrt(sum(x * x)) has not.
/// @throws ValueError for another p, ShapeError for an axis that is not there, or given twice.
Tensor norm(const Tensor& x, NormOptions options = {});
Tensor norm(const Tensor& x, std::span<const int> axes, NormOptions options = {});
Tensor norm(const Tensor& x, std::initializer_list<int> axes, NormOptions options = {});

/// The largest of all elements, or over `axes`. A NaN makes its slice NaN.
///
/// dx = dy at the largest; several of them share it in equal parts.
/// @throws ShapeError when there is nothing to choose from, and for an axis that is not there, or given twice.
Tensor max(const Tensor& x);
Tensor max(const Tensor& x, std::span<const int> axes, ReduceOptions options = {});
Tensor max(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options = {});

/// The smallest of all elements, or over `axes`; as `max` in all else.
Tensor min(const Tensor& x);
Tensor min(const Tensor& x, std::span<const int> axes, ReduceOptions options = {});
Tensor min(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options = {});

/// y = Π x over all elements, or over `axes`. The product of nothing is 1.
///
/// dx_i = dy · Π_{j≠i} x_j, multiplied up from both ends and never divided, so it is right with any number of zeros.
/// @throws ShapeError for an axis that is not there, or given twice.
Tensor prod(const Tensor& x);
Tensor prod(const Tensor& x, std::span<const int> axes, ReduceOptions options = {});
Tensor prod(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options = {});

/// y = max + log Σ exp(x − max) over all elements, or over `axes`: the logarithm of a sum of exponentials, without overflow.
///
/// dx = dy · exp(x − max)/Σ exp(x − max). A slice that is −inf throughout, or empty, gives −inf, and dx = 0 there; one that holds inf
/// gives inf, and dx = dy in equal parts where x is inf. A NaN makes its slice NaN.
/// @throws ShapeError for an axis that is not there, or given twice.
Tensor logsumexp(const Tensor& x);
Tensor logsumexp(const Tensor& x, std::span<const int> axes, ReduceOptions options = {});
Tensor logsumexp(const Tensor& x, std::initializer_list<int> axes, ReduceOptions options = {});

struct CumsumOptions {
  bool reverse = false;  ///< from the last element to the first
};

/// y_i = Σ_{j≤i} x_j along one axis (Σ_{j≥i} with `reverse`), in x's shape, held in double precision on the way.
///
/// dx_i = Σ_{j≥i} dy_j (Σ_{j≤i} with `reverse`).
/// @throws ShapeError when there is no such axis.
Tensor cumsum(const Tensor& x, int axis, CumsumOptions options = {});

}  // namespace tapeform
