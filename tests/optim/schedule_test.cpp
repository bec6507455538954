#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/optim/adamw.hpp>
#include <tapeform/optim/schedule.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;
using optim::CosineSchedule;

TEST_CASE("cosine: warm-up, top, half-way, end") {
  const CosineSchedule schedule({.lr = 1e-3, .min_lr = 1e-4, .warmup = 100, .total = 2000});
  CHECK(schedule.lr(0) == Catch::Approx(1e-3 / 101));
  CHECK(schedule.lr(99) == Catch::Approx(1e-3 * 100 / 101));
  CHECK(schedule.lr(100) == 1e-3);
  CHECK(schedule.lr(1050) == Catch::Approx(5.5e-4));
  CHECK(schedule.lr(575) == Catch::Approx(1e-4 + 9e-4 * (1 + std::sqrt(0.5)) / 2));
  CHECK(schedule.lr(1999) == Catch::Approx(1e-4).epsilon(1e-5));
  for (std::int64_t step = 100; step < 2000; ++step) REQUIRE(schedule.lr(step + 1) < schedule.lr(step));
}

TEST_CASE("OP-14: warm-up step 0; the first update has a rate above 0", "[case]") {
  for (const std::int64_t warmup : {0, 1, 10}) {
    const CosineSchedule schedule({.lr = 1.0, .warmup = warmup, .total = 100});
    CHECK(schedule.lr(0) == 1.0 / static_cast<double>(warmup + 1));
    CHECK(schedule.lr(warmup) == 1.0);
  }
}

TEST_CASE("OP-16: degenerate schedule lengths", "[case]") {
  const CosineSchedule one({.lr = 0.5, .min_lr = 0.1, .warmup = 0, .total = 1});
  CHECK(one.lr(0) == 0.5);
  CHECK(one.lr(1) == 0.1);
  const CosineSchedule all_warmup({.lr = 0.5, .min_lr = 0.1, .warmup = 4, .total = 4});
  CHECK(all_warmup.lr(3) == 0.4);
  CHECK(all_warmup.lr(4) == 0.1);
  for (const std::int64_t past : {5, 1000, 1'000'000'000}) CHECK(all_warmup.lr(past) == 0.1);
  CHECK(message<ValueError>([] { CosineSchedule({.total = 0}); }) ==
        "CosineSchedule: total must be at least 1; got 0. Give the number of updates of the run");
  CHECK(message<ValueError>([] { CosineSchedule({.warmup = 5, .total = 4}); }) ==
        "CosineSchedule: warmup must lie within 0 and total; got warmup 5, total 4");
  CHECK(message<ValueError>([] { CosineSchedule({.lr = 0.1, .min_lr = 0.2}); }) ==
        "CosineSchedule: rates must satisfy 0 ≤ min_lr ≤ lr; got min_lr 0.2, lr 0.1");
  CHECK(message<ValueError>([&] { static_cast<void>(one.lr(-1)); }) == "CosineSchedule: steps count from 0; got -1");
}

TEST_CASE("OP-17: scheduler off by one; each update uses the rate of its number, which the optimizer reports", "[case]") {
  Parameter p(Array::zeros({1}, DType::float64));
  optim::AdamW adam(std::vector{p.ref()}, {.beta1 = 0, .beta2 = 0, .eps = 0, .weight_decay = 0});  // moves by lr exactly
  const CosineSchedule schedule({.lr = 0.1, .warmup = 1, .total = 3});
  const double expected[] = {0.05, 0.1, 0.05, 0.0};
  double position = 0;
  for (std::int64_t step = 0; step < 4; ++step) {
    adam.set_lr(schedule.lr(step));
    p.ref().grad() = Array::full({1}, 2.0, DType::float64);
    adam.step();
    const double rate = expected[step];
    CHECK(adam.lr() == Catch::Approx(rate));
    CHECK(position - p.value().item() == Catch::Approx(rate));
    position = p.value().item();
  }
}
