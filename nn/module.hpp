#pragma once
#include <concepts>
#include <string>
#include <tapeform/core/call_path.hpp>
#include <tapeform/core/fields.hpp>
#include <type_traits>
#include <utility>

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
};

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
template <class Self>
class Module {
 public:
  template <class... A, detail::ForwardsConst<A...> S = Self>
  auto operator()(A&&... arguments) const {
    const Self& self = static_cast<const Self&>(*this);
    const detail::Running<Self> running(&self);
    return self.forward(std::forward<A>(arguments)...);
  }
  template <class... A, detail::Forwards<A...> S = Self>
  auto operator()(A&&... arguments) {
    Self& self = static_cast<Self&>(*this);
    const detail::Running<Self> running(&self);
    return self.forward(std::forward<A>(arguments)...);
  }
  // Braces have no type to deduce: these overloads take them as the module's Call.
  template <class A, class S = Self>
  auto operator()(A&& a, const typename S::Call& call) const {
    const Self& self = static_cast<const Self&>(*this);
    const detail::Running<Self> running(&self);
    return self.forward(std::forward<A>(a), call);
  }
  template <class A, class B, class S = Self>
  auto operator()(A&& a, B&& b, const typename S::Call& call) const {
    const Self& self = static_cast<const Self&>(*this);
    const detail::Running<Self> running(&self);
    return self.forward(std::forward<A>(a), std::forward<B>(b), call);
  }
  template <class A, class B, class C, class S = Self>
  auto operator()(A&& a, B&& b, C&& c, const typename S::Call& call) const {
    const Self& self = static_cast<const Self&>(*this);
    const detail::Running<Self> running(&self);
    return self.forward(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), call);
  }
};

/// Number of trained numbers, each counted once.
template <class M>
Dim count_parameters(const M& module) {
  Dim count = 0;
  for (const ParameterRef& parameter : parameters(module)) count += parameter.value().numel();
  return count;
}

}  // namespace tapeform::nn
