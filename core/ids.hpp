#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <tapeform/core/buffer.hpp>
#include <tapeform/core/shape.hpp>
#include <utility>
#include <vector>

namespace tapeform {

/// Token ids, class labels, lengths: int64 numbers with a shape. A type of its own, so that nothing mistakes them for values with
/// gradients. Copies share the buffer; writing copies it first when it is shared.
class Ids {
 public:
  Ids() = default;
  Ids(const Ids&) = default;
  /// What was moved from is empty: [0].
  Ids(Ids&& other) noexcept : buffer_(std::move(other.buffer_)), shape_(std::exchange(other.shape_, Shape{0})) {}
  Ids& operator=(const Ids&) = default;
  Ids& operator=(Ids&& other) noexcept {
    buffer_ = std::move(other.buffer_);
    shape_ = this == &other ? other.shape_ : std::exchange(other.shape_, Shape{0});
    return *this;
  }
  /// One axis: `Ids{3, 1, 4}`.
  Ids(std::initializer_list<std::int64_t> values) : Ids(std::span<const std::int64_t>(values.begin(), values.size())) {}
  explicit Ids(std::span<const std::int64_t> values) : Ids(Shape{static_cast<Dim>(values.size())}, values) {}
  /// @throws ShapeError unless there is one value for every element.
  Ids(const Shape& shape, std::span<const std::int64_t> values);
  /// Rows of one length: `Ids::rows({{1, 2}, {3, 4}})` is [2, 2]. @throws ShapeError when lengths differ.
  static Ids rows(std::initializer_list<std::initializer_list<std::int64_t>> rows);
  static Ids rows(const std::vector<std::vector<std::int64_t>>& rows);
  static Ids full(const Shape& shape, std::int64_t value);
  /// 0, 1, …, n − 1. @throws ShapeError when n is negative.
  static Ids arange(Dim n);

  const Shape& shape() const noexcept { return shape_; }
  int rank() const noexcept { return shape_.rank(); }
  Dim dim(int axis) const { return shape_[axis]; }
  Dim numel() const { return shape_.numel(); }
  std::span<const std::int64_t> values() const { return {numbers(), static_cast<std::size_t>(numel())}; }
  /// Element by its row-major position. @throws ShapeError when it is outside.
  std::int64_t operator[](Dim position) const;
  std::int64_t at(std::initializer_list<Dim> index) const { return numbers()[shape_.offset(index)]; }
  /// Calls `f(std::span<std::int64_t>)` with the numbers of these ids alone.
  template <class F>
  void write(F&& f) {
    make_unique();
    f(std::span<std::int64_t>(const_cast<std::int64_t*>(numbers()), static_cast<std::size_t>(numel())));
  }
  /// The same numbers under another shape; shares the buffer. @throws ShapeError unless the number of elements is the same.
  Ids reshape(const Shape& shape) const;

  friend bool operator==(const Ids& a, const Ids& b);

 private:
  const std::int64_t* numbers() const noexcept { return buffer_ ? reinterpret_cast<const std::int64_t*>(buffer_.bytes()) : nullptr; }
  void make_unique();

  explicit Ids(const Shape& shape);  // uninitialised

  detail::BufferRef buffer_;
  Shape shape_{0};
};

std::ostream& operator<<(std::ostream& out, const Ids& ids);  ///< as `to_string`

}  // namespace tapeform
