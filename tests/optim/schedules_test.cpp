#include <cmath>
#include <functional>
#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/checkpoint.hpp>
#include <tapeform/core/io/safetensors.hpp>
#include <tapeform/optim/any_schedule.hpp>
#include <tapeform/optim/plateau.hpp>
#include <tapeform/optim/schedule.hpp>
#include <tapeform/optim/sgd.hpp>
#include <tuple>

#include "catch.hpp"
#include "core/files.hpp"
#include "message.hpp"

using namespace tapeform;
using namespace tapeform::optim;

namespace {

constexpr std::int64_t last_step = std::numeric_limits<std::int64_t>::max();

/// Saves one schedule and loads it into another, whose 100 rates must become those of the first.
template <class S>
void check_restores(const S& saved, S other) {
  const TemporaryFile file("schedule.safetensors");
  io::save_checkpoint(file.path, {{"schedule", saved}});
  io::load_checkpoint(file.path, {{"schedule", other}});
  for (std::int64_t step = 0; step < 100; ++step) CHECK(other.lr(step) == saved.lr(step));
}

}  // namespace

TEST_CASE("OP-14: warm-up step 0; the rate of the Transformer's authors", "[case]") {
  const InverseRootSchedule schedule(noam({.num_hiddens = 512, .warmup = 4000}));
  const auto of_update = [&schedule](std::int64_t n) { return schedule.lr(n - 1); };  // theirs count from 1
  CHECK(of_update(1) == Catch::Approx(1.746928e-7).epsilon(1e-6));
  CHECK(of_update(4000) == Catch::Approx(6.987712e-4).epsilon(1e-6));
  CHECK(of_update(16000) == Catch::Approx(3.493856e-4).epsilon(1e-6));
  CHECK(of_update(4000) == schedule.options().lr);
  CHECK(schedule.lr(0) > 0);
}

TEST_CASE("OP-16: degenerate schedule lengths; every schedule has a number or says what is wrong", "[case]") {
  CHECK(LinearSchedule({.lr = 0.5, .end_lr = 0.1, .total = 1}).lr(0) == 0.5);
  CHECK(LinearSchedule({.lr = 0.5, .end_lr = 0.1, .warmup = 4, .total = 4}).lr(3) == 0.4);
  CHECK(ConstantSchedule({.lr = 0.5, .factor = 0.1, .total = 0}).lr(0) == 0.5);
  CHECK(CosineRestartsSchedule({.lr = 0.5, .first = 1}).lr(7) == 0.5);
  CHECK(InverseRootSchedule({.lr = 0.5, .warmup = 1}).lr(0) == 0.5);
  for (const bool three_phase : {false, true})
    for (const bool linear : {false, true})
      for (const std::int64_t total : {1, 2, 3, 10})
        for (const double rise : {0.0, 0.1, 0.3, 0.5}) {
          const OneCycleSchedule schedule({.max_lr = 1, .total = total, .rise = rise, .linear = linear, .three_phase = three_phase});
          for (std::int64_t step = 0; step < 12; ++step) {
            const double rate = schedule.lr(step);
            INFO(total << " " << rise << " " << step);
            CHECK((rate > 0 && rate <= 1));
          }
          CHECK(schedule.lr(total - 1) == schedule.lr(total + 5));
        }
  CHECK(message<ValueError>([] { LinearSchedule({.total = 0}); }) ==
        "LinearSchedule: total must be at least 1; got 0. Give the number of updates of the run");
  CHECK(message<ValueError>([] { LinearSchedule({.warmup = 5, .total = 4}); }) ==
        "LinearSchedule: warmup must lie within 0 and total; got warmup 5, total 4");
  CHECK(message<ValueError>([] { CosineRestartsSchedule({.first = 0}); }) == "CosineRestartsSchedule: first must be at least 1; got 0");
  CHECK(message<ValueError>([] { InverseRootSchedule({.warmup = 0}); }) == "InverseRootSchedule: warmup must be at least 1; got 0");
  CHECK(message<ValueError>([] { static_cast<void>(noam({.num_hiddens = 0})); }) == "noam: num_hiddens must be at least 1; got 0");
  CHECK(message<ValueError>([] { OneCycleSchedule({.total = 0}); }) == "OneCycleSchedule: total must be at least 1; got 0");
}

TEST_CASE("OP-17: scheduler off by one; an exponential's updates 1, 2, 3 use its first, second, third rate", "[case]") {
  const Parameter p(Array::zeros({1}, DType::float64));
  SGD sgd({p.ref()});
  const ExponentialSchedule schedule({.lr = 0.1, .gamma = 0.5});
  double position = 0;
  for (std::int64_t step = 0; step < 3; ++step) {
    const double rate = 0.1 * std::pow(0.5, step);
    sgd.set_lr(schedule.lr(step));
    CHECK(sgd.lr() == Catch::Approx(rate).epsilon(1e-15));
    p.ref().grad() = Array::ones({1}, DType::float64);
    sgd.step();
    CHECK(position - p.value().item() == Catch::Approx(rate).epsilon(1e-14));
    position = p.value().item();
  }
}

TEST_CASE("schedules hold their last rate past their end") {
  for (const std::int64_t past : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1'000'000'000}, last_step - 100}) {
    CHECK(ConstantSchedule({.lr = 0.5, .factor = 0.1, .total = 100}).lr(100 + past) == 0.5);
    CHECK(LinearSchedule({.lr = 0.5, .end_lr = 0.25, .total = 100}).lr(100 + past) == 0.25);
    CHECK(CosineSchedule({.lr = 0.5, .min_lr = 0.25, .total = 100}).lr(100 + past) == 0.25);
    CHECK(CosineRestartsSchedule({.lr = 0.5, .min_lr = 0.25, .first = 20, .cycles = 5}).lr(100 + past) == 0.25);
    CHECK(CosineRestartsSchedule({.lr = 0.5, .min_lr = 0.25, .first = 12, .growth = 7, .cycles = 2}).lr(96 + past) == 0.25);
    CHECK(StepSchedule({.lr = 1, .gamma = 0.5, .milestones = {10, 100}}).lr(100 + past) == 0.25);
    CHECK(OneCycleSchedule({.max_lr = 1, .total = 101, .div_factor = 4, .final_div_factor = 8}).lr(100 + past) == 1.0 / 32);
    const SequentialSchedule both({ConstantSchedule({.lr = 1}), LinearSchedule({.lr = 1, .end_lr = 0.25, .total = 50})}, {50});
    CHECK(both.lr(100 + past) == 0.25);
    CHECK(std::isfinite(ExponentialSchedule({.lr = 1, .gamma = 0.9}).lr(100 + past)));
    CHECK(InverseRootSchedule({.lr = 1, .warmup = 25}).lr(100 + past) < 0.5);
    CHECK(CosineRestartsSchedule({.lr = 0.5, .min_lr = 0.25, .first = 3, .growth = 2}).lr(past) <= 0.5);
  }
}

TEST_CASE("schedules are saved and restored: a resumed run keeps the curve that it began with") {
  check_restores(ConstantSchedule({.lr = 0.5, .factor = 0.1, .total = 9}), ConstantSchedule({}));
  check_restores(LinearSchedule({.lr = 0.5, .end_lr = 0.1, .warmup = 3, .total = 90}), LinearSchedule({}));
  check_restores(CosineSchedule({.lr = 0.5, .min_lr = 0.1, .warmup = 3, .total = 90}), CosineSchedule({}));
  check_restores(CosineRestartsSchedule({.lr = 0.5, .min_lr = 0.1, .first = 5, .growth = 3, .cycles = 3}), CosineRestartsSchedule({}));
  check_restores(InverseRootSchedule({.lr = 0.5, .warmup = 30}), InverseRootSchedule({}));
  check_restores(StepSchedule({.lr = 0.5, .gamma = 0.3, .milestones = {3, 50}}), StepSchedule({.every = 4}));
  check_restores(ExponentialSchedule({.lr = 0.5, .gamma = 0.9}), ExponentialSchedule({}));
  check_restores(
      OneCycleSchedule(
          {.max_lr = 0.5, .total = 95, .rise = 0.4, .div_factor = 3, .final_div_factor = 7, .linear = true, .three_phase = true}),
      OneCycleSchedule({}));
  const auto half = [](std::int64_t) { return 0.5; };
  check_restores(SequentialSchedule({LinearSchedule({.lr = 0.5, .total = 9}), half}, {20}),
                 SequentialSchedule({LinearSchedule({}), half}, {1}));
  check_restores(ChainedSchedule({ExponentialSchedule({.lr = 0.5, .gamma = 0.9}), half}), ChainedSchedule({ExponentialSchedule({}), half}));
  check_restores(Schedule(ConstantSchedule({.lr = 0.25})), Schedule(ConstantSchedule({})));
}

TEST_CASE("CosineRestartsSchedule: a file that holds no cycle is an error when a rate is asked for") {
  const TemporaryFile file("restarts.safetensors");
  for (const auto& [first, growth, text] : {std::tuple{0, 1, "CosineRestartsSchedule: first must be at least 1; got 0"},
                                            {0, 2, "CosineRestartsSchedule: first must be at least 1; got 0"},
                                            {5, 0, "CosineRestartsSchedule: growth must be at least 1; got 0"}}) {
    io::write_safetensors(file.path, {{"schedule.lr", Array::full({}, 0.5, DType::float64)},
                                      {"schedule.min_lr", Array::full({}, 0.1, DType::float64)},
                                      {"schedule.first", Ids::full({}, first)},
                                      {"schedule.growth", Ids::full({}, growth)},
                                      {"schedule.cycles", Ids::full({}, 0)}});
    CosineRestartsSchedule schedule({});
    io::load_checkpoint(file.path, {{"schedule", schedule}});
    CHECK(message<ValueError>([&] { static_cast<void>(schedule.lr(7)); }) == text);
  }
}

TEST_CASE("PlateauSchedule goes on from a file as if it had not stopped") {
  const TemporaryFile file("plateau.safetensors");
  const auto value = [](int i) { return 1 + 1.0 / (1 + i % 7 + i / 9); };
  PlateauSchedule whole({.lr = 1, .factor = 0.5, .patience = 2, .threshold = 0.01, .relative = false, .cooldown = 3, .min_lr = 1e-3});
  PlateauSchedule first = whole, second({.lr = 5, .maximize = true});
  for (int i = 0; i < 17; ++i) first.observe(value(i));
  io::save_checkpoint(file.path, {{"plateau", first}});
  io::load_checkpoint(file.path, {{"plateau", second}});
  CHECK(second.lr() == first.lr());
  CHECK(second.best() == first.best());
  for (int i = 0; i < 60; ++i) {
    const double rate = whole.observe(value(i));
    if (i >= 17) CHECK(second.observe(value(i)) == rate);
  }
  CHECK(whole.lr() < 0.1);
  // Before the first value the best one is infinite; that travels too.
  io::save_checkpoint(file.path, {{"plateau", PlateauSchedule({})}});
  io::load_checkpoint(file.path, {{"plateau", second}});
  CHECK(second.best() == std::numeric_limits<double>::infinity());
}

TEST_CASE("PlateauSchedule: worse values do not count as better ones below 0, nor does NaN") {
  PlateauSchedule plateau({.lr = 1, .factor = 0.5, .patience = 2, .threshold = 0.1});
  plateau.observe(-5);
  plateau.observe(-4.8);  // torch: -4.8 < -5·(1 - 0.1) = -4.5, so better
  CHECK(plateau.best() == -5);
  plateau.observe(std::numeric_limits<double>::quiet_NaN());
  CHECK(plateau.lr() == 1);
  CHECK(plateau.observe(-5.4) == 0.5);  // not better by a tenth: the third
  CHECK(plateau.observe(-5.6) == 0.5);
  CHECK(plateau.best() == -5.6);
  PlateauSchedule highest({.lr = 1, .maximize = true});
  highest.observe(std::numeric_limits<double>::quiet_NaN());
  CHECK(highest.best() == -std::numeric_limits<double>::infinity());
  highest.observe(-3);
  CHECK(highest.best() == -3);
}

TEST_CASE("Schedule holds any schedule or function, as a value") {
  struct Half {
    double lr(std::int64_t step) const { return 0.5 / static_cast<double>(step + 1); }
  };
  Schedule schedule = Half();
  Schedule copy = schedule;
  schedule = CosineSchedule({.lr = 4, .total = 2});
  CHECK(schedule.lr(1) == 2);
  CHECK(copy.lr(1) == 0.25);
  const std::function<double(std::int64_t)> named = [](std::int64_t step) { return static_cast<double>(step); };
  copy = named;
  CHECK(copy.lr(3) == 3);
  const Schedule moved = std::move(copy);
  CHECK(moved.lr(4) == 4);
  CHECK(message<ValueError>([&] { static_cast<void>(moved.lr(-1)); }) == "Schedule: steps count from 0; got -1");
}

TEST_CASE("schedules name the option that does not fit") {
  CHECK(message<ValueError>([] { ConstantSchedule({.lr = -1}); }) == "ConstantSchedule: lr must be a number, at least 0; got -1");
  CHECK(message<ValueError>([] { ConstantSchedule({.total = -1}); }) == "ConstantSchedule: total must be at least 0; got -1");
  CHECK(message<ValueError>([] { LinearSchedule({.end_lr = NAN}); }) == "LinearSchedule: end_lr must be a number, at least 0; got nan");
  CHECK(message<ValueError>([] { CosineRestartsSchedule({.lr = 0.1, .min_lr = 0.2}); }) ==
        "CosineRestartsSchedule: rates must satisfy 0 ≤ min_lr ≤ lr; got min_lr 0.2, lr 0.1");
  CHECK(message<ValueError>([] { StepSchedule({}); }) == "StepSchedule: every must be at least 1; got 0");
  CHECK(message<ValueError>([] {
          StepSchedule({.every = 3, .milestones = {1, 2}});
        }) == "StepSchedule: give either every or milestones; got every 3, 2 milestones");
  CHECK(message<ValueError>([] { StepSchedule({.milestones = {1, 5, 3}}); }) == "StepSchedule: milestones must ascend; got 5 before 3");
  CHECK(message<ValueError>([] { StepSchedule({.milestones = {-1}}); }) == "StepSchedule: a milestone must be at least 0; got -1");
  CHECK(message<ValueError>([] { ExponentialSchedule({.gamma = -1}); }) ==
        "ExponentialSchedule: gamma must be a number, at least 0; got -1");
  CHECK(message<ValueError>([] { OneCycleSchedule({.rise = 0.6, .three_phase = true}); }) ==
        "OneCycleSchedule: rise must lie within 0 and 0.5; got 0.6");
  CHECK(message<ValueError>([] { OneCycleSchedule({.div_factor = 0}); }) ==
        "OneCycleSchedule: div_factor and final_div_factor must be numbers above 0; got 0, 10000");
  CHECK(message<ValueError>([] { PlateauSchedule({.factor = 1}); }) ==
        "PlateauSchedule: factor must be a number, at least 0 and below 1; got 1");
  CHECK(message<ValueError>([] { PlateauSchedule({.patience = -1}); }) ==
        "PlateauSchedule: patience and cooldown must be at least 0; got -1, 0");
  const ConstantSchedule one({});
  CHECK(message<ValueError>([&] {
          SequentialSchedule({one, one}, {});
        }) == "SequentialSchedule: there must be one milestone between two schedules; got 2 schedules, 0 milestones");
  CHECK(message<ValueError>([&] {
          SequentialSchedule({one, one, one}, {5, 2});
        }) == "SequentialSchedule: milestones must ascend; got 5 before 2");
  CHECK(message<ValueError>([&] { SequentialSchedule({one, one}, {-2}); }) == "SequentialSchedule: a milestone must be at least 0; got -2");
  CHECK(message<ValueError>([] { ChainedSchedule({}); }) == "ChainedSchedule: there must be at least one schedule; got none");
  CHECK(message<ValueError>([&] { static_cast<void>(one.lr(-1)); }) == "ConstantSchedule: steps count from 0; got -1");
  CHECK(message<ValueError>([] { static_cast<void>(StepSchedule({.every = 1}).lr(-7)); }) == "StepSchedule: steps count from 0; got -7");
}
