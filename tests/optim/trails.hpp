#pragma once
#include <span>
#include <tapeform/core/array.hpp>
#include <vector>

/// What golden tests of training share: one step of many, and many steps as one array.
namespace {

/// Row t of an array, without its leading axis.
[[maybe_unused]] tapeform::Array step_of(const tapeform::Array& steps, tapeform::Dim t) {
  tapeform::Shape shape;
  for (int axis = 1; axis < steps.rank(); ++axis) shape.push_back(steps.dim(axis));
  return steps.rows(t, t + 1).reshape(shape);
}

/// Arrays of one shape, stacked along a new leading axis.
[[maybe_unused]] tapeform::Array stack(const std::vector<tapeform::Array>& rows, tapeform::DType dtype) {
  tapeform::Shape shape{static_cast<tapeform::Dim>(rows.size())};
  for (const tapeform::Dim size : rows.front().shape().sizes()) shape.push_back(size);
  std::vector<double> numbers;
  for (const tapeform::Array& row : rows) {
    const std::vector<double> values = row.to_vector();
    numbers.insert(numbers.end(), values.begin(), values.end());
  }
  return tapeform::Array::of(shape, std::span<const double>(numbers)).cast(dtype);
}

}  // namespace
