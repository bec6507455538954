#include <tapeform/optim/optimizer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/profile.hpp>

namespace tapeform::optim {

std::vector<ParameterGroup> decay_groups(const std::vector<NamedParameter>& parameters) {
  auto [matrices, others] = split(parameters, [](const NamedParameter& parameter) { return parameter.ref.value().rank() >= 2; });
  others.weight_decay_factor = 0;
  return {std::move(matrices), std::move(others)};
}

Optimizer::Optimizer(const char* name, std::vector<ParameterGroup> groups, double lr, std::vector<std::string> moment_names)
    : name_(name), step_name_(name_ + "::step"), lr_(lr), moment_names_(std::move(moment_names)) {
  detail::check_option(name, "lr", lr);
  detail::check_groups(groups, name);
  for (ParameterGroup& group : groups)
    for (NamedParameter& parameter : group.parameters)
      slots_.push_back({.name = std::move(parameter.name),
                        .parameter = std::move(parameter.ref),
                        .lr_factor = group.lr_factor,
                        .weight_decay_factor = group.weight_decay_factor,
                        .moments = std::vector<Array>(moment_names_.size())});
}

static void check_gradient(const Slot& slot, const std::string& optimizer) {
  const Array &value = slot.parameter.value(), &gradient = slot.parameter.grad();
  if (gradient.shape() != value.shape())
    throw ShapeError(fmt::format("{}: a gradient must have its parameter's shape; got '{}' {}, gradient {}", optimizer, slot.name,
                                 value.shape().str(), gradient.shape().str()));
  if (gradient.dtype() != value.dtype())
    throw DTypeError(fmt::format("{}: a gradient must have its parameter's dtype; got '{}' {}, gradient {}", optimizer, slot.name,
                                 name(value.dtype()), name(gradient.dtype())));
  for (const Array& moment : slot.moments)
    if (moment && (moment.shape() != value.shape() || moment.dtype() != value.dtype()))
      throw ValueError(fmt::format("{}: '{}' has become {} {} since its last update. Make the optimizer again from nn::parameters(model)",
                                   optimizer, slot.name, value.shape().str(), name(value.dtype())));
}

void Optimizer::step() {
  for (const Slot& slot : slots_) {
    detail::check_not_orphan(slot.parameter, slot.name, name_.c_str());
    if (slot.parameter.grad()) check_gradient(slot, name_);
  }
  for (Slot& slot : slots_) {
    const Array& gradient = slot.parameter.grad();
    if (!gradient) continue;
    for (Array& moment : slot.moments)
      if (!moment) moment = Array::zeros(gradient.shape(), gradient.dtype());
    ++slot.steps;
    update(slot, lr_ * slot.lr_factor);
  }
  if (tapeform::detail::profiling()) tapeform::detail::profile_update(step_name_.c_str());
}

void Optimizer::zero_grad() noexcept {
  for (Slot& slot : slots_) slot.parameter.grad() = Array();
}

void Optimizer::set_lr(double lr) {
  detail::check_option(name_.c_str(), "lr", lr);
  lr_ = lr;
}

void Optimizer::state(StateFields& field) {
  field("lr", lr_);
  for (Slot& slot : slots_) {
    detail::check_not_orphan(slot.parameter, slot.name, name_.c_str());
    field(slot.name + ".steps", slot.steps);
    for (std::size_t i = 0; i < slot.moments.size(); ++i)
      field(slot.name + '.' + moment_names_[i], slot.moments[i], slot.parameter.value());
  }
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
