#include "schedules/schedules.hpp"

#include <algorithm>
#include <cmath>
#include <tapeform/tapeform.hpp>

namespace examples::schedules {

using namespace tapeform::optim;

namespace {

constexpr double peak = 1e-3;

struct Length {
  std::int64_t updates;
  std::int64_t part(double share) const { return std::max<std::int64_t>(1, std::llround(share * static_cast<double>(updates))); }
};

LineChart drawn(const char* title, const char* note, const Schedule& schedule, const Length& length) {
  LineChart chart{title, note, "update", {}};
  for (std::int64_t step = 0; step < length.updates; ++step) chart.values.push_back(schedule.lr(step));
  return chart;
}

/// Rates at which the middle and the end of a long run are still to be told apart.
double gamma(const Length& length, double at_the_end) { return std::pow(at_the_end, 1.0 / static_cast<double>(length.updates)); }

LineChart plateau(const Length& length) {
  PlateauSchedule schedule({.lr = peak, .factor = 0.5, .patience = length.part(0.1)});
  LineChart chart{"PlateauSchedule", "halved when a loss no longer falls", "update", {}};
  for (std::int64_t step = 0; step < length.updates; ++step)
    chart.values.push_back(schedule.observe(std::max(0.4, 1.0 - static_cast<double>(step) / static_cast<double>(length.part(0.5)))));
  return chart;
}

}  // namespace

std::vector<LineChart> curves(std::int64_t updates) {
  const Length n{updates};
  const ConstantSchedule constant({.lr = peak, .factor = 0.25, .total = n.part(0.1)});
  const CosineSchedule cosine({.lr = peak, .min_lr = peak / 10, .warmup = n.part(0.1), .total = updates});
  const ExponentialSchedule exponential({.lr = peak, .gamma = gamma(n, 0.05)});
  const auto mine = [n](std::int64_t step) { return peak / std::sqrt(1.0 + static_cast<double>(step / n.part(0.1))); };
  return {drawn("ConstantSchedule", "a quarter of it at first", constant, n),
          drawn("LinearSchedule", "warm-up, then a line",
                LinearSchedule({.lr = peak, .end_lr = peak / 10, .warmup = n.part(0.1), .total = updates}), n),
          drawn("CosineSchedule", "warm-up, then half a wave", cosine, n),
          drawn("CosineRestartsSchedule", "each cycle twice as long",
                CosineRestartsSchedule({.lr = peak, .first = n.part(0.15), .growth = 2}), n),
          drawn("InverseRootSchedule", "noam() makes it its authors' rate", InverseRootSchedule({.lr = peak, .warmup = n.part(0.2)}), n),
          drawn("StepSchedule", ".every", StepSchedule({.lr = peak, .gamma = 0.5, .every = n.part(0.2)}), n),
          drawn("StepSchedule", ".milestones", StepSchedule({.lr = peak, .gamma = 0.3, .milestones = {n.part(0.3), n.part(0.8)}}), n),
          drawn("ExponentialSchedule", "", exponential, n),
          drawn("OneCycleSchedule", "waves", OneCycleSchedule({.max_lr = peak, .total = updates}), n),
          drawn("OneCycleSchedule", ".linear, .three_phase",
                OneCycleSchedule({.max_lr = peak, .total = updates, .linear = true, .three_phase = true}), n),
          plateau(n),
          drawn("Schedule", "a function", Schedule(mine), n),
          drawn("SequentialSchedule", "a constant, then a wave", SequentialSchedule({constant, cosine}, {n.part(0.3)}), n),
          drawn("ChainedSchedule", "an exponential times stairs",
                ChainedSchedule({exponential, StepSchedule({.lr = 1, .gamma = 0.5, .every = n.part(0.25)})}), n)};
}

}  // namespace examples::schedules
