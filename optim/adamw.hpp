#pragma once
#include <tapeform/optim/optimizer.hpp>
#include <vector>

namespace tapeform::optim {

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;  ///< of the weights themselves, outside of the moments
  bool amsgrad = false;        ///< divide by the largest second moment so far
};

/// AdamW, torch's to the formula: see `adam_update`. With `.weight_decay = 0` it is Adam. Keeps `exp_avg` and `exp_avg_sq`, with AMSGrad
/// `max_exp_avg_sq` too.
/// Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 2.
class AdamW final : public Optimizer {
 public:
  using Options = AdamWOptions;

  /// @throws ValueError when an option is out of range (lr, eps, weight_decay ≥ 0; 0 ≤ β < 1), or as every `Optimizer`.
  explicit AdamW(const std::vector<ParameterRef>& parameters, const AdamWOptions& options = {})
      : AdamW(detail::one_group(parameters), options) {}
  explicit AdamW(const std::vector<NamedParameter>& parameters, const AdamWOptions& options = {})
      : AdamW(detail::one_group(parameters), options) {}
  explicit AdamW(std::vector<ParameterGroup> groups, const AdamWOptions& options = {});

  /// As given; the rate in use is `lr()`.
  const AdamWOptions& options() const noexcept { return options_; }

 protected:
  void update(Slot& slot, double lr) override;

 private:
  AdamWOptions options_;
};

}  // namespace tapeform::optim
