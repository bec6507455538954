#pragma once
#include <string>
#include <tapeform/core/array.hpp>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/tensor.hpp>

namespace tapeform {

struct PrintOptions {
  int precision = 6;     ///< digits after the point at most; fewer when no number needs them
  Dim threshold = 1000;  ///< with more elements, only the ends of every axis are written
  Dim edge = 3;          ///< how many at each end
  int width = 100;       ///< columns of a line
};

/// The numbers in nested brackets and columns, then dtype and shape, as numpy writes arrays:
///
///     [[1.  , 2.25],
///      [3.  , 4.  ]] float32 [2, 2]
///
/// Sizes that differ widely are written with an exponent. A tensor that has a place on a tape ends in `, recorded`: gradients flow
/// through it. What holds nothing is `nothing`. @throws ValueError for a negative precision, edge or width.
std::string to_string(const Array& x, const PrintOptions& options = {});
std::string to_string(const Tensor& x, const PrintOptions& options = {});
std::string to_string(const Ids& ids, const PrintOptions& options = {});

}  // namespace tapeform
