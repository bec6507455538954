#include <tapeform/optim/sgd.hpp>

#include <fmt/format.h>

#include <tapeform/core/error.hpp>
#include <tapeform/core/update.hpp>

namespace tapeform::optim {

static std::vector<std::string> moments(const SGDOptions& options) {
  return options.momentum != 0 ? std::vector<std::string>{"momentum_buffer"} : std::vector<std::string>{};
}

SGD::SGD(std::vector<ParameterGroup> groups, const SGDOptions& options)
    : Optimizer("SGD", std::move(groups), options.lr, moments(options)), options_(options) {
  detail::check_option("SGD", "momentum", options.momentum);
  detail::check_option("SGD", "dampening", options.dampening);
  detail::check_option("SGD", "weight_decay", options.weight_decay);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    throw ValueError(fmt::format("SGD: nesterov needs momentum above 0 and dampening 0; got momentum {}, dampening {}", options.momentum,
                                 options.dampening));
}

void SGD::update(Slot& slot, double lr) {
  Array* const buffer = slot.moments.empty() ? nullptr : &slot.moments[0];
  sgd_update(slot.parameter.value(), slot.parameter.grad(), buffer,
             {.lr = lr,
              .momentum = options_.momentum,
              .dampening = options_.dampening,
              .weight_decay = options_.weight_decay * slot.weight_decay_factor,
              .nesterov = options_.nesterov,
              .step = slot.steps});
}

}  // namespace tapeform::optim
