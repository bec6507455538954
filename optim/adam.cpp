#include <tapeform/optim/adam.hpp>

namespace tapeform::optim {

namespace detail {

void check_adam(const char* optimizer, const AdamOptions& options) {
  check_option(optimizer, "beta1", options.beta1, 1);
  check_option(optimizer, "beta2", options.beta2, 1);
  check_option(optimizer, "eps", options.eps);
  check_option(optimizer, "weight_decay", options.weight_decay);
}

std::vector<std::string> adam_moments(bool amsgrad) {
  std::vector<std::string> names{"exp_avg", "exp_avg_sq"};
  if (amsgrad) names.push_back("max_exp_avg_sq");
  return names;
}

void update_adam(Slot& slot, const AdamStep& step) {
  std::vector<Array>& moments = slot.moments;
  Array* const largest = moments.size() > 2 ? &moments[2] : nullptr;
  adam_update(slot.parameter.value(), slot.parameter.grad(), moments[0], moments[1], largest, step);
}

}  // namespace detail

Adam::Adam(std::vector<ParameterGroup> groups, const AdamOptions& options)
    : Optimizer("Adam", std::move(groups), options.lr, detail::adam_moments(options.amsgrad)), options_(options) {
  detail::check_adam("Adam", options);
}

void Adam::update(Slot& slot, double lr) {
  detail::update_adam(slot, {.lr = lr,
                             .beta1 = options_.beta1,
                             .beta2 = options_.beta2,
                             .eps = options_.eps,
                             .l2 = options_.weight_decay * slot.weight_decay_factor,
                             .step = slot.steps});
}

}  // namespace tapeform::optim
