#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/comparison.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/map.hpp"
#include "kernels/reduce.hpp"
#include "kernels/select.hpp"

namespace tapeform {
namespace {

using kernels::broadcast_to;
using kernels::map;
using kernels::select;
using kernels::sum_to;

// ---- comparisons ----

template <class Relation>
Ids compare(const char* op, const Tensor& a, const Tensor& b) {
  shapes::same_dtype(op, a, b);
  const Shape shape = shapes::broadcast(op, a.shape(), b.shape());
  return kernels::test(Relation(), broadcast_to(a.value(), shape), broadcast_to(b.value(), shape));
}

template <class Relation>
Ids compare(const char* op, const Tensor& a, double b) {
  shapes::filled(op, "a", a);
  return kernels::test([number = kernels::rounded(b, a.dtype())](double v) { return Relation()(v, number); }, a.value());
}

using Less = std::less<double>;
using LessEqual = std::less_equal<double>;
using Greater = std::greater<double>;
using GreaterEqual = std::greater_equal<double>;
using Equal = std::equal_to<double>;
using NotEqual = std::not_equal_to<double>;

}  // namespace

Ids operator<(const Tensor& a, const Tensor& b) { return compare<Less>("less", a, b); }
Ids operator<(const Tensor& a, double b) { return compare<Less>("less", a, b); }
Ids operator<(double a, const Tensor& b) { return b > a; }
Ids operator<=(const Tensor& a, const Tensor& b) { return compare<LessEqual>("less_equal", a, b); }
Ids operator<=(const Tensor& a, double b) { return compare<LessEqual>("less_equal", a, b); }
Ids operator<=(double a, const Tensor& b) { return b >= a; }
Ids operator>(const Tensor& a, const Tensor& b) { return compare<Greater>("greater", a, b); }
Ids operator>(const Tensor& a, double b) { return compare<Greater>("greater", a, b); }
Ids operator>(double a, const Tensor& b) { return b < a; }
Ids operator>=(const Tensor& a, const Tensor& b) { return compare<GreaterEqual>("greater_equal", a, b); }
Ids operator>=(const Tensor& a, double b) { return compare<GreaterEqual>("greater_equal", a, b); }
Ids operator>=(double a, const Tensor& b) { return b <= a; }
Ids equal_to(const Tensor& a, const Tensor& b) { return compare<Equal>("equal_to", a, b); }
Ids equal_to(const Tensor& a, double b) { return compare<Equal>("equal_to", a, b); }
Ids not_equal_to(const Tensor& a, const Tensor& b) { return compare<NotEqual>("not_equal_to", a, b); }
Ids not_equal_to(const Tensor& a, double b) { return compare<NotEqual>("not_equal_to", a, b); }

// ---- the larger, the smaller, between two numbers ----

namespace {

// c = the one of a and b that `first(a, b)` says comes first      da = dc·share(a, b) → a   db = dc·share(b, a) → b
template <class First>
Tensor first_of(const char* op, const Tensor& a, const Tensor& b, const First& first) {
  shapes::same_dtype(op, a, b);
  const Shape shape = shapes::broadcast(op, a.shape(), b.shape());
  const auto choose = [first](double v, double w) { return first(v, w) || std::isnan(v) ? v : w; };
  const auto share = [first](double dc, double v, double w) { return v == w ? 0.5 * dc : first(w, v) ? 0.0 : dc; };
  return record(
      op, map(choose, broadcast_to(a.value(), shape), broadcast_to(b.value(), shape)),
      wrt(a, [A = a.value(), B = b.value(), share](
                 const Array& dc) { return sum_to(map(share, dc, broadcast_to(A, dc.shape()), broadcast_to(B, dc.shape())), A.shape()); }),
      wrt(b, [A = a.value(), B = b.value(), share](const Array& dc) {
        return sum_to(map(share, dc, broadcast_to(B, dc.shape()), broadcast_to(A, dc.shape())), B.shape());
      }));
}

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) { return first_of("maximum", a, b, Greater()); }
Tensor minimum(const Tensor& a, const Tensor& b) { return first_of("minimum", a, b, Less()); }

Tensor clamp(const Tensor& x, const ClampOptions& limits) {
  shapes::filled("clamp", "x", x);
  if (!(limits.min <= limits.max))
    throw ValueError(fmt::format("clamp: min must not be above max; got min = {}, max = {}", limits.min, limits.max));
  const double min = kernels::rounded(limits.min, x.dtype()), max = kernels::rounded(limits.max, x.dtype());
  const auto between = [min, max](double v) { return v < min ? min : std::min(v, max); };
  return record("clamp", map(between, x.value()), wrt(x, [X = x.value(), min, max](const Array& dy) {
                  return map([min, max](double d, double v) { return v < min || v > max ? 0.0 : d; }, dy, X);
                }));
}

// ---- where ----

namespace {

void check_condition(const char* op, const char* name_of_it, const Ids& condition) {
  for (const std::int64_t value : condition.values())
    if (value != 0 && value != 1) throw ValueError(fmt::format("{}: {} must hold 0 and 1 only; got {}", op, name_of_it, value));
}

}  // namespace

Tensor where(const Ids& condition, const Tensor& a, const Tensor& b) {
  shapes::same_dtype("where", a, b);
  const Shape choices = shapes::broadcast("where", a.shape(), b.shape());
  const Shape shape = shapes::broadcast("where", condition.shape(), choices, "condition", "a and b");
  check_condition("where", "condition", condition);
  const Ids C = broadcast_to(condition, shape);
  return record("where", select(C, broadcast_to(a.value(), shape), broadcast_to(b.value(), shape)),
                wrt(a, [C, a_shape = a.shape()](const Array& dc) { return sum_to(select(C, dc, 0.0), a_shape); }),
                wrt(b, [C, b_shape = b.shape()](const Array& dc) { return sum_to(select(C, 0.0, dc), b_shape); }));
}

Tensor where(const Ids& condition, const Tensor& a, double b) {
  shapes::filled("where", "a", a);
  const Shape shape = shapes::broadcast("where", condition.shape(), a.shape(), "condition", "a");
  check_condition("where", "condition", condition);
  const Ids C = broadcast_to(condition, shape);
  return record("where", select(C, broadcast_to(a.value(), shape), b),
                wrt(a, [C, a_shape = a.shape()](const Array& dc) { return sum_to(select(C, dc, 0.0), a_shape); }));
}

Tensor where(const Ids& condition, double a, const Tensor& b) {
  shapes::filled("where", "b", b);
  const Shape shape = shapes::broadcast("where", condition.shape(), b.shape(), "condition", "b");
  check_condition("where", "condition", condition);
  const Ids C = broadcast_to(condition, shape);
  return record("where", select(C, a, broadcast_to(b.value(), shape)),
                wrt(b, [C, b_shape = b.shape()](const Array& dc) { return sum_to(select(C, 0.0, dc), b_shape); }));
}

Tensor masked_fill(const Tensor& x, const Ids& mask, double value) {
  shapes::filled("masked_fill", "x", x);
  if (shapes::broadcast("masked_fill", x.shape(), mask.shape(), "x", "mask") != x.shape())
    throw ShapeError(fmt::format("masked_fill: mask must broadcast to x; got x {}, mask {}", x.shape().str(), mask.shape().str()));
  check_condition("masked_fill", "mask", mask);
  const Ids M = broadcast_to(mask, x.shape());
  return record("masked_fill", select(M, value, x.value()), wrt(x, [M](const Array& dy) { return select(M, 0.0, dy); }));
}

}  // namespace tapeform
