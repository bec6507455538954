#pragma once
#include <cstdint>
#include <string>
#include <tapeform/core/state.hpp>
#include <tapeform/optim/optimizer.hpp>
#include <vector>

namespace tapeform::optim {

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
};

/// What AdamW keeps of one parameter.
struct AdamWSlot {
  std::string name;
  ParameterRef parameter;
  double lr_factor = 1.0, weight_decay_factor = 1.0;
  std::int64_t steps = 0;               ///< updates of this parameter
  Array exp_avg = {}, exp_avg_sq = {};  ///< the moments m and v; hold nothing before the first update
};

/// AdamW, torch's to the formula: see `adamw_update`. With `.weight_decay = 0` it is Adam.
///
/// A parameter without a gradient is left out of a step: no decay, no count, no state. A parameter that is given twice (a tied
/// weight) is updated once. A step in a running loop allocates nothing.
/// Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1; Loshchilov and Hutter, "Decoupled Weight
/// Decay Regularization", 2019, algorithm 2.
class AdamW {
 public:
  using Options = AdamWOptions;

  /// @throws ValueError when an option is out of range (lr, eps, weight_decay ≥ 0; 0 ≤ β < 1), or a parameter is in two groups or gone.
  explicit AdamW(const std::vector<ParameterRef>& parameters, const AdamWOptions& options = {})
      : AdamW(detail::one_group(parameters), options) {}
  explicit AdamW(const std::vector<NamedParameter>& parameters, const AdamWOptions& options = {})
      : AdamW(detail::one_group(parameters), options) {}
  explicit AdamW(std::vector<ParameterGroup> groups, const AdamWOptions& options = {});

  /// Updates every parameter that has a gradient.
  /// @throws ValueError when a parameter's module is gone, ShapeError, DTypeError when a gradient does not fit; before anything changes.
  void step();
  /// Leaves no gradient, which is not a gradient of zeros.
  void zero_grad() noexcept;

  /// The rate of the next step, before the groups' factors.
  double lr() const noexcept { return options_.lr; }
  /// @throws ValueError unless it is a number ≥ 0.
  void set_lr(double lr);
  const AdamWOptions& options() const noexcept { return options_; }

  /// In the order of the groups; what a checkpoint saves.
  const std::vector<AdamWSlot>& slots() const noexcept { return slots_; }

  /// The rate, and of each parameter by its name the number of updates and the moments: `tok.weight.steps`, `.exp_avg`, `.exp_avg_sq`.
  /// @throws ValueError when a parameter's module is gone.
  void state(StateFields& field);

 private:
  AdamWOptions options_;
  std::vector<AdamWSlot> slots_;
};

}  // namespace tapeform::optim
