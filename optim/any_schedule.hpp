#pragma once
#include <concepts>
#include <cstdint>
#include <tapeform/core/state.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapeform::optim {

/// What has `double lr(std::int64_t step) const`.
template <class S>
concept HasRates = requires(const S& schedule, std::int64_t step) {
  { schedule.lr(step) } -> std::convertible_to<double>;
};

/// What can be called as `double(std::int64_t step)`.
template <class F>
concept RateFunction = requires(const F& function, std::int64_t step) {
  { function(step) } -> std::convertible_to<double>;
};

/// Any schedule, as a value: chosen when the program runs, put into a vector, or a function of one's own.
///
///     Schedule schedule = flat ? Schedule(ConstantSchedule({.lr = 1e-3})) : Schedule(CosineSchedule({.lr = 1e-3, .total = 1000}));
///     Schedule halves([](std::int64_t step) { return 1e-3 / static_cast<double>(1 + step / 100); });
///
/// A checkpoint keeps what the schedule lists; a function lists nothing: it is the program's.
class Schedule {
 public:
  template <class S>
  requires(!std::same_as<S, Schedule> && (HasRates<S> || RateFunction<S>)) Schedule(S schedule)
      : held_(new HeldAs<S>(std::move(schedule))) {}
  Schedule(const Schedule& other) : held_(other.held_->copy()) {}
  Schedule(Schedule&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  Schedule& operator=(Schedule other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~Schedule() { delete held_; }

  /// @throws ValueError when the step is negative.
  double lr(std::int64_t step) const;
  void state(StateFields& field) { held_->state(field); }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual Held* copy() const = 0;
    virtual double lr(std::int64_t step) const = 0;
    virtual void state(StateFields& field) = 0;
  };
  template <class S>
  struct HeldAs final : Held {
    explicit HeldAs(S s) : schedule(std::move(s)) {}
    Held* copy() const override { return new HeldAs(schedule); }
    double lr(std::int64_t step) const override {
      if constexpr (HasRates<S>) {
        return schedule.lr(step);
      } else {
        return schedule(step);
      }
    }
    void state([[maybe_unused]] StateFields& field) override {
      if constexpr (Stateful<S>) schedule.state(field);
    }
    S schedule;
  };

  Held* held_;  // of this value alone; null after a move from it
};

/// One schedule after the other, each counted from its own beginning, torch's SequentialLR: the first until `milestones[0]` updates have
/// been done, the second until `milestones[1]`, …, the last from then on.
///
///     SequentialSchedule schedule({ConstantSchedule({.lr = 1e-4}), CosineSchedule({.lr = 1e-3, .total = 900})}, {100});
class SequentialSchedule {
 public:
  /// @throws ValueError unless there is one milestone less than schedules, ascending from 0.
  SequentialSchedule(std::vector<Schedule> schedules, std::vector<std::int64_t> milestones);
  /// @throws ValueError when the step is negative.
  double lr(std::int64_t step) const;
  const std::vector<std::int64_t>& milestones() const noexcept { return milestones_; }
  void state(StateFields& field);

 private:
  std::vector<Schedule> schedules_;
  std::vector<std::int64_t> milestones_;
};

/// The product of schedules, torch's ChainedScheduler: one has the rate, the others are factors, schedules whose rate is 1 where they
/// change nothing.
///
///     ChainedSchedule schedule({ExponentialSchedule({.lr = 1e-3, .gamma = 0.9}), ConstantSchedule({.lr = 1, .factor = 0.1, .total = 5})});
class ChainedSchedule {
 public:
  /// @throws ValueError when there is no schedule.
  explicit ChainedSchedule(std::vector<Schedule> schedules);
  /// @throws ValueError when the step is negative.
  double lr(std::int64_t step) const;
  void state(StateFields& field);

 private:
  std::vector<Schedule> schedules_;
};

}  // namespace tapeform::optim
