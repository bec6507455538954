#pragma once
#include <limits>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/tensor.hpp>

namespace tapeform {

// Comparing and choosing, element by element. Shapes broadcast as those of a + b do; "→ a" is the sum over the axes along which a was
// repeated. Every function @throws ValueError when an input holds nothing, ShapeError when shapes do not broadcast, DTypeError when dtypes
// differ.

// ---- comparisons: `Ids` of 0 and 1, which is what `where`, `masked_fill` and `keep_rows` take. Nothing to differentiate. ----
//
// As IEEE 754 has it a NaN is unequal to everything, itself too, and neither less nor greater. A number takes the tensor's dtype first.

Ids operator<(const Tensor& a, const Tensor& b);
Ids operator<(const Tensor& a, double b);
Ids operator<(double a, const Tensor& b);
Ids operator<=(const Tensor& a, const Tensor& b);
Ids operator<=(const Tensor& a, double b);
Ids operator<=(double a, const Tensor& b);
Ids operator>(const Tensor& a, const Tensor& b);
Ids operator>(const Tensor& a, double b);
Ids operator>(double a, const Tensor& b);
Ids operator>=(const Tensor& a, const Tensor& b);
Ids operator>=(const Tensor& a, double b);
Ids operator>=(double a, const Tensor& b);
/// 1 where a and b are equal (0 and -0 are). Named, because a == b that is a table of 0 and 1 would surprise in an `if`.
Ids equal_to(const Tensor& a, const Tensor& b);
Ids equal_to(const Tensor& a, double b);
Ids not_equal_to(const Tensor& a, const Tensor& b);
Ids not_equal_to(const Tensor& a, double b);

// ---- choosing ----

/// c = the larger of a and b.   da = dc where a > b, dc/2 where a = b, 0 elsewhere → a;   db likewise.   NaN where either is NaN; both get
/// dc there.
Tensor maximum(const Tensor& a, const Tensor& b);
/// c = the smaller of a and b, otherwise as `maximum`.
Tensor minimum(const Tensor& a, const Tensor& b);

struct ClampOptions {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

/// y = x, but no less than min and no more than max: `clamp(x, {.min = 0, .max = 1})`.   dx = dy where min ≤ x ≤ max, both ends included,
/// 0 elsewhere.   NaN stays NaN, and its gradient is dy.
/// @throws ValueError unless min ≤ max.
Tensor clamp(const Tensor& x, const ClampOptions& limits);

/// c = a where `condition` is 1, b where it is 0; one of a and b may be a number.   da = dc where `condition` is 1, 0 elsewhere → a;
/// db = 0 where it is 1, dc elsewhere → b.
///
/// What is not selected reaches neither the result nor, by itself, a gradient, whatever it holds. It gets a gradient of 0, though, and an
/// op before `where` may make 0·inf = NaN of that. The functions with poles (log, log1p, log2, sqrt, rsqrt, pow) do not:
///
///     where(x > 0.0, log(x), 0.0)                          // dx = 0 where x ≤ 0
///     where(x > 0.0, 1.0 / where(x > 0.0, x, 1.0), 0.0)    // for any other op: keep its input out of harm's way
/// @throws ValueError unless `condition` holds 0 and 1 only.
Tensor where(const Ids& condition, const Tensor& a, const Tensor& b);
Tensor where(const Ids& condition, const Tensor& a, double b);
Tensor where(const Ids& condition, double a, const Tensor& b);

/// y = value where `mask` is 1, x elsewhere. The mask broadcasts to x's shape.   dx = 0 where `mask` is 1, dy elsewhere.
///
/// As in torch, 1 = filled: the opposite of `Mask`, where true = may attend.
/// @throws ShapeError when the mask does not broadcast to x, ValueError unless it holds 0 and 1 only.
Tensor masked_fill(const Tensor& x, const Ids& mask, double value);

}  // namespace tapeform
