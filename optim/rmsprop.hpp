#pragma once
#include <tapeform/optim/optimizer.hpp>
#include <vector>

namespace tapeform::optim {

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;  ///< added to the gradient as weight_decay·w
  double momentum = 0;      ///< 0: none
  bool centered = false;    ///< divide by the deviation of the gradients from their mean
};

/// RMSprop, torch's to the formula but where rounding makes a variance negative: see `rmsprop_update`. Keeps `square_avg`, centred
/// `grad_avg`, with momentum `momentum_buffer`.
/// Source: Tieleman and Hinton, "Lecture 6.5: rmsprop", 2012.
class RMSprop final : public Optimizer {
 public:
  using Options = RMSpropOptions;

  /// @throws ValueError when an option is out of range (lr, eps, weight_decay, momentum ≥ 0; 0 ≤ α < 1), or as every `Optimizer`.
  explicit RMSprop(const std::vector<ParameterRef>& parameters, const RMSpropOptions& options = {})
      : RMSprop(detail::one_group(parameters), options) {}
  explicit RMSprop(const std::vector<NamedParameter>& parameters, const RMSpropOptions& options = {})
      : RMSprop(detail::one_group(parameters), options) {}
  explicit RMSprop(std::vector<ParameterGroup> groups, const RMSpropOptions& options = {});

  /// As given; the rate in use is `lr()`.
  const RMSpropOptions& options() const noexcept { return options_; }

 protected:
  void update(Slot& slot, double lr) override;

 private:
  RMSpropOptions options_;
};

}  // namespace tapeform::optim
