#pragma once
#include <cstdint>
#include <tapeform/core/state.hpp>

namespace tapeform::optim {

struct CosineOptions {
  double lr = 1e-3;         ///< the highest rate
  double min_lr = 0.0;      ///< the rate at the end and after it
  std::int64_t warmup = 0;  ///< updates that lead up to `lr`
  std::int64_t total = 1;   ///< updates until `min_lr`, warm-up included
};

/// A linear warm-up, then half a cosine wave down. `step` is the number of updates done before the one that uses the rate, so the first
/// update uses lr(0), and `for (step = 0; step < total; ++step) { adamw.set_lr(schedule.lr(step)); … adamw.step(); }` is the loop:
///
///     step < warmup             lr·(step + 1)/(warmup + 1)                                    never 0
///     warmup ≤ step < total     min_lr + (lr − min_lr)·(1 + cos(π·(step − warmup)/(total − warmup)))/2
///     step ≥ total              min_lr
///
/// Source: Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017, equation 5, without restarts.
class CosineSchedule {
 public:
  using Options = CosineOptions;

  /// @throws ValueError unless 0 ≤ min_lr ≤ lr, warmup ≥ 0, total ≥ 1 and warmup ≤ total.
  explicit CosineSchedule(const CosineOptions& options);
  /// @throws ValueError when the step is negative.
  double lr(std::int64_t step) const;
  const CosineOptions& options() const noexcept { return options_; }
  /// The options: a run that is resumed keeps the curve that it began with.
  void state(StateFields& field);

 private:
  CosineOptions options_;
};

}  // namespace tapeform::optim
