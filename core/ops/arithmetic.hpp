#pragma once
#include <tapeform/core/tensor.hpp>

namespace tapeform {

// Element by element. Shapes broadcast by one rule: aligned at their last axes, two sizes must be equal or one of them 1 (an axis that is
// not there counts as 1), and the larger is the result's. [3] with [3, 1] is a [3, 3] table, by this rule; where a shape is meant to be
// exactly another (losses and their targets), the op that means it checks it.
//
// In the derivatives, "→ a" stands for the sum over the axes along which a was repeated: the gradient has a's own shape.
// Every operator @throws ShapeError when the shapes do not broadcast, DTypeError when the dtypes differ. A number takes the tensor's dtype.

/// c = a + b.   da = dc → a,   db = dc → b.
Tensor operator+(const Tensor& a, const Tensor& b);
/// c = a - b.   da = dc → a,   db = -dc → b.
Tensor operator-(const Tensor& a, const Tensor& b);
/// c = a·b.   da = dc·b → a,   db = dc·a → b.
Tensor operator*(const Tensor& a, const Tensor& b);
/// c = a/b.   da = dc/b → a,   db = -(dc·c → b)/b.   IEEE: 1/0 is inf, 0/0 NaN.
Tensor operator/(const Tensor& a, const Tensor& b);
/// y = -x.   dx = -dy.
Tensor operator-(const Tensor& x);

Tensor operator+(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(const Tensor& a, double b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(const Tensor& a, double b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(const Tensor& a, double b);
Tensor operator/(double a, const Tensor& b);

/// y = eˣ.   dx = dy·y.   0 and inf where it leaves the dtype, denormal numbers on the way.
Tensor exp(const Tensor& x);
/// y = ln x.   dx = dy/x, and 0 where dy is 0.   -inf at 0, NaN under 0.
Tensor log(const Tensor& x);
/// y = √x.   dx = dy/(2·y), and 0 where dy is 0.   At x = 0 the derivative is inf: a norm written as sqrt(sum(x * x)) gets inf·0 = NaN
/// at x = 0. NaN under 0.
Tensor sqrt(const Tensor& x);
/// y = tanh x.   dx = dy·(1 - y²).
Tensor tanh(const Tensor& x);

}  // namespace tapeform
