#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <tapeform/core/fields.hpp>
#include <tapeform/core/state.hpp>
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

/// What an optimizer keeps of one parameter.
struct Slot {
  std::string name;
  ParameterRef parameter;
  double lr_factor = 1.0, weight_decay_factor = 1.0;
  std::int64_t steps = 0;           ///< updates of this parameter
  std::vector<Array> moments = {};  ///< one for each of the optimizer's `moment_names()`; they hold nothing before the first update
};

/// What all optimizers have in common. A loop that takes an `Optimizer&` works with any of them, and one of your own derives from it:
/// it names what it keeps of each parameter, and says in `update` what happens to one parameter.
///
/// A parameter without a gradient is left out of a step: no decay, no count, no state. A parameter that is given twice (a tied weight)
/// is updated once. A step in a running loop allocates nothing.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Updates every parameter that has a gradient.
  /// @throws ValueError when a parameter's module is gone, ShapeError, DTypeError when a gradient does not fit; before anything changes.
  void step();
  /// Leaves no gradient, which is not a gradient of zeros.
  void zero_grad() noexcept;

  /// The rate of the next step, before the groups' factors.
  double lr() const noexcept { return lr_; }
  /// @throws ValueError unless it is a number ≥ 0.
  void set_lr(double lr);

  /// In the order of the groups.
  const std::vector<Slot>& slots() const noexcept { return slots_; }
  /// Of the arrays that each slot keeps; torch's names.
  const std::vector<std::string>& moment_names() const noexcept { return moment_names_; }

  /// What a checkpoint saves: the rate, and of each parameter by its name the number of updates and the moments, `tok.weight.steps`,
  /// `tok.weight.exp_avg`. The options are the program's.
  /// @throws ValueError when a parameter's module is gone.
  void state(StateFields& field);

 protected:
  /// `name` stands in errors and profiles. @throws ValueError when lr or a factor is not a number ≥ 0, or a parameter is in two groups
  /// or gone.
  Optimizer(const char* name, std::vector<ParameterGroup> groups, double lr, std::vector<std::string> moment_names);
  Optimizer(const Optimizer&) = default;
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(const Optimizer&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  /// Updates one parameter by its gradient. `slot.steps` has been counted up to this step, `slot.moments` are 0 at the first one, and
  /// `lr` has the group's factor in it.
  virtual void update(Slot& slot, double lr) = 0;

 private:
  std::string name_, step_name_;
  double lr_;
  std::vector<std::string> moment_names_;
  std::vector<Slot> slots_;
};

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
