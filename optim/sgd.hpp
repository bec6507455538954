#pragma once
#include <tapeform/optim/optimizer.hpp>
#include <vector>

namespace tapeform::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;      ///< 0: none, and nothing is kept
  double dampening = 0;     ///< the share of a gradient that does not enter the momentum, from the second update on
  double weight_decay = 0;  ///< added to the gradient as weight_decay·w
  bool nesterov = false;    ///< look ahead by one step of the momentum
};

/// Stochastic gradient descent, torch's to the formula: see `sgd_update`. With momentum it keeps `momentum_buffer`.
/// Source: Sutskever, Martens, Dahl and Hinton, "On the importance of initialization and momentum in deep learning", 2013.
class SGD final : public Optimizer {
 public:
  using Options = SGDOptions;

  /// @throws ValueError when an option is out of range (all ≥ 0; Nesterov needs momentum
  /// and no dampening), or as every `Optimizer`.
  explicit SGD(const std::vector<ParameterRef>& parameters, const SGDOptions& options = {}) : SGD(detail::one_group(parameters), options) {}
  explicit SGD(const std::vector<NamedParameter>& parameters, const SGDOptions& options = {})
      : SGD(detail::one_group(parameters), options) {}
  explicit SGD(std::vector<ParameterGroup> groups, const SGDOptions& options = {});

  /// As given; the rate in use is `lr()`.
  const SGDOptions& options() const noexcept { return options_; }

 protected:
  void update(Slot& slot, double lr) override;

 private:
  SGDOptions options_;
};

}  // namespace tapeform::optim
