#include <tapeform/optim/optimizer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tapeform/core/error.hpp>

namespace tapeform::optim {

std::vector<ParameterGroup> decay_groups(const std::vector<NamedParameter>& parameters) {
  auto [matrices, others] = split(parameters, [](const NamedParameter& parameter) { return parameter.ref.value().rank() >= 2; });
  others.weight_decay_factor = 0;
  return {std::move(matrices), std::move(others)};
}

namespace detail {

std::vector<ParameterGroup> one_group(const std::vector<NamedParameter>& parameters) { return {ParameterGroup{parameters}}; }

std::vector<ParameterGroup> one_group(const std::vector<ParameterRef>& parameters) {
  std::vector<NamedParameter> named;
  for (const ParameterRef& parameter : parameters) named.push_back({fmt::format("parameter {}", named.size()), parameter});
  return one_group(named);
}

void check_groups(std::vector<ParameterGroup>& groups, const char* optimizer) {
  std::vector<const void*> earlier;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    check_option(optimizer, "lr_factor", groups[g].lr_factor);
    check_option(optimizer, "weight_decay_factor", groups[g].weight_decay_factor);
    const std::vector<const void*> before = earlier;
    std::vector<NamedParameter> once;
    for (NamedParameter& parameter : groups[g].parameters) {
      check_not_orphan(parameter.ref, parameter.name, optimizer);
      if (std::ranges::find(before, parameter.ref.id()) != before.end())
        throw ValueError(fmt::format("{}: a parameter may be in one group only; got '{}' {} in group {} and in an earlier one", optimizer,
                                     parameter.name, parameter.ref.shape().str(), g));
      if (std::ranges::find(earlier, parameter.ref.id()) != earlier.end()) continue;  // a tied weight, named twice
      earlier.push_back(parameter.ref.id());
      once.push_back(std::move(parameter));
    }
    groups[g].parameters = std::move(once);
  }
}

void check_not_orphan(const ParameterRef& parameter, const std::string& name, const char* optimizer) {
  if (!parameter.orphan()) return;
  throw ValueError(fmt::format(
      "{}: '{}' belongs to a module that was destroyed or replaced by a move, so no model uses it. Make the optimizer again from "
      "nn::parameters(model), or copy-assign models instead of moving them",
      optimizer, name));
}

void check_option(const char* optimizer, const char* option, double value, double limit) {
  if (value >= 0 && std::isfinite(value) && (limit == 0 || value < limit)) return;  // false for NaN
  const std::string below = limit == 0 ? "" : fmt::format(" and below {}", limit);
  throw ValueError(fmt::format("{}: {} must be a number, at least 0{}; got {}", optimizer, option, below, value));
}

}  // namespace detail
}  // namespace tapeform::optim
