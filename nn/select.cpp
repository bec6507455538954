#include <tapeform/nn/select.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>

namespace tapeform::nn {

bool matches(std::string_view name, std::string_view pattern) noexcept {
  std::size_t n = 0, p = 0;
  std::size_t star = std::string_view::npos, taken = 0;  // the last `*`, and where in the name the text after it was tried
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++n;
      ++p;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

namespace detail {

void Selection::look_at(std::string name, Parameter& parameter) {
  const bool fits = matches(name, pattern);
  const ParameterRef ref = parameter.ref();
  if (fits && std::ranges::find(found, ref, &NamedParameter::ref) == found.end()) {
    found.push_back({name, ref});
    members.push_back(&parameter);
  }
  names.push_back(std::move(name));
}

void Selection::check(const char* op) const {
  if (!found.empty()) return;
  constexpr std::size_t shown = 4;
  std::string some;
  for (std::size_t i = 0; i < std::min(names.size(), shown); ++i) some += (i ? ", " : "") + names[i];
  if (names.size() > shown) some += fmt::format(", … ({} names)", names.size());
  throw ValueError(fmt::format("{}: no parameter has a name like '{}'. The model has: {}", op, pattern, some.empty() ? "none" : some));
}

std::size_t set_trainable(const Selection& selection, bool trainable) noexcept {
  for (Parameter* const member : selection.members) member->set_trainable(trainable);
  return selection.members.size();
}

}  // namespace detail

}  // namespace tapeform::nn
