#pragma once
#include <concepts>
#include <string>
#include <tapeform/core/call_path.hpp>
#include <tapeform/core/fields.hpp>
#include <tapeform/core/tensor.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapeform::nn {

using tapeform::Fields;
using tapeform::named_parameters;
using tapeform::NamedParameter;
using tapeform::parameters;

namespace detail {

/// `nn::Linear` as `Linear`: the last part of a type's name, cut from the compiler's spelling of this function.
std::string short_type_name(const char* pretty_function);

template <class M>
const char* type_name() {
  static const std::string name = short_type_name(__PRETTY_FUNCTION__);
  return name.c_str();
}

template <class M>
std::string find_in(const void* root, const void* self, const void* type) {
  tapeform::detail::Finder finder(self, type);
  walk(*static_cast<const M*>(root), finder);
  return std::move(finder.found);
}

/// Marks a module as running, for errors, profiles and recorders.
template <class M>
class Running : CallFrame {
 public:
  explicit Running(const M* self) noexcept
      : CallFrame{self, &tapeform::detail::type_tag<M>, &detail::type_name<M>, &detail::find_in<M>, call_stack()} {
    call_stack() = this;
  }
  ~Running() { call_stack() = outer; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  const CallFrame& frame() const noexcept { return *this; }
};

/// Told of every module call of its thread while it stands in `call_observer()`.
class CallObserver {
 public:
  virtual void begins(const CallFrame& call) = 0;
  virtual void ended(const CallFrame& call, const Tensor& result) = 0;

 protected:
  ~CallObserver() = default;
};
CallObserver*& call_observer() noexcept;

template <class S, class... A>
auto run(S& self, A&&... arguments) {
  const Running<std::remove_const_t<S>> running(&self);
  if constexpr (std::is_same_v<decltype(self.forward(std::forward<A>(arguments)...)), Tensor>) {
    CallObserver* const observer = call_observer();
    if (observer) observer->begins(running.frame());
    Tensor result = self.forward(std::forward<A>(arguments)...);
    if (observer) observer->ended(running.frame(), result);
    return result;
  } else {
    return self.forward(std::forward<A>(arguments)...);
  }
}

/// What a module holds, by name.
struct HeldFields final : PathFields {
  struct Held {
    std::string name;
    Shape shape;
    DType dtype;
  };
  std::vector<Held> held;
  void on_parameter(const char* name, Parameter& parameter) override;
  void on_buffer(const char* name, Array& buffer) override;
};

/// @throws ShapeError, DTypeError when what `from` holds cannot be written into what `to` holds.
void check_assignable(const std::vector<HeldFields::Held>& to, const std::vector<HeldFields::Held>& from);

template <class S, class... A>
concept ForwardsConst = requires(const S& self, A&&... arguments) {
  self.forward(std::forward<A>(arguments)...);
};
template <class S, class... A>
concept Forwards = requires(S& self, A&&... arguments) {
  self.forward(std::forward<A>(arguments)...);
};

}  // namespace detail

/// Base of a module: `struct Block : nn::Module<Block>`. A module is a plain struct: its members are values, `forward` is what you
/// write, `void visit(nn::Fields& field)` names the fields. Calling the module runs `forward` and marks the module as running, so that an
/// error names the path to it.
///
/// A call's options are an aggregate named `Call` inside the module, so that braces reach it: `mha(x, memory, {.mask = mask})`.
///
/// Layers that are chosen at run time derive from a module with a virtual `forward` and `visit`, and stand in a `std::unique_ptr`.
///
/// A copy is an independent model. Copy assignment writes into the parameters that are there, so that handles follow; the two sides must
/// hold parameters and buffers of the same names, shapes and dtypes, or the left one nothing at all (it was moved from). A move replaces
/// whatever is there. @throws ShapeError, DTypeError from copy assignment, before anything changes.
template <class Self>
class Module {
 public:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) noexcept = default;
  Module& operator=(const Module& other) {  // a struct assigns its base before its members
    if (this != &other) check_assignment(static_cast<const Self&>(*this), static_cast<const Self&>(other));
    return *this;
  }
  Module& operator=(Module&&) noexcept = default;

  template <class... A, detail::ForwardsConst<A...> S = Self>
  auto operator()(A&&... arguments) const {
    return detail::run(static_cast<const Self&>(*this), std::forward<A>(arguments)...);
  }
  template <class... A, detail::Forwards<A...> S = Self>
  auto operator()(A&&... arguments) {
    return detail::run(static_cast<Self&>(*this), std::forward<A>(arguments)...);
  }
  // Braces have no type to deduce: these overloads take them as the module's Call.
  template <class A, class S = Self>
  auto operator()(A&& a, const typename S::Call& call) const {
    return detail::run(static_cast<const Self&>(*this), std::forward<A>(a), call);
  }
  template <class A, class B, class S = Self>
  auto operator()(A&& a, B&& b, const typename S::Call& call) const {
    return detail::run(static_cast<const Self&>(*this), std::forward<A>(a), std::forward<B>(b), call);
  }
  template <class A, class B, class C, class S = Self>
  auto operator()(A&& a, B&& b, C&& c, const typename S::Call& call) const {
    return detail::run(static_cast<const Self&>(*this), std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), call);
  }

 private:
  static void check_assignment(const Self& to, const Self& from) {
    if constexpr (Visitable<Self>) {
      detail::HeldFields held[2];
      walk(to, held[0]);
      walk(from, held[1]);
      detail::check_assignable(held[0].held, held[1].held);
    }
  }
};

/// A copy of a module: an independent model with the same numbers (shared until one of the two is written) and no gradients.
template <class M>
M clone(const M& module) {
  static_assert(std::is_copy_constructible_v<M>, "clone: a module that holds a std::unique_ptr cannot be copied");
  return module;
}

/// Number of trained numbers, each counted once.
template <class M>
Dim count_parameters(const M& module) {
  Dim count = 0;
  for (const ParameterRef& parameter : parameters(module)) count += parameter.value().numel();
  return count;
}

}  // namespace tapeform::nn
