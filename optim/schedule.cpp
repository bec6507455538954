#include <tapeform/optim/schedule.hpp>

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <tapeform/core/error.hpp>

namespace tapeform::optim {

CosineSchedule::CosineSchedule(const CosineOptions& options) : options_(options) {
  if (!(options.min_lr >= 0 && options.min_lr <= options.lr && std::isfinite(options.lr)))
    throw ValueError(fmt::format("CosineSchedule: rates must satisfy 0 ≤ min_lr ≤ lr; got min_lr {}, lr {}", options.min_lr, options.lr));
  if (options.total < 1)
    throw ValueError(fmt::format("CosineSchedule: total must be at least 1; got {}. Give the number of updates of the run", options.total));
  if (options.warmup < 0 || options.warmup > options.total)
    throw ValueError(
        fmt::format("CosineSchedule: warmup must lie within 0 and total; got warmup {}, total {}", options.warmup, options.total));
}

double CosineSchedule::lr(std::int64_t step) const {
  if (step < 0) throw ValueError(fmt::format("CosineSchedule: steps count from 0; got {}", step));
  const auto [lr, min_lr, warmup, total] = options_;
  if (step < warmup) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
  if (step >= total) return min_lr;
  const double part = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
  return min_lr + (lr - min_lr) * (1 + std::cos(std::numbers::pi * part)) / 2;
}

void CosineSchedule::state(StateFields& field) {
  field("lr", options_.lr);
  field("min_lr", options_.min_lr);
  field("warmup", options_.warmup);
  field("total", options_.total);
}

}  // namespace tapeform::optim
