#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tapeform/core/array.hpp>
#include <tapeform/core/random.hpp>
#include <vector>

#include "threads.hpp"

/// Numbers for tests of ops, and what is said of them.
namespace numbers {

using namespace tapeform;

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double inf = std::numeric_limits<double>::infinity();

/// Sizes around the widths of vectors, at which kernels change from whole vectors to what is left over.
inline const std::vector<Dim> widths{1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129};

inline Array random(const Shape& shape, std::uint64_t seed, DType dtype = DType::float64) {
  Rng rng(seed);
  return normal(shape, 0, 1, rng, dtype);
}

/// max |a − b| over max(1, |b|) of all; infinite when shapes differ or either holds a NaN.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return inf;
  double worst = 0, largest = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= worst)) worst = std::isnan(a[i] - b[i]) ? inf : std::abs(a[i] - b[i]);
    largest = std::max(largest, std::abs(b[i]));
  }
  return worst / largest;
}
inline double distance(const Array& a, const Array& b) { return a.shape() == b.shape() ? distance(a.to_vector(), b.to_vector()) : inf; }
inline double distance(const Array& a, const std::vector<double>& b) { return distance(a.to_vector(), b); }

/// How close a result in `dtype` comes to the right one.
inline double tolerance(DType dtype) { return dtype == DType::float32 ? 2e-6 : 1e-14; }

/// f() on one thread and on two: true when the bits agree, and helpers ran a part at some time.
template <class F>
bool same_on_two_threads(const F& f) {
  const std::vector<Array> one = [&f] {
    const Threads only(1);
    return f();
  }();
  const Threads both(2);
  bool same = true, helped = true;
  for (int run = 0; run < 3; ++run)
    helped = helped && until_helped([&] {
               const std::vector<Array> two = f();
               for (std::size_t i = 0; i < one.size(); ++i) same = same && same_bits(one[i], two[i]);
             });
  return same && helped;
}

}  // namespace numbers
