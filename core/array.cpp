#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tapeform/core/array.hpp>
#include <tapeform/core/error.hpp>

#include "kernels/accumulate.hpp"

namespace tapeform {

static std::size_t bytes_for(const Shape& shape, DType dtype) {
  if (dtype != DType::float32 && dtype != DType::float64)
    throw ValueError("array: a dtype is float32 or float64; got the dtype of an array that holds nothing");
  const Dim count = shape.numel();
  if (count > (Dim{1} << 44))
    throw ShapeError(fmt::format("array: {} elements are more than any memory holds; got shape {}", count, shape.str()));
  return static_cast<std::size_t>(count) * size_of(dtype);
}

Array::Array(const Shape& shape, DType dtype) : buffer_(bytes_for(shape, dtype)), shape_(shape), dtype_(dtype) {}

Array Array::zeros(const Shape& shape, DType dtype) {
  Array array(shape, dtype);
  std::memset(array.buffer_.bytes(), 0, bytes_for(shape, dtype));
  return array;
}

Array Array::full(const Shape& shape, double value, DType dtype) {
  Array array(shape, dtype);
  dispatch(dtype, [&]<class T>(T) {
    array.write<T>([&](std::span<T> numbers) { std::fill(numbers.begin(), numbers.end(), static_cast<T>(value)); });
  });
  return array;
}

template <class To, class From>
static Array copied(const Shape& shape, std::span<const From> values) {
  if (static_cast<Dim>(values.size()) != shape.numel())
    throw ShapeError(fmt::format("array: one value per element; got {} values for shape {}", values.size(), shape.str()));
  Array array(shape, dtype_of_v<To>);
  std::transform(values.begin(), values.end(), array.mutable_data<To>(), [](From value) { return static_cast<To>(value); });
  return array;
}

Array Array::of(const Shape& shape, std::span<const float> values) { return copied<float>(shape, values); }
Array Array::of(const Shape& shape, std::span<const double> values) { return copied<double>(shape, values); }
Array Array::of(const Shape& shape, std::initializer_list<double> values, DType dtype) {
  const std::span<const double> numbers(values.begin(), values.size());
  return dispatch(dtype, [&]<class T>(T) { return copied<T>(shape, numbers); });
}

Array Array::adopt(const Shape& shape, DType dtype, void* numbers, void* owner, void (*release)(void* owner) noexcept) {
  bytes_for(shape, dtype);
  Array array;
  array.buffer_ = detail::BufferRef(detail::adopted_buffer(numbers, owner, release));
  array.shape_ = shape;
  array.dtype_ = dtype;
  return array;
}

double Array::item() const {
  if (!buffer_ || numel() != 1) throw ShapeError(fmt::format("item: exactly one element; got {}", buffer_ ? shape_.str() : "no array"));
  return dispatch(dtype_, [&]<class T>(T) { return static_cast<double>(*data<T>()); });
}

double Array::at(std::initializer_list<Dim> index) const {
  const Dim position = shape_.offset(index);
  return dispatch(dtype_, [&]<class T>(T) { return static_cast<double>(data<T>()[position]); });
}

std::vector<double> Array::to_vector() const {
  return dispatch(dtype_, [&]<class T>(T) {
    const auto numbers = values<T>();
    return std::vector<double>(numbers.begin(), numbers.end());
  });
}

Array Array::reshape(const Shape& shape) const {
  if (shape.numel() != numel())
    throw ShapeError(fmt::format("reshape: the number of elements must stay {}; got {} to {}", numel(), shape_.str(), shape.str()));
  Array view = *this;
  view.shape_ = shape;
  return view;
}

Array Array::reshape(std::initializer_list<Dim> sizes) const {
  Dim known = 1;
  const Dim* inferred = nullptr;
  for (const Dim& size : sizes) {
    if (size != -1) {
      if (__builtin_mul_overflow(known, size, &known)) known = 0;
    } else if (inferred)
      throw ShapeError(fmt::format("reshape: only one size may be -1; got two for {}", shape_.str()));
    else {
      inferred = &size;
    }
  }
  Shape shape;
  for (const Dim& size : sizes) {
    if (&size != inferred)
      shape.push_back(size);
    else if (known > 0 && numel() % known == 0)
      shape.push_back(numel() / known);
    else
      throw ShapeError(fmt::format("reshape: {} elements do not divide by {}; got {}. No size fits the -1", numel(), known, shape_.str()));
  }
  return reshape(shape);
}

Array Array::rows(Dim begin, Dim end) const {
  if (rank() == 0 || begin < 0 || end < begin || end > shape_[0])
    throw ShapeError(fmt::format("rows: [{}, {}) must lie within the leading axis; got {}", begin, end, shape_.str()));
  Array view = *this;
  view.offset_ += static_cast<std::size_t>(begin * shape_.numel(1, rank())) * size_of(dtype_);
  view.shape_.set(0, end - begin);
  return view;
}

Array Array::cast(DType dtype) const {
  if (dtype == dtype_ || !buffer_) return *this;
  return dispatch(dtype_,
                  [&]<class From>(From) { return dispatch(dtype, [&]<class To>(To) { return copied<To>(shape_, values<From>()); }); });
}

Array& Array::operator+=(const Array& other) {
  if (other.shape_ != shape_) throw ShapeError(fmt::format("+=: shapes must agree; got {} and {}", shape_.str(), other.shape_.str()));
  if (other.dtype_ != dtype_)
    throw DTypeError(fmt::format("+=: dtypes must agree; got {} and {}. Use cast()", name(dtype_), name(other.dtype_)));
  kernels::add_into(*this, other);
  return *this;
}

void Array::throw_type(DType wanted) const {
  if (!buffer_)
    throw ValueError(
        "array: it holds nothing (default-constructed, moved from, or a gradient that is not there). Test it with `if (array)`");
  throw DTypeError(fmt::format("array: its numbers are {}; asked for as {}. Use cast()", name(dtype_), name(wanted)));
}

void Array::make_unique() {
  if (buffer_.unique()) return;
  detail::count_copy();
  const std::size_t bytes = bytes_for(shape_, dtype_);
  detail::BufferRef copy(bytes);
  if (bytes > 0) std::memcpy(copy.bytes(), raw(), bytes);
  buffer_ = std::move(copy);
  offset_ = 0;
}

bool same_bits(const Array& a, const Array& b) noexcept {
  if (!a || !b) return !a && !b;
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const std::size_t bytes = static_cast<std::size_t>(a.numel()) * size_of(a.dtype());
  return dispatch(a.dtype(), [&]<class T>(T) { return bytes == 0 || std::memcmp(a.data<T>(), b.data<T>(), bytes) == 0; });
}

}  // namespace tapeform
