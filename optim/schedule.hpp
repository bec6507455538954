#pragma once
#include <cstdint>
#include <tapeform/core/state.hpp>
#include <vector>

namespace tapeform::optim {

// A schedule is a curve: `lr(step)` is the rate of the update before which `step` updates have been done, so the first update uses lr(0):
//
//     for (step = 0; step < total; ++step) { optimizer.set_lr(schedule.lr(step)); … optimizer.step(); }
//
// Past its end a schedule holds its last rate. What a checkpoint keeps of one (`state`) are its options: a run that is resumed keeps the
// curve that it began with. Every lr(step) throws ValueError when the step is negative; every constructor, unless all rates are numbers
// ≥ 0 and as its docstring says. See also optim/any_schedule.hpp (several in turn or multiplied, a function of one's own) and
// optim/plateau.hpp (by a measured value).

struct ConstantOptions {
  double lr = 1e-3;
  double factor = 1.0;     ///< of the first `total` rates
  std::int64_t total = 0;  ///< updates with the factor
};

/// lr·factor for `total` updates, then lr.
class ConstantSchedule {
 public:
  using Options = ConstantOptions;
  /// @throws ValueError unless factor, total ≥ 0.
  explicit ConstantSchedule(const ConstantOptions& options);
  double lr(std::int64_t step) const;
  const ConstantOptions& options() const noexcept { return options_; }
  void state(StateFields& field);

 private:
  ConstantOptions options_;
};

struct LinearOptions {
  double lr = 1e-3;
  double end_lr = 0.0;      ///< the rate at the end and after it; it may be above `lr`
  std::int64_t warmup = 0;  ///< updates that lead up to `lr`
  std::int64_t total = 1;   ///< updates until `end_lr`, warm-up included
};

/// A linear warm-up, then a straight line:
///
///     step < warmup             lr·(step + 1)/(warmup + 1)                                    never 0
///     warmup ≤ step < total     lr + (end_lr − lr)·(step − warmup)/(total − warmup)
///     step ≥ total              end_lr
class LinearSchedule {
 public:
  using Options = LinearOptions;
  /// @throws ValueError unless warmup ≥ 0, total ≥ 1 and warmup ≤ total.
  explicit LinearSchedule(const LinearOptions& options);
  double lr(std::int64_t step) const;
  const LinearOptions& options() const noexcept { return options_; }
  void state(StateFields& field);

 private:
  LinearOptions options_;
};

struct CosineOptions {
  double lr = 1e-3;         ///< the highest rate
  double min_lr = 0.0;      ///< the rate at the end and after it
  std::int64_t warmup = 0;  ///< updates that lead up to `lr`
  std::int64_t total = 1;   ///< updates until `min_lr`, warm-up included
};

/// A linear warm-up, then half a cosine wave down:
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
  double lr(std::int64_t step) const;
  const CosineOptions& options() const noexcept { return options_; }
  void state(StateFields& field);

 private:
  CosineOptions options_;
};

struct CosineRestartsOptions {
  double lr = 1e-3;         ///< at the beginning of every cycle
  double min_lr = 0.0;      ///< towards the end of every cycle
  std::int64_t first = 1;   ///< updates of the first cycle
  std::int64_t growth = 1;  ///< each cycle is so many times as long as the one before it
  std::int64_t cycles = 0;  ///< after so many `min_lr` is held; 0: they never end
};

/// Half a cosine wave down from `lr` to `min_lr`, again and again: u updates into a cycle of n
///
///     min_lr + (lr − min_lr)·(1 + cos(π·u/n))/2
///
/// Source: Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017, equation 5.
class CosineRestartsSchedule {
 public:
  using Options = CosineRestartsOptions;
  /// @throws ValueError unless 0 ≤ min_lr ≤ lr, first ≥ 1, growth ≥ 1, cycles ≥ 0.
  explicit CosineRestartsSchedule(const CosineRestartsOptions& options);
  double lr(std::int64_t step) const;
  const CosineRestartsOptions& options() const noexcept { return options_; }
  void state(StateFields& field);

 private:
  CosineRestartsOptions options_;
};

struct InverseRootOptions {
  double lr = 1e-3;            ///< the highest rate, that of update number `warmup`
  std::int64_t warmup = 4000;  ///< updates that lead up to it
};

/// A linear warm-up, then the inverse square root of the number n = step + 1 of the update: lr·min(n/warmup, √(warmup/n)).
/// The rate of the Transformer's authors is `InverseRootSchedule(noam({.num_hiddens = 512, .warmup = 4000}))`.
class InverseRootSchedule {
 public:
  using Options = InverseRootOptions;
  /// @throws ValueError unless warmup ≥ 1.
  explicit InverseRootSchedule(const InverseRootOptions& options);
  double lr(std::int64_t step) const;
  const InverseRootOptions& options() const noexcept { return options_; }
  void state(StateFields& field);

 private:
  InverseRootOptions options_;
};

struct NoamOptions {
  std::int64_t num_hiddens = 512;  ///< the model's width D
  std::int64_t warmup = 4000;
  double factor = 1.0;
};

/// What makes an `InverseRootSchedule` the rate factor·D^−½·min(n^−½, n·warmup^−³⸍²) of update n = 1, 2, …: n is step + 1.
/// @throws ValueError unless num_hiddens, warmup ≥ 1 and factor is a number ≥ 0.
/// Source: Vaswani et al., "Attention Is All You Need", 2017, section 5.3, equation 3.
InverseRootOptions noam(const NoamOptions& options);

struct StepOptions {
  double lr = 1e-3;
  double gamma = 0.1;                         ///< what the rate is multiplied with
  std::int64_t every = 0;                     ///< after every so many updates; 0: at the milestones
  std::vector<std::int64_t> milestones = {};  ///< after so many updates, in ascending order
};

/// Stairs: lr·gammaᵏ, k being step/every rounded down, or the number of milestones that are at most `step`.
class StepSchedule {
 public:
  using Options = StepOptions;
  /// @throws ValueError unless gamma ≥ 0, and either every ≥ 1 or there are milestones, ascending from 0.
  explicit StepSchedule(const StepOptions& options);
  double lr(std::int64_t step) const;
  const StepOptions& options() const noexcept { return options_; }
  void state(StateFields& field);

 private:
  StepOptions options_;
};

struct ExponentialOptions {
  double lr = 1e-3;
  double gamma = 0.99;
};

/// lr·gamma^step.
class ExponentialSchedule {
 public:
  using Options = ExponentialOptions;
  /// @throws ValueError unless gamma ≥ 0.
  explicit ExponentialSchedule(const ExponentialOptions& options);
  double lr(std::int64_t step) const;
  const ExponentialOptions& options() const noexcept { return options_; }
  void state(StateFields& field);

 private:
  ExponentialOptions options_;
};

struct OneCycleOptions {
  double max_lr = 1e-3;           ///< the highest rate
  std::int64_t total = 1;         ///< updates in all
  double rise = 0.3;              ///< the share of them that leads up to `max_lr`
  double div_factor = 25;         ///< the first rate is max_lr/div_factor
  double final_div_factor = 1e4;  ///< the last one is the first/final_div_factor
  bool linear = false;            ///< straight lines in place of half cosine waves
  bool three_phase = false;       ///< down as fast as up, and only then to the last rate
};

/// One cycle, torch's: up to `max_lr`, which update rise·total has, and down to the last rate, which the last of the `total` updates has;
/// in three phases update 2·rise·total − 1 has the first rate again.
/// Source: Smith and Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates", 2018, section 3.
class OneCycleSchedule {
 public:
  using Options = OneCycleOptions;
  /// @throws ValueError unless total ≥ 1, 0 ≤ rise ≤ 1 (½ in three phases) and both factors are above 0.
  explicit OneCycleSchedule(const OneCycleOptions& options);
  double lr(std::int64_t step) const;
  const OneCycleOptions& options() const noexcept { return options_; }
  void state(StateFields& field);

 private:
  OneCycleOptions options_;
};

}  // namespace tapeform::optim
