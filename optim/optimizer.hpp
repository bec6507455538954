#pragma once
#include <array>
#include <string>
#include <tapeform/core/fields.hpp>
#include <vector>

namespace tapeform::optim {

/// Parameters that an optimizer treats alike; the factors multiply what the optimizer's options say.
struct ParameterGroup {
  std::vector<NamedParameter> parameters;
  double lr_factor = 1.0;
  double weight_decay_factor = 1.0;  ///< 0: no decay
};

/// Two groups: the parameters that are `chosen`, by `bool chosen(const NamedParameter&)`, and the others.
template <class P>
std::array<ParameterGroup, 2> split(const std::vector<NamedParameter>& parameters, const P& chosen) {
  std::array<ParameterGroup, 2> groups;
  for (const NamedParameter& parameter : parameters) groups[chosen(parameter) ? 0 : 1].parameters.push_back(parameter);
  return groups;
}

/// The usual grouping: matrices (two axes or more: weights, embeddings) decay; biases, norms and all else of fewer axes do not.
std::vector<ParameterGroup> decay_groups(const std::vector<NamedParameter>& parameters);

/// `optim::AdamW adamw(optim::decay_groups(model), {.weight_decay = 0.1});`
template <Visitable M>
std::vector<ParameterGroup> decay_groups(const M& module) {
  return decay_groups(named_parameters(module));
}

namespace detail {

/// One group of parameters that have the names `parameter 0`, `parameter 1`, …, for errors.
std::vector<ParameterGroup> one_group(const std::vector<ParameterRef>& parameters);
std::vector<ParameterGroup> one_group(const std::vector<NamedParameter>& parameters);

/// A group's parameters, each once. @throws ValueError when one is in an earlier group too, is gone, or a factor is not a number ≥ 0.
void check_groups(std::vector<ParameterGroup>& groups, const char* optimizer);

/// @throws ValueError when the parameter is an orphan: an update would train what no module uses.
void check_not_orphan(const ParameterRef& parameter, const std::string& name, const char* optimizer);

/// @throws ValueError unless the number is finite, at least 0 and, when there is a limit, below it.
void check_option(const char* optimizer, const char* option, double value, double limit = 0);

}  // namespace detail

}  // namespace tapeform::optim
