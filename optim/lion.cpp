#include <tapeform/optim/lion.hpp>

#include <tapeform/core/update.hpp>

namespace tapeform::optim {

Lion::Lion(std::vector<ParameterGroup> groups, const LionOptions& options)
    : Optimizer("Lion", std::move(groups), options.lr, {"exp_avg"}), options_(options) {
  detail::check_option("Lion", "beta1", options.beta1, 1);
  detail::check_option("Lion", "beta2", options.beta2, 1);
  detail::check_option("Lion", "weight_decay", options.weight_decay);
}

void Lion::update(Slot& slot, double lr) {
  lion_update(
      slot.parameter.value(), slot.parameter.grad(), slot.moments[0],
      {.lr = lr, .beta1 = options_.beta1, .beta2 = options_.beta2, .weight_decay = options_.weight_decay * slot.weight_decay_factor});
}

}  // namespace tapeform::optim
