#pragma once
#include <cstdint>
#include <iosfwd>
#include <tapeform/core/array.hpp>
#include <utility>

namespace tapeform {

/// An Array and its place on a tape. A tensor without a place is a constant: any Array converts to one. Copies are cheap and refer
/// to the same place; the numbers cannot be changed through a tensor.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Array value) : value_(std::move(value)) {}
  Tensor(Array value, std::uint64_t tape, std::uint32_t node) : value_(std::move(value)), tape_(tape), node_(node) {}

  const Array& value() const noexcept { return value_; }
  const Shape& shape() const noexcept { return value_.shape(); }
  DType dtype() const noexcept { return value_.dtype(); }
  int rank() const noexcept { return value_.rank(); }
  Dim dim(int axis) const { return value_.dim(axis); }
  Dim numel() const { return value_.numel(); }
  /// The one element, as a double: what a running loss adds up. @throws ShapeError unless there is exactly one.
  double item() const { return value_.item(); }
  explicit operator bool() const noexcept { return static_cast<bool>(value_); }

  bool recorded() const noexcept { return tape_ != 0; }  ///< false for a constant
  std::uint64_t tape_id() const noexcept { return tape_; }
  std::uint32_t node() const noexcept { return node_; }
  /// True when `other` is this very tensor: the same numbers in the same place of the same tape.
  bool is_same(const Tensor& other) const noexcept { return tape_ == other.tape_ && node_ == other.node_ && value_.is_same(other.value_); }

 private:
  Array value_;
  std::uint64_t tape_ = 0;
  std::uint32_t node_ = 0;
};

std::ostream& operator<<(std::ostream& out, const Tensor& x);  ///< as `to_string`

/// The value of x as a constant: no gradient flows through it, and it may be used under any tape.
inline Tensor stop_gradient(const Tensor& x) { return Tensor(x.value()); }

}  // namespace tapeform
