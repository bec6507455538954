#pragma once
#include <tapeform/core/array.hpp>

namespace tapeform::kernels {

/// z = op(x)·op(y) on the last two axes, `trans_x` and `trans_y` saying that a matrix is stored the other way round. Leading axes are
/// aligned from the right and broadcast; over those in which z is 1 (or has none) and x or y is not, the products are added up, in order.
/// So one kernel gives a product and both its gradients. Shapes have been checked.
Array matmul(const Array& x, bool trans_x, const Array& y, bool trans_y, const Shape& z_shape);

}  // namespace tapeform::kernels
