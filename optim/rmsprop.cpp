#include <tapeform/optim/rmsprop.hpp>

#include <tapeform/core/update.hpp>

namespace tapeform::optim {

static std::vector<std::string> moments(const RMSpropOptions& options) {
  std::vector<std::string> names{"square_avg"};
  if (options.centered) names.push_back("grad_avg");
  if (options.momentum != 0) names.push_back("momentum_buffer");
  return names;
}

RMSprop::RMSprop(std::vector<ParameterGroup> groups, const RMSpropOptions& options)
    : Optimizer("RMSprop", std::move(groups), options.lr, moments(options)), options_(options) {
  detail::check_option("RMSprop", "alpha", options.alpha, 1);
  detail::check_option("RMSprop", "eps", options.eps);
  detail::check_option("RMSprop", "weight_decay", options.weight_decay);
  detail::check_option("RMSprop", "momentum", options.momentum);
}

void RMSprop::update(Slot& slot, double lr) {
  Array* const mean = options_.centered ? &slot.moments[1] : nullptr;
  Array* const buffer = options_.momentum != 0 ? &slot.moments.back() : nullptr;
  rmsprop_update(slot.parameter.value(), slot.parameter.grad(), slot.moments[0], mean, buffer,
                 {.lr = lr,
                  .alpha = options_.alpha,
                  .eps = options_.eps,
                  .weight_decay = options_.weight_decay * slot.weight_decay_factor,
                  .momentum = options_.momentum});
}

}  // namespace tapeform::optim
