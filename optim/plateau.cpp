#include <tapeform/optim/plateau.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/optim/optimizer.hpp>

namespace tapeform::optim {

PlateauSchedule::PlateauSchedule(const PlateauOptions& options)
    : options_(options),
      lr_(options.lr),
      best_(options.maximize ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()) {
  detail::check_option("PlateauSchedule", "lr", options.lr);
  detail::check_option("PlateauSchedule", "factor", options.factor, 1);
  detail::check_option("PlateauSchedule", "threshold", options.threshold);
  detail::check_option("PlateauSchedule", "min_lr", options.min_lr);
  detail::check_option("PlateauSchedule", "eps", options.eps);
  for (const std::int64_t count : {options.patience, options.cooldown})
    if (count < 0)
      throw ValueError(
          fmt::format("PlateauSchedule: patience and cooldown must be at least 0; got {}, {}", options.patience, options.cooldown));
}

bool PlateauSchedule::better(double value) const {
  if (std::isinf(best_)) return options_.maximize ? value > best_ : value < best_;
  const double least = options_.relative ? options_.threshold * std::abs(best_) : options_.threshold;
  return options_.maximize ? value > best_ + least : value < best_ - least;
}

double PlateauSchedule::observe(double value) {
  if (better(value)) {
    best_ = value;
    no_better_ = 0;
  } else {
    ++no_better_;
  }
  if (cooling_ > 0) {
    --cooling_;
    no_better_ = 0;
  }
  if (no_better_ > options_.patience) {
    const double reduced = std::max(lr_ * options_.factor, options_.min_lr);
    if (lr_ - reduced > options_.eps) lr_ = reduced;
    cooling_ = options_.cooldown;
    no_better_ = 0;
  }
  return lr_;
}

void PlateauSchedule::state(StateFields& field) {
  field("options.lr", options_.lr);
  field("options.factor", options_.factor);
  field("options.patience", options_.patience);
  field("options.threshold", options_.threshold);
  field("options.relative", options_.relative);
  field("options.maximize", options_.maximize);
  field("options.cooldown", options_.cooldown);
  field("options.min_lr", options_.min_lr);
  field("options.eps", options_.eps);
  field("lr", lr_);
  field("best", best_);
  field("no_better", no_better_);
  field("cooling", cooling_);
}

}  // namespace tapeform::optim
