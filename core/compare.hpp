#pragma once
#include <string>
#include <tapeform/core/array.hpp>
#include <vector>

namespace tapeform {

struct CompareOptions {
  double rtol = 0;         ///< a and b are close when |a − b| ≤ atol + rtol·|b|; equal numbers and equal infinities always are
  double atol = 0;         ///< both 0: equal numbers, where 0 equals −0
  bool equal_nan = false;  ///< NaN in both is equal
};

/// What `compare` found: true when the two agree, and where not when they do not.
struct Comparison {
  bool agree = false;
  Dim differing = 0, elements = 0;
  std::vector<Dim> first, worst;  ///< index of the first element that differs, and of the one that differs most
  double a = 0, b = 0;            ///< the numbers at `worst`
  std::string text;               ///< all of it in words

  explicit operator bool() const noexcept { return agree; }
};

/// Compares the numbers of two arrays; another shape or dtype, or an array that holds nothing, is a difference.
///
///     2 of 6 elements differ: first [0, 1], 1 for 2; most [1, 2], 3 for 7 (by 4, relative 0.571)
Comparison compare(const Array& a, const Array& b, const CompareOptions& options = {});

/// True when every element of a equals b's; where they differ says `compare(a, b)`.
bool all_equal(const Array& a, const Array& b);
/// True when every element of a is close to b's. @throws ValueError for a negative tolerance or NaN.
bool all_close(const Array& a, const Array& b, const CompareOptions& options = {.rtol = 1e-5, .atol = 1e-8});

}  // namespace tapeform
