#include <tapeform/core/state.hpp>

#include <algorithm>

namespace tapeform {

void StateFields::operator()(const std::string& name, Parameter& parameter) {
  if (!parameter) return;
  if (detail::StateEntry* const known = find(parameter)) {
    known->aliases.push_back(full(name));
  } else {
    add(name, {.kind = Kind::parameter, .value = &parameter});
  }
}

void StateFields::alias(const std::string& name, Parameter& parameter) {
  if (!parameter) return;
  if (detail::StateEntry* const known = find(parameter)) known->aliases.push_back(full(name));
}

std::string StateFields::full(const std::string& name) const {
  if (path_.empty()) return name;
  return name.empty() ? path_ : path_ + '.' + name;
}

void StateFields::add(const std::string& name, detail::StateEntry entry) {
  entry.name = full(name);
  entries_.push_back(std::move(entry));
}

detail::StateEntry* StateFields::find(const Parameter& parameter) noexcept {
  const auto same = [&parameter](const detail::StateEntry& entry) {
    return entry.kind == Kind::parameter && static_cast<const Parameter*>(entry.value)->ref() == parameter.ref();
  };
  const auto found = std::ranges::find_if(entries_, same);
  return found == entries_.end() ? nullptr : &*found;
}

void StateFields::enter(const std::string& name) {
  marks_.push_back(path_.size());
  path_ = full(name);
}

void StateFields::leave() {
  path_.resize(marks_.back());
  marks_.pop_back();
}

}  // namespace tapeform
