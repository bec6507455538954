#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <tapeform/core/parameter.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapeform {

class Fields;

/// Anything with `void visit(Fields&)`, the one line by which a module names its fields.
template <class M>
concept Visitable = requires(M& m, Fields& fields) {
  m.visit(fields);
};

namespace detail {
template <class T>
inline constexpr char type_tag = 0;  // its address stands for T
template <class T>
inline constexpr bool is_vector = false;
template <class T, class A>
inline constexpr bool is_vector<std::vector<T, A>> = true;
template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;
template <class T>
concept Maybe = requires(T& t) {  // std::optional, std::unique_ptr
  *t;
  static_cast<bool>(t);
};
}  // namespace detail

/// Walks a module's fields. A walker derives from it; a module's `visit(Fields& field)` calls `field("name", member)` for each
/// member that holds parameters: a Parameter, an Array (a buffer: saved, never trained), a module, or a vector, array, optional or
/// unique_ptr of these. An entry with an empty name adds no prefix to the names below it.
class Fields {
 public:
  virtual ~Fields() = default;

  void operator()(const char* name, Parameter& parameter) {
    if (parameter) on_parameter(name, parameter);
  }
  void operator()(const char* name, Array& buffer) { on_buffer(name, buffer); }
  template <class T>
  void operator()(const char* name, T& value);
  /// A second name under which files may know a parameter that is used in two places.
  void alias(const char* name, Parameter& parameter) {
    if (parameter) on_alias(name, parameter);
  }

 protected:
  virtual void on_parameter(const char* name, Parameter& parameter) = 0;
  virtual void on_buffer(const char*, Array&) {}
  virtual void on_alias(const char*, Parameter&) {}
  /// Before the fields of a module or container; false leaves them out.
  virtual bool enter(const char*, const void* /*self*/, const void* /*type*/) { return true; }
  virtual void leave() {}

 private:
  template <class Items>
  void each(Items& items);
};

namespace detail {
std::string index_name(std::size_t index);
}

template <class Items>
void Fields::each(Items& items) {
  std::size_t index = 0;
  for (auto& item : items) (*this)(detail::index_name(index++).c_str(), item);
}

template <class T>
void Fields::operator()(const char* name, T& value) {
  if constexpr (Visitable<T>) {
    if (!enter(name, &value, &detail::type_tag<T>)) return;
    value.visit(*this);
    leave();
  } else if constexpr (detail::is_vector<T> || detail::is_array<T>) {
    static_assert(
        std::is_nothrow_move_constructible_v<typename T::value_type>,
        "a module in a container must be nothrow-movable: otherwise the container copies it as it grows, and handles of its parameters "
        "become orphans. Declare the move constructor noexcept, or leave it to the compiler");
    if (!enter(name, &value, &detail::type_tag<T>)) return;
    each(value);
    leave();
  } else if constexpr (detail::Maybe<T>) {
    if (value) (*this)(name, *value);
  } else {
    static_assert(Visitable<T>, "visit: a field is a Parameter, an Array, a module with visit(Fields&), or a container of these");
  }
}

/// A walker that knows the dotted path of where it is.
class PathFields : public Fields {
 protected:
  bool enter(const char* name, const void* self, const void* type) override;
  void leave() override;
  /// `encoder.layers.0.linear1.weight` for `name` in the module that is being walked.
  std::string full(const char* name) const;
  const std::string& path() const noexcept { return path_; }
  void on_parameter(const char*, Parameter&) override {}

 private:
  std::string path_;
  std::vector<std::size_t> marks_;
};

struct NamedParameter {
  std::string name;
  ParameterRef ref;
};

namespace detail {
struct Collector final : Fields {  // without names: cheap enough for every step
  std::vector<ParameterRef> found;
  void on_parameter(const char*, Parameter& parameter) override;
};
struct NamedCollector final : PathFields {
  std::vector<NamedParameter> found;
  void on_parameter(const char* name, Parameter& parameter) override;
};
struct Finder final : PathFields {
  const void *self, *type;
  std::string found;
  Finder(const void* wanted, const void* wanted_type) : self(wanted), type(wanted_type) {}
  bool enter(const char* name, const void* s, const void* t) override;
};
}  // namespace detail

/// Walks the fields of a module; the walker promises not to change a const one.
template <class M>
void walk(const M& module, Fields& fields) {
  const_cast<M&>(module).visit(fields);
}

/// Handles of a module's parameters in the order of its fields, each once however often it is named.
template <class M>
std::vector<ParameterRef> parameters(const M& module) {
  detail::Collector collector;
  walk(module, collector);
  return std::move(collector.found);
}

/// The same with dotted names, exactly torch.nn's for the modules that torch has.
template <class M>
std::vector<NamedParameter> named_parameters(const M& module) {
  detail::NamedCollector collector;
  walk(module, collector);
  return std::move(collector.found);
}

}  // namespace tapeform
