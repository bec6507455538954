#include <algorithm>
#include <tapeform/core/fields.hpp>

namespace tapeform {

namespace detail {

std::string index_name(std::size_t index) { return std::to_string(index); }

void Collector::on_parameter(const char*, Parameter& parameter) {
  ParameterRef ref = parameter.ref();
  if (std::ranges::find(found, ref) == found.end()) found.push_back(std::move(ref));
}

void NamedCollector::on_parameter(const char* name, Parameter& parameter) {
  ParameterRef ref = parameter.ref();
  const bool known = std::ranges::any_of(found, [&](const NamedParameter& other) { return other.ref == ref; });
  if (!known) found.push_back({full(name), std::move(ref)});
}

bool Finder::enter(const char* name, const void* s, const void* t) {
  PathFields::enter(name, s, t);
  if (s == self && t == type && found.empty()) found = path();
  return true;
}

}  // namespace detail

bool PathFields::enter(const char* name, const void*, const void*) {
  marks_.push_back(path_.size());
  if (*name && !path_.empty()) path_ += '.';
  path_ += name;
  return true;
}

void PathFields::leave() {
  path_.resize(marks_.back());
  marks_.pop_back();
}

std::string PathFields::full(const char* name) const { return path_.empty() ? name : *name ? path_ + '.' + name : path_; }

}  // namespace tapeform
