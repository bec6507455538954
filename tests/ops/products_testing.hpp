#pragma once
#include "message.hpp"
#include <cmath>
#include <string>
#include <tapeform/core/array.hpp>
#include <vector>

#include "threads.hpp"

namespace products_testing {

using namespace tapeform;

/// Fixed numbers in [−1, 1], other ones for another seed.
inline Array numbers(const Shape& shape, int seed, DType dtype = DType::float64) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  std::uint32_t state = 17u + static_cast<std::uint32_t>(seed) * 977u;
  for (double& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<double>((state >> 16) % 2001) / 1000 - 1;
  }
  return Array::of(shape, std::span<const double>(values)).cast(dtype);
}

/// Largest |a − b|; infinite when shapes or dtypes differ or a number is not one.
inline double distance(const Array& a, const Array& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return INFINITY;
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = std::fabs(x[i] - y[i]);
    if (!(d <= worst)) worst = std::isnan(d) ? INFINITY : d;
  }
  return worst;
}

/// f() with 1 thread has the bits of f() with 2, and helpers took part: tried again until they do.
template <class F>
bool same_with_two_threads(F f) {
  const std::vector<Array> one = [&] {
    const Threads only(1);
    return f();
  }();
  const Threads both(2);
  bool same = true;
  const bool helped = until_helped([&] {
    const std::vector<Array> two = f();
    for (std::size_t i = 0; i < one.size(); ++i) same = same && same_bits(one[i], two[i]);
  });
  return same && helped;
}

}  // namespace products_testing
