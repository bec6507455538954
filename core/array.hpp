#pragma once
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <tapeform/core/buffer.hpp>
#include <tapeform/core/dtype.hpp>
#include <tapeform/core/shape.hpp>
#include <utility>
#include <vector>

namespace tapeform {

/// Plain numbers: one shared 64-byte-aligned buffer, a shape, a dtype; row-major and contiguous. A copy shares the buffer; writing
/// to a buffer that anyone else holds copies it first, so a copy never changes behind its owner's back. A default-constructed
/// Array holds nothing and tests false, which is not an array of zeros and not an empty one.
class Array {
 public:
  Array() = default;
  Array(const Array&) = default;
  /// What was moved from holds nothing.
  Array(Array&& other) noexcept
      : buffer_(std::move(other.buffer_)), offset_(other.offset_), shape_(other.shape_), dtype_(std::exchange(other.dtype_, no_dtype)) {
    other.shape_.clear();
  }
  Array& operator=(const Array&) = default;
  Array& operator=(Array&& other) noexcept {
    if (this == &other) return *this;
    buffer_ = std::move(other.buffer_);
    offset_ = other.offset_;
    shape_ = other.shape_;
    dtype_ = std::exchange(other.dtype_, no_dtype);
    other.shape_.clear();
    return *this;
  }
  /// Uninitialised numbers. @throws ShapeError when the size is impossible, MemoryError when there is no room.
  explicit Array(const Shape& shape, DType dtype = DType::float32);

  static Array zeros(const Shape& shape, DType dtype = DType::float32);
  static Array ones(const Shape& shape, DType dtype = DType::float32) { return full(shape, 1.0, dtype); }
  static Array full(const Shape& shape, double value, DType dtype = DType::float32);
  /// Copies `values`, row-major. @throws ShapeError unless there is one for every element.
  static Array of(const Shape& shape, std::span<const float> values);
  static Array of(const Shape& shape, std::span<const double> values);
  /// From numbers written out; `dtype` is the array's.
  static Array of(const Shape& shape, std::initializer_list<double> values, DType dtype = DType::float32);

  /// Numbers that stand elsewhere, row-major, without a copy: `release(owner)` is called when the last array that shares them has let
  /// go. Until then nobody else writes or frees them. @throws ShapeError when the size is impossible, without a call of `release`.
  template <class T>
  static Array adopt(const Shape& shape, T* numbers, void* owner, void (*release)(void* owner) noexcept) {
    return adopt(shape, dtype_of_v<T>, numbers, owner, release);
  }

  explicit operator bool() const noexcept { return static_cast<bool>(buffer_); }
  const Shape& shape() const noexcept { return shape_; }
  DType dtype() const noexcept { return dtype_; }
  int rank() const noexcept { return shape_.rank(); }
  Dim dim(int axis) const { return shape_[axis]; }
  Dim numel() const { return shape_.numel(); }

  /// The numbers, to read. @throws DTypeError unless T is the array's own type.
  template <class T>
  const T* data() const {
    check_type(dtype_of_v<T>);
    return static_cast<const T*>(raw());
  }
  /// The numbers, to write; copies first when the buffer is shared. The pointer is dead after any copy of the array: for anything
  /// longer than a loop use `write`. @throws DTypeError unless T is the array's own type.
  template <class T>
  T* mutable_data() {
    check_type(dtype_of_v<T>);
    make_unique();
    return static_cast<T*>(const_cast<void*>(raw()));
  }
  template <class T>
  std::span<const T> values() const {
    return {data<T>(), static_cast<std::size_t>(numel())};
  }
  /// Calls `f(std::span<T>)` with the numbers of this array alone.
  template <class T, class F>
  void write(F&& f) {
    f(std::span<T>(mutable_data<T>(), static_cast<std::size_t>(numel())));
  }

  /// The one element, as a double. @throws ShapeError unless there is exactly one.
  double item() const;
  /// One element by its index on every axis. @throws ShapeError when it is outside.
  double at(std::initializer_list<Dim> index) const;
  /// All numbers as doubles, row-major.
  std::vector<double> to_vector() const;

  /// The same numbers under another shape; shares the buffer. One size may be −1: it is worked out.
  /// @throws ShapeError unless the number of elements is the same.
  Array reshape(const Shape& shape) const;
  Array reshape(std::initializer_list<Dim> sizes) const;
  /// Rows [begin, end) of the leading axis; shares the buffer. @throws ShapeError when they are outside.
  Array rows(Dim begin, Dim end) const;
  /// Numbers converted to another dtype (to the nearest); shares the buffer when it is the same.
  Array cast(DType dtype) const;

  /// Adds in place, without a copy when this array owns its buffer alone. @throws ShapeError, DTypeError unless both agree.
  Array& operator+=(const Array& other);

  bool shares_buffer_with(const Array& other) const noexcept { return buffer_ && buffer_.get() == other.buffer_.get(); }
  /// True when `other` is this very view: the same buffer, place, shape and dtype.
  bool is_same(const Array& other) const noexcept {
    return buffer_.get() == other.buffer_.get() && offset_ == other.offset_ && dtype_ == other.dtype_ && shape_ == other.shape_;
  }

 private:
  const void* raw() const noexcept { return buffer_ ? buffer_.bytes() + offset_ : nullptr; }
  void check_type(DType wanted) const {
    if (wanted != dtype_) throw_type(wanted);
  }
  [[noreturn]] void throw_type(DType wanted) const;
  void make_unique();
  static Array adopt(const Shape& shape, DType dtype, void* numbers, void* owner, void (*release)(void* owner) noexcept);

  detail::BufferRef buffer_;
  std::size_t offset_ = 0;
  Shape shape_;
  DType dtype_ = no_dtype;  // so that reading an array that holds nothing fails the check of its type
};

std::ostream& operator<<(std::ostream& out, const Array& x);  ///< as `to_string`

/// Same shape, same dtype and the same bits (NaN equals the same NaN, 0 differs from −0).
bool same_bits(const Array& a, const Array& b) noexcept;

/// Calls `f(T{})` with the C++ type that `dtype` stands for.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  return dtype == DType::float32 ? f(float{}) : f(double{});
}

}  // namespace tapeform
