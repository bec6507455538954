#pragma once
#include <cstdint>
#include <tapeform/core/state.hpp>

namespace tapeform::optim {

struct PlateauOptions {
  double lr = 1e-3;            ///< the first rate
  double factor = 0.1;         ///< what the rate is multiplied with
  std::int64_t patience = 10;  ///< values in a row that may be no better before it is
  double threshold = 1e-4;     ///< how much better a value must be to count
  bool relative = true;        ///< the threshold is a share of the best value's size; otherwise an amount
  bool maximize = false;       ///< higher values are better
  std::int64_t cooldown = 0;   ///< values after a reduction that are not counted
  double min_lr = 0.0;
  double eps = 1e-8;  ///< a reduction by no more than this is left out
};

/// Reduces the rate when a measured value stops getting better, torch's ReduceLROnPlateau:
///
///     PlateauSchedule plateau({.lr = 1e-3, .patience = 2});
///     for (…) { train(); optimizer.set_lr(plateau.observe(validation_loss())); }
///
/// A value is better when it is under best − threshold·|best| (relative), or under best − threshold; over best + … when it is maximised.
/// torch takes the share of a negative best with its sign, which there makes worse values count as better ones. NaN is never better.
class PlateauSchedule {
 public:
  using Options = PlateauOptions;

  /// @throws ValueError unless lr, threshold, min_lr, eps ≥ 0, 0 ≤ factor < 1, and patience, cooldown ≥ 0.
  explicit PlateauSchedule(const PlateauOptions& options);

  /// Takes note of a value, and returns the rate from here on.
  double observe(double value);
  double lr() const noexcept { return lr_; }
  /// The best value so far; infinite before the first.
  double best() const noexcept { return best_; }
  const PlateauOptions& options() const noexcept { return options_; }
  /// The options, and where it is: rate, best value, and both counts.
  void state(StateFields& field);

 private:
  bool better(double value) const;

  PlateauOptions options_;
  double lr_, best_;
  std::int64_t no_better_ = 0, cooling_ = 0;
};

}  // namespace tapeform::optim
