#include <fmt/format.h>

#include <tapeform/core/error.hpp>
#include <tapeform/core/parameter.hpp>
#include "detail/parameter_state.hpp"
#include <tapeform/core/tape.hpp>

namespace tapeform {

namespace detail {

void retain(ParameterState* state) noexcept {
  if (state) state->holders.fetch_add(1, std::memory_order_relaxed);
}

void release(ParameterState* state) noexcept {
  if (state && state->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete state;
}

static void orphan(ParameterState* state) noexcept {
  if (!state) return;
  state->owned = false;
  release(state);
}

}  // namespace detail

static detail::ParameterState& held(detail::ParameterState* state) {
  if (!state) throw ValueError("parameter: this handle holds no parameter (moved from, or taken from an empty one). Test it with orphan()");
  return *state;
}

Array& ParameterRef::value() const { return held(state_).value; }
Array& ParameterRef::grad() const { return held(state_).grad; }
bool ParameterRef::trainable() const noexcept { return state_ && state_->trainable; }
bool ParameterRef::orphan() const noexcept { return !state_ || !state_->owned; }

Parameter::Parameter(Array value) {
  if (!value) throw ValueError("parameter: its value must hold numbers; got nothing. Leave a parameter that is absent default-constructed");
  state_ = new detail::ParameterState;
  state_->value = std::move(value);
}

Parameter::Parameter(const Parameter& other) : state_(other.state_ ? new detail::ParameterState : nullptr) {
  if (!state_) return;
  state_->value = other.state_->value;
  state_->trainable = other.state_->trainable;
}

Parameter& Parameter::operator=(const Parameter& other) {
  if (state_ == other.state_) return *this;
  if (state_ && other.state_) {
    assign(other.state_->value);
  } else {
    Parameter copy(other);
    std::swap(state_, copy.state_);
  }
  return *this;
}

Parameter& Parameter::operator=(Parameter&& other) noexcept {
  if (this == &other) return *this;
  detail::orphan(state_);
  state_ = std::exchange(other.state_, nullptr);
  return *this;
}

Parameter::~Parameter() { detail::orphan(state_); }

Parameter::operator Tensor() const {
  if (!state_) return Tensor();
  Tape* const tape = state_->trainable ? Tape::current() : nullptr;
  return tape ? tape->leaf(state_) : Tensor(state_->value);
}

static const Array& nothing() noexcept {
  static const Array array;
  return array;
}

const Array& Parameter::value() const noexcept { return state_ ? state_->value : nothing(); }
const Array& Parameter::grad() const noexcept { return state_ ? state_->grad : nothing(); }

void Parameter::assign(const Array& value) {
  if (!state_) throw ValueError("parameter: it has no value to replace (default-constructed or moved from). Construct it with one");
  if (value.shape() != state_->value.shape())
    throw ShapeError(fmt::format("parameter: a new value must have the old one's shape; got {} for {}", value.shape().str(),
                                 state_->value.shape().str()));
  if (value.dtype() != state_->value.dtype())
    throw DTypeError(fmt::format("parameter: a new value must have the old one's dtype; got {} for {}. Use cast()", name(value.dtype()),
                                 name(state_->value.dtype())));
  state_->value = value;
}

void Parameter::set_trainable(bool trainable) noexcept {
  if (!state_) return;
  state_->trainable = trainable;
  if (!trainable) state_->grad = Array();
}
bool Parameter::trainable() const noexcept { return state_ && state_->trainable; }

}  // namespace tapeform
