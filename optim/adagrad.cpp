#include <tapeform/optim/adagrad.hpp>

#include <tapeform/core/update.hpp>

namespace tapeform::optim {

Adagrad::Adagrad(std::vector<ParameterGroup> groups, const AdagradOptions& options)
    : Optimizer("Adagrad", std::move(groups), options.lr, {"sum"}), options_(options) {
  detail::check_option("Adagrad", "lr_decay", options.lr_decay);
  detail::check_option("Adagrad", "weight_decay", options.weight_decay);
  detail::check_option("Adagrad", "initial_accumulator_value", options.initial_accumulator_value);
  detail::check_option("Adagrad", "eps", options.eps);
}

void Adagrad::update(Slot& slot, double lr) {
  Array &value = slot.parameter.value(), &sum = slot.moments[0];
  if (slot.steps == 1) sum = Array::full(value.shape(), options_.initial_accumulator_value, value.dtype());
  adagrad_update(value, slot.parameter.grad(), sum,
                 {.lr = lr / (1 + static_cast<double>(slot.steps - 1) * options_.lr_decay),
                  .eps = options_.eps,
                  .weight_decay = options_.weight_decay * slot.weight_decay_factor});
}

}  // namespace tapeform::optim
