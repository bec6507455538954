#include <tapeform/nn/module.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>

namespace tapeform::nn::detail {

// g++ writes "… [with M = a::b::C]", clang "… [M = a::b::C]".
std::string short_type_name(const char* pretty_function) {
  const std::string text = pretty_function;
  const std::size_t begin = text.find("M = ") + 4;
  std::string name = text.substr(begin, text.find_first_of(";]", begin) - begin);
  const std::size_t arguments = name.find('<');
  const std::size_t colons = name.rfind("::", arguments);
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

CallObserver*& call_observer() noexcept {
  static thread_local CallObserver* observer = nullptr;
  return observer;
}

void HeldFields::on_parameter(const char* name, Parameter& parameter) {
  held.push_back({full(name), parameter.shape(), parameter.dtype()});
}

void HeldFields::on_buffer(const char* name, Array& buffer) {
  if (buffer) held.push_back({full(name), buffer.shape(), buffer.dtype()});
}

namespace {

using Held = HeldFields::Held;

const Held* find(const std::vector<Held>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Held::name);
  return found == all.end() ? nullptr : &*found;
}

constexpr const char* rule = "module: copy assignment needs the same parameters and buffers on both sides";
constexpr const char* cure = "To replace a module by another one, move: a = nn::clone(b)";

}  // namespace

void check_assignable(const std::vector<Held>& to, const std::vector<Held>& from) {
  if (to.empty()) return;
  for (const Held& old : to) {
    const Held* const other = find(from, old.name);
    if (!other) throw ShapeError(fmt::format("{}; got nothing for {} {}. {}", rule, old.name, old.shape.str(), cure));
    if (other->shape != old.shape)
      throw ShapeError(fmt::format("{}; got {} for {} {}. {}", rule, other->shape.str(), old.name, old.shape.str(), cure));
    if (other->dtype != old.dtype)
      throw DTypeError(fmt::format("{}; got {} for {} {}. {}", rule, name(other->dtype), old.name, name(old.dtype), cure));
  }
  for (const Held& other : from)
    if (!find(to, other.name))
      throw ShapeError(fmt::format("{}; got {} {}, which the left side does not have. {}", rule, other.name, other.shape.str(), cure));
}

}  // namespace tapeform::nn::detail
