#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <tapeform/core/array.hpp>
#include <tapeform/core/fields.hpp>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/random.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapeform {

class StateFields;

/// Anything with `void state(StateFields&)`, which lists what a checkpoint keeps of it.
template <class T>
concept Stateful = requires(T& t, StateFields& fields) {
  t.state(fields);
};

namespace detail {

enum class StateKind : std::uint8_t { array, parameter, ids, rng, text, whole, real, wholes, reals };

/// One thing that is kept: its full name, and where it stands in memory.
struct StateEntry {
  std::string name = {};
  StateKind kind = StateKind::array;
  void* value = nullptr;
  const Array* like = nullptr;            // of an array: whose shape and dtype it has
  int bytes = 8;                          // of a number
  bool is_signed = true;                  // of a whole number
  bool is_bool = false;                   // of a whole number: 0 or 1
  std::vector<std::string> aliases = {};  // of a parameter: other names that files may know it by
};

}  // namespace detail

/// Collects what a checkpoint keeps. A type lists its own with `void state(StateFields& field)`, calling `field("name", member)` for each:
///
/// | member | in the file |
/// |---|---|
/// | `Array`, `Ids` | a tensor. One that holds nothing is noted as nothing; where nothing is held, any shape may be loaded |
/// | a module | its parameters and buffers by their names; a tied one once, and loads find it by its alias too |
/// | `Rng` | ids [3]: seed, stream, position |
/// | whole and real numbers, bool | a scalar |
/// | `std::string` | text among the file's metadata |
/// | `std::vector` of double or int64 | a tensor of one axis, loaded with any length |
/// | whatever has `state` itself; a vector, array, optional, unique_ptr of it or of modules | what it lists, as `name.…` |
///
/// An entry with an empty name adds no prefix. Listing reads and promises to change nothing: it serves saving and loading alike.
class StateFields {
 public:
  StateFields() = default;
  StateFields(const StateFields&) = delete;
  StateFields& operator=(const StateFields&) = delete;

  void operator()(const std::string& name, Array& array) { add(name, {.kind = Kind::array, .value = &array}); }
  /// An array that may hold nothing, and has the shape and dtype of `like` when it does not; `like` stays where it is until the load ends.
  void operator()(const std::string& name, Array& array, const Array& like) {
    add(name, {.kind = Kind::array, .value = &array, .like = &like});
  }
  void operator()(const std::string& name, Ids& ids) { add(name, {.kind = Kind::ids, .value = &ids}); }
  void operator()(const std::string& name, Rng& rng) { add(name, {.kind = Kind::rng, .value = &rng}); }
  void operator()(const std::string& name, std::string& text) { add(name, {.kind = Kind::text, .value = &text}); }
  void operator()(const std::string& name, std::vector<double>& numbers) { add(name, {.kind = Kind::reals, .value = &numbers}); }
  void operator()(const std::string& name, std::vector<std::int64_t>& numbers) { add(name, {.kind = Kind::wholes, .value = &numbers}); }
  void operator()(const std::string& name, Parameter& parameter);
  template <std::integral N>
  void operator()(const std::string& name, N& number) {
    add(name,
        {.kind = Kind::whole, .value = &number, .bytes = sizeof(N), .is_signed = std::is_signed_v<N>, .is_bool = std::is_same_v<N, bool>});
  }
  template <class N>
  requires std::same_as<N, float> || std::same_as<N, double>
  void operator()(const std::string& name, N& number) { add(name, {.kind = Kind::real, .value = &number, .bytes = sizeof(N)}); }
  template <class T>
  void operator()(const std::string& name, T& value);

  /// A second name under which files may know a parameter that is listed under another.
  void alias(const std::string& name, Parameter& parameter);

  /// The path of what lists its state now, `optimizer.` before a name, for one's own errors.
  std::string full(const std::string& name) const;
  const std::vector<detail::StateEntry>& entries() const noexcept { return entries_; }

 private:
  using Kind = detail::StateKind;
  friend struct ModuleState;

  void add(const std::string& name, detail::StateEntry entry);
  detail::StateEntry* find(const Parameter& parameter) noexcept;
  void enter(const std::string& name);
  void leave();

  std::string path_;
  std::vector<std::size_t> marks_;
  std::vector<detail::StateEntry> entries_;
};

/// Lets the walk over a module's fields list what it finds.
struct ModuleState final : Fields {
  explicit ModuleState(StateFields& to) : fields(to) {}
  StateFields& fields;
  void on_parameter(const char* name, Parameter& parameter) override { fields(name, parameter); }
  void on_buffer(const char* name, Array& buffer) override { fields(name, buffer); }
  void on_alias(const char* name, Parameter& parameter) override { fields.alias(name, parameter); }
  bool enter(const char* name, const void* /*self*/, const void* /*type*/) override {
    fields.enter(name);
    return true;
  }
  void leave() override { fields.leave(); }
};

template <class T>
void StateFields::operator()(const std::string& name, T& value) {
  if constexpr (Stateful<T>) {
    enter(name);
    value.state(*this);
    leave();
  } else if constexpr (Visitable<T>) {
    ModuleState module(*this);
    module(name.c_str(), value);
  } else if constexpr (detail::is_vector<T> || detail::is_array<T>) {
    enter(name);
    std::size_t index = 0;
    for (auto& item : value) (*this)(detail::index_name(index++), item);
    leave();
  } else if constexpr (detail::Maybe<T>) {
    if (value) (*this)(name, *value);
  } else {
    static_assert(Stateful<T>,
                  "state: a field is a number, text, Array, Ids, Rng, module, something with state(StateFields&), or a container of these");
  }
}

}  // namespace tapeform
