#include <tapeform/core/compare.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tapeform/core/error.hpp>

#include "detail/index.hpp"

namespace tapeform {

namespace {

std::string kind_of(const Array& x) { return x ? fmt::format("{} {}", name(x.dtype()), x.shape().str()) : "nothing"; }

bool close(double a, double b, const CompareOptions& options) {
  if (a == b) return true;
  if (std::isnan(a) || std::isnan(b)) return options.equal_nan && std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::abs(a - b) <= options.atol + options.rtol * std::abs(b);
}

double size_of_difference(double a, double b) {
  const double difference = std::abs(a - b);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

template <class T>
void compare_numbers(const Array& a, const Array& b, const CompareOptions& options, Comparison& result) {
  const T *const x = a.data<T>(), *const y = b.data<T>();
  Dim first = -1, worst = -1;
  for (Dim i = 0; i < a.numel(); ++i) {
    const auto one = static_cast<double>(x[i]), other = static_cast<double>(y[i]);
    if (close(one, other, options)) continue;
    ++result.differing;
    if (first < 0) first = i;
    if (worst >= 0 && size_of_difference(one, other) <= size_of_difference(result.a, result.b)) continue;
    worst = i;
    result.a = one;
    result.b = other;
  }
  result.agree = result.differing == 0;
  result.text = "all elements agree";
  if (result.agree) return;
  result.first = detail::index_of(a.shape(), first);
  result.worst = detail::index_of(a.shape(), worst);
  const double by = std::abs(result.a - result.b);
  result.text =
      fmt::format("{} of {} elements differ: first [{}], {:.9g} for {:.9g}; most [{}], {:.9g} for {:.9g} (by {:.3g}, relative {:.3g})",
                  result.differing, result.elements, fmt::join(result.first, ", "), static_cast<double>(x[first]),
                  static_cast<double>(y[first]), fmt::join(result.worst, ", "), result.a, result.b, by, by / std::abs(result.b));
}

}  // namespace

Comparison compare(const Array& a, const Array& b, const CompareOptions& options) {
  if (!(options.rtol >= 0 && options.atol >= 0))
    throw ValueError(fmt::format("compare: tolerances must not be negative; got rtol {}, atol {}", options.rtol, options.atol));
  Comparison result;
  if (!a && !b) {
    result.agree = true;
    result.text = "both hold nothing";
  } else if (!a || !b || a.dtype() != b.dtype() || a.shape() != b.shape()) {
    result.text = fmt::format("{} is no {}", kind_of(a), kind_of(b));
  } else {
    result.elements = a.numel();
    dispatch(a.dtype(), [&]<class T>(T) { compare_numbers<T>(a, b, options, result); });
  }
  return result;
}

bool all_equal(const Array& a, const Array& b) { return compare(a, b).agree; }
bool all_close(const Array& a, const Array& b, const CompareOptions& options) { return compare(a, b, options).agree; }

}  // namespace tapeform
