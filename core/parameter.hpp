#pragma once
#include <tapeform/core/array.hpp>
#include <tapeform/core/tensor.hpp>
#include <utility>

namespace tapeform {

namespace detail {
struct ParameterState;
void retain(ParameterState* state) noexcept;
void release(ParameterState* state) noexcept;
}  // namespace detail

/// A handle of a Parameter: follows it when its module moves, and knows when it is gone. Optimizers hold these.
class ParameterRef {
 public:
  explicit ParameterRef(detail::ParameterState* state) noexcept : state_(state) { detail::retain(state_); }
  ParameterRef(const ParameterRef& other) noexcept : ParameterRef(other.state_) {}
  ParameterRef(ParameterRef&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  ParameterRef& operator=(ParameterRef other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~ParameterRef() {
    if (state_) detail::release(state_);
  }

  /// @throws ValueError, as `grad`, `shape` and `dtype`, from a handle of nothing: moved from, or of an empty parameter.
  Array& value() const;
  /// What backward has added up; holds nothing when there is no gradient, which is not a zero one.
  Array& grad() const;
  const Shape& shape() const { return value().shape(); }
  DType dtype() const { return value().dtype(); }
  bool trainable() const noexcept;
  /// True when the parameter was destroyed or replaced by a move, or there never was one: nothing uses this value any more.
  bool orphan() const noexcept;
  /// Tells parameters apart; the same for all handles of one.
  const void* id() const noexcept { return state_; }
  friend bool operator==(const ParameterRef& a, const ParameterRef& b) noexcept { return a.state_ == b.state_; }

 private:
  detail::ParameterState* state_;
};

/// A trained array with its gradient, a member of a module. Under a tape it converts to a tensor whose gradient `backward` adds to
/// `grad()`.
///
/// A copy is an independent parameter with the same value (shared until one is written) and no gradient. Copy assignment writes into
/// the parameter that is there, so handles keep following it; a move takes the other's place, and handles of the old value are orphans.
/// @throws ShapeError, DTypeError from copy assignment when the two do not agree, before anything changes.
class Parameter {
 public:
  Parameter() = default;
  explicit Parameter(Array value);  ///< @throws ValueError when the value holds nothing
  Parameter(const Parameter& other);
  Parameter(Parameter&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Parameter& operator=(const Parameter& other);
  Parameter& operator=(Parameter&& other) noexcept;
  ~Parameter();

  /// A leaf of the tape that records on this thread, or a constant when there is none or the parameter is frozen.
  operator Tensor() const;

  const Array& value() const noexcept;
  const Array& grad() const noexcept;
  const Shape& shape() const noexcept { return value().shape(); }
  DType dtype() const noexcept { return value().dtype(); }
  Dim dim(int axis) const { return value().dim(axis); }
  /// Puts another value in place. @throws ShapeError, DTypeError unless it has the shape and dtype of the old one.
  void assign(const Array& value);
  /// Frozen (false) is a constant under every tape; it gets no gradient.
  void set_trainable(bool trainable) noexcept;
  bool trainable() const noexcept;

  explicit operator bool() const noexcept { return state_ != nullptr; }
  ParameterRef ref() const noexcept { return ParameterRef(state_); }

 private:
  detail::ParameterState* state_ = nullptr;
};

}  // namespace tapeform
