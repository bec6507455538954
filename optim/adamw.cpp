#include <tapeform/optim/adam.hpp>
#include <tapeform/optim/adamw.hpp>

namespace tapeform::optim {

AdamW::AdamW(std::vector<ParameterGroup> groups, const AdamWOptions& options)
    : Optimizer("AdamW", std::move(groups), options.lr, detail::adam_moments(options.amsgrad)), options_(options) {
  detail::check_adam("AdamW", {.beta1 = options.beta1, .beta2 = options.beta2, .eps = options.eps, .weight_decay = options.weight_decay});
}

void AdamW::update(Slot& slot, double lr) {
  detail::update_adam(slot, {.lr = lr,
                             .beta1 = options_.beta1,
                             .beta2 = options_.beta2,
                             .eps = options_.eps,
                             .weight_decay = options_.weight_decay * slot.weight_decay_factor,
                             .step = slot.steps});
}

}  // namespace tapeform::optim
