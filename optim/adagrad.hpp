#pragma once
#include <tapeform/optim/optimizer.hpp>
#include <vector>

namespace tapeform::optim {

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;                   ///< the rate of a parameter's step t = 1, 2, … is lr/(1 + (t − 1)·lr_decay)
  double weight_decay = 0;               ///< added to the gradient as weight_decay·w
  double initial_accumulator_value = 0;  ///< of the sum of squares
  double eps = 1e-10;
};

/// Adagrad, torch's to the formula: see `adagrad_update`. Keeps `sum`.
/// Source: Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", 2011, figure 1.
class Adagrad final : public Optimizer {
 public:
  using Options = AdagradOptions;

  /// @throws ValueError when an option is out of range (all ≥ 0), or as every `Optimizer`.
  explicit Adagrad(const std::vector<ParameterRef>& parameters, const AdagradOptions& options = {})
      : Adagrad(detail::one_group(parameters), options) {}
  explicit Adagrad(const std::vector<NamedParameter>& parameters, const AdagradOptions& options = {})
      : Adagrad(detail::one_group(parameters), options) {}
  explicit Adagrad(std::vector<ParameterGroup> groups, const AdagradOptions& options = {});

  /// As given; the rate in use is `lr()`.
  const AdagradOptions& options() const noexcept { return options_; }

 protected:
  void update(Slot& slot, double lr) override;

 private:
  AdagradOptions options_;
};

}  // namespace tapeform::optim
