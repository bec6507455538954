#include <tapeform/optim/any_schedule.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tapeform/core/error.hpp>

namespace tapeform::optim {

double Schedule::lr(std::int64_t step) const {
  if (step < 0) throw ValueError(fmt::format("Schedule: steps count from 0; got {}", step));
  return held_->lr(step);
}

SequentialSchedule::SequentialSchedule(std::vector<Schedule> schedules, std::vector<std::int64_t> milestones)
    : schedules_(std::move(schedules)), milestones_(std::move(milestones)) {
  if (schedules_.size() != milestones_.size() + 1)
    throw ValueError(fmt::format("SequentialSchedule: there must be one milestone between two schedules; got {} schedules, {} milestones",
                                 schedules_.size(), milestones_.size()));
  const auto fault = std::ranges::adjacent_find(milestones_, std::ranges::greater());
  if (fault != milestones_.end())
    throw ValueError(fmt::format("SequentialSchedule: milestones must ascend; got {} before {}", fault[0], fault[1]));
  if (!milestones_.empty() && milestones_.front() < 0)
    throw ValueError(fmt::format("SequentialSchedule: a milestone must be at least 0; got {}", milestones_.front()));
}

double SequentialSchedule::lr(std::int64_t step) const {
  const auto passed = std::ranges::upper_bound(milestones_, step) - milestones_.begin();
  const std::int64_t begin = passed == 0 ? 0 : milestones_[static_cast<std::size_t>(passed) - 1];
  return schedules_[static_cast<std::size_t>(passed)].lr(step - begin);
}

void SequentialSchedule::state(StateFields& field) {
  field("milestones", milestones_);
  field("schedules", schedules_);
}

ChainedSchedule::ChainedSchedule(std::vector<Schedule> schedules) : schedules_(std::move(schedules)) {
  if (schedules_.empty()) throw ValueError("ChainedSchedule: there must be at least one schedule; got none");
}

double ChainedSchedule::lr(std::int64_t step) const {
  double product = 1;
  for (const Schedule& schedule : schedules_) product *= schedule.lr(step);
  return product;
}

void ChainedSchedule::state(StateFields& field) { field("schedules", schedules_); }

}  // namespace tapeform::optim
