#pragma once
#include <initializer_list>
#include <span>
#include <tapeform/core/array.hpp>
#include <tapeform/core/ids.hpp>
#include <vector>

namespace tapeform {

// Beside these: Array::zeros, ones, full and of (numbers for a shape), and uniform and normal, which draw from an Rng.

/// A number, or a list of lists of numbers down to any depth; lives as long as the expression that it is written in.
class Nested {
 public:
  Nested(double number) : number_(number), is_number_(true) {}
  Nested(std::initializer_list<Nested> items) : items_(std::data(items)), size_(items.size()) {}

  bool is_number() const noexcept { return is_number_; }
  double number() const noexcept { return number_; }
  std::span<const Nested> items() const noexcept { return {items_, size_}; }

 private:
  const Nested* items_ = nullptr;
  std::size_t size_ = 0;
  double number_ = 0;
  bool is_number_ = false;
};

/// Numbers in the shape in which they are written: `array_of({{1, 2, 3}, {4, 5, 6}})` is [2, 3].
/// @throws ShapeError when lists of one axis differ in length, or there are more than 8 axes.
Array array_of(std::initializer_list<Nested> items, DType dtype = DType::float32);
/// One axis, of the numbers' own dtype; vectors and std::arrays are spans.
Array array_of(std::span<const float> numbers);
Array array_of(std::span<const double> numbers);
/// Rows of one length, float or double. @throws ShapeError when lengths differ.
template <class T>
Array array_of(const std::vector<std::vector<T>>& rows);
/// Ids as numbers. Above 2²⁴ float32 rounds them, above 2⁵³ float64.
Array array_of(const Ids& ids, DType dtype = DType::float32);

/// begin, begin + step, …, up to and without `end`: max(0, ⌈(end − begin)/step⌉) numbers, each worked out from its index.
/// @throws ValueError unless all are finite and the step is not 0.
Array arange(double begin, double end, double step = 1, DType dtype = DType::float32);
/// 0, 1, …, up to and without `end`. @throws ValueError unless it is finite.
Array arange(double end, DType dtype = DType::float32);
/// `count` numbers at equal distances from `first` to `last`, both included; `first` alone when it is 1.
/// @throws ValueError unless both are finite and count is not negative.
Array linspace(double first, double last, Dim count, DType dtype = DType::float32);
/// Ones on the diagonal of [rows, columns], zeros elsewhere. @throws ShapeError for a negative size.
Array eye(Dim rows, Dim columns, DType dtype = DType::float32);
Array eye(Dim size, DType dtype = DType::float32);

namespace detail {
[[noreturn]] void throw_ragged(Dim one, Dim other);
}

template <class T>
Array array_of(const std::vector<std::vector<T>>& rows) {
  const std::size_t columns = rows.empty() ? 0 : rows.front().size();
  Array x({static_cast<Dim>(rows.size()), static_cast<Dim>(columns)}, dtype_of_v<T>);
  T* to = x.mutable_data<T>();
  for (const std::vector<T>& row : rows) {
    if (row.size() != columns) detail::throw_ragged(static_cast<Dim>(columns), static_cast<Dim>(row.size()));
    for (const T number : row) *to++ = number;
  }
  return x;
}

}  // namespace tapeform
