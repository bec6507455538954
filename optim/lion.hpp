#pragma once
#include <tapeform/optim/optimizer.hpp>
#include <vector>

namespace tapeform::optim {

struct LionOptions {
  double lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;  ///< of the weights themselves
};

/// Lion: every element moves by the rate, up or down; see `lion_update`. Keeps `exp_avg`. Its authors take a rate 3 to 10 times smaller
/// than AdamW's, and a decay as many times larger.
/// Source: Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023, algorithm 2.
class Lion final : public Optimizer {
 public:
  using Options = LionOptions;

  /// @throws ValueError when an option is out of range (lr, weight_decay ≥ 0; 0 ≤ β < 1), or as every `Optimizer`.
  explicit Lion(const std::vector<ParameterRef>& parameters, const LionOptions& options = {})
      : Lion(detail::one_group(parameters), options) {}
  explicit Lion(const std::vector<NamedParameter>& parameters, const LionOptions& options = {})
      : Lion(detail::one_group(parameters), options) {}
  explicit Lion(std::vector<ParameterGroup> groups, const LionOptions& options = {});

  /// As given; the rate in use is `lr()`.
  const LionOptions& options() const noexcept { return options_; }

 protected:
  void update(Slot& slot, double lr) override;

 private:
  LionOptions options_;
};

}  // namespace tapeform::optim
