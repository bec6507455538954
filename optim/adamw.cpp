#include <tapeform/optim/adamw.hpp>

#include <fmt/format.h>

#include <tapeform/core/error.hpp>
#include <tapeform/core/profile.hpp>
#include <tapeform/core/update.hpp>

namespace tapeform::optim {

AdamW::AdamW(std::vector<ParameterGroup> groups, const AdamWOptions& options) : options_(options) {
  detail::check_option("AdamW", "lr", options.lr);
  detail::check_option("AdamW", "beta1", options.beta1, 1);
  detail::check_option("AdamW", "beta2", options.beta2, 1);
  detail::check_option("AdamW", "eps", options.eps);
  detail::check_option("AdamW", "weight_decay", options.weight_decay);
  detail::check_groups(groups, "AdamW");
  for (ParameterGroup& group : groups)
    for (NamedParameter& parameter : group.parameters)
      slots_.push_back({std::move(parameter.name), std::move(parameter.ref), group.lr_factor, group.weight_decay_factor});
}

static void check_gradient(const AdamWSlot& slot) {
  const Array &value = slot.parameter.value(), &gradient = slot.parameter.grad();
  if (gradient.shape() != value.shape())
    throw ShapeError(fmt::format("AdamW: a gradient must have its parameter's shape; got '{}' {}, gradient {}", slot.name,
                                 value.shape().str(), gradient.shape().str()));
  if (gradient.dtype() != value.dtype())
    throw DTypeError(fmt::format("AdamW: a gradient must have its parameter's dtype; got '{}' {}, gradient {}", slot.name,
                                 name(value.dtype()), name(gradient.dtype())));
  if (slot.exp_avg && (slot.exp_avg.shape() != value.shape() || slot.exp_avg.dtype() != value.dtype()))
    throw ValueError(fmt::format("AdamW: '{}' has become {} {} since its last update. Make the optimizer again from nn::parameters(model)",
                                 slot.name, value.shape().str(), name(value.dtype())));
}

void AdamW::step() {
  for (const AdamWSlot& slot : slots_) {
    detail::check_not_orphan(slot.parameter, slot.name, "AdamW");
    if (slot.parameter.grad()) check_gradient(slot);
  }
  for (AdamWSlot& slot : slots_) {
    const Array& gradient = slot.parameter.grad();
    if (!gradient) continue;
    if (!slot.exp_avg) {
      slot.exp_avg = Array::zeros(gradient.shape(), gradient.dtype());
      slot.exp_avg_sq = Array::zeros(gradient.shape(), gradient.dtype());
    }
    ++slot.steps;
    adamw_update(slot.parameter.value(), gradient, slot.exp_avg, slot.exp_avg_sq,
                 {.lr = options_.lr * slot.lr_factor,
                  .beta1 = options_.beta1,
                  .beta2 = options_.beta2,
                  .eps = options_.eps,
                  .weight_decay = options_.weight_decay * slot.weight_decay_factor,
                  .step = slot.steps});
  }
  if (tapeform::detail::profiling()) tapeform::detail::profile_update("AdamW::step");
}

void AdamW::zero_grad() noexcept {
  for (AdamWSlot& slot : slots_) slot.parameter.grad() = Array();
}

void AdamW::state(StateFields& field) {
  field("lr", options_.lr);
  for (AdamWSlot& slot : slots_) {
    detail::check_not_orphan(slot.parameter, slot.name, "AdamW");
    const Array& like = slot.parameter.value();
    field(slot.name + ".steps", slot.steps);
    field(slot.name + ".exp_avg", slot.exp_avg, like);
    field(slot.name + ".exp_avg_sq", slot.exp_avg_sq, like);
  }
}

void AdamW::set_lr(double lr) {
  detail::check_option("AdamW", "lr", lr);
  options_.lr = lr;
}

}  // namespace tapeform::optim
