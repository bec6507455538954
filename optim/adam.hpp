#pragma once
#include <tapeform/core/update.hpp>
#include <tapeform/optim/optimizer.hpp>
#include <vector>

namespace tapeform::optim {

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  ///< added to the gradient as weight_decay·w, so it passes through the moments; AdamW's does not
  bool amsgrad = false;     ///< divide by the largest second moment so far
};

/// Adam, torch's to the formula: see `adam_update`. Keeps `exp_avg` and `exp_avg_sq`, with AMSGrad `max_exp_avg_sq` too.
/// Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1.
class Adam final : public Optimizer {
 public:
  using Options = AdamOptions;

  /// @throws ValueError when an option is out of range (lr, eps, weight_decay ≥ 0; 0 ≤ β < 1), or as every `Optimizer`.
  explicit Adam(const std::vector<ParameterRef>& parameters, const AdamOptions& options = {})
      : Adam(detail::one_group(parameters), options) {}
  explicit Adam(const std::vector<NamedParameter>& parameters, const AdamOptions& options = {})
      : Adam(detail::one_group(parameters), options) {}
  explicit Adam(std::vector<ParameterGroup> groups, const AdamOptions& options = {});

  /// As given; the rate in use is `lr()`.
  const AdamOptions& options() const noexcept { return options_; }

 protected:
  void update(Slot& slot, double lr) override;

 private:
  AdamOptions options_;
};

namespace detail {

void check_adam(const char* optimizer, const AdamOptions& options);
std::vector<std::string> adam_moments(bool amsgrad);
void update_adam(Slot& slot, const AdamStep& step);

}  // namespace detail

}  // namespace tapeform::optim
