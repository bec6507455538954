#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>

namespace tapeform {

/// A size or an index: 64 bits everywhere.
using Dim = std::int64_t;

/// The sizes of an array's axes, outermost first. Rank 0 is a scalar with one element; a size may be 0.
/// @throws ShapeError for a negative size or more than `max_rank` axes.
class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<Dim> sizes) : Shape(std::span<const Dim>(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const Dim> sizes) {
    for (const Dim size : sizes) push_back(size);
  }

  int rank() const noexcept { return rank_; }

  /// Size of one axis; negative axes count from the last. @throws ShapeError when there is no such axis.
  Dim operator[](int axis) const { return sizes_[checked(axis)]; }
  void set(int axis, Dim size) {
    if (size < 0) throw_negative(size);
    sizes_[checked(axis)] = size;
  }
  void push_back(Dim size) {
    if (size < 0) throw_negative(size);
    if (rank_ == max_rank) throw_rank();
    sizes_[rank_++] = size;
  }

  void clear() noexcept { rank_ = 0; }  ///< no axes: a scalar's shape

  /// The axis as a number in [0, rank). @throws ShapeError when there is no such axis.
  int axis(int axis) const { return static_cast<int>(checked(axis)); }

  /// Number of elements. @throws ShapeError when the product does not fit 63 bits.
  Dim numel() const {
    Dim product = 1;
    for (int i = 0; i < rank_; ++i)
      if (__builtin_mul_overflow(product, sizes_[i], &product)) return numel_with_zero();
    return product;
  }
  /// Product of the sizes of axes [first, last). Of a shape without elements some products fit nothing; they are cut to 64 bits.
  Dim numel(int first, int last) const {
    std::uint64_t product = 1;
    for (int i = first; i < last; ++i) product *= static_cast<std::uint64_t>(sizes_[i]);
    return static_cast<Dim>(product);
  }

  /// Row-major position of the element at `index` (one number per axis). @throws ShapeError when it is outside.
  Dim offset(std::initializer_list<Dim> index) const;

  std::span<const Dim> sizes() const noexcept { return {sizes_, static_cast<std::size_t>(rank_)}; }

  /// `[2, 3, 4]`
  std::string str() const;

  friend bool operator==(const Shape& a, const Shape& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a.sizes_[i] != b.sizes_[i]) return false;
    return true;
  }

 private:
  std::size_t checked(int axis) const {
    const int i = axis < 0 ? rank_ + axis : axis;
    if (i < 0 || i >= rank_) throw_axis(axis);
    return static_cast<std::size_t>(i);
  }
  Dim numel_with_zero() const;
  [[noreturn]] void throw_axis(int axis) const;
  [[noreturn]] void throw_rank() const;
  [[noreturn]] static void throw_negative(Dim size);

  Dim sizes_[max_rank] = {};
  int rank_ = 0;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape);  ///< as `str()`

}  // namespace tapeform
