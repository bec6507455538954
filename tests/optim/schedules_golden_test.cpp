#include <tapeform/optim/any_schedule.hpp>
#include <tapeform/optim/plateau.hpp>
#include <tapeform/optim/schedule.hpp>

#include "catch.hpp"
#include "golden.hpp"
#include "optim/trails.hpp"

using namespace tapeform;
using namespace tapeform::optim;
using golden::Case;
using golden::Runner;

namespace {

std::int64_t whole(const Case& c, const std::string& name, std::int64_t otherwise = 0) {
  return static_cast<std::int64_t>(c.option(name, static_cast<double>(otherwise)));
}

Array number(double x) { return Array::full({}, x, DType::float64); }

/// Compares the rates of updates 0 … 99.
void check(Case& c, const Schedule& schedule) {
  std::vector<Array> rates;
  for (std::int64_t step = 0; step < 100; ++step) rates.push_back(number(schedule.lr(step)));
  c.check_numbers("out/lr", stack(rates, c.dtype()));
}

void constant(Case& c) {
  check(c, ConstantSchedule({.lr = c.option("lr", 0), .factor = c.option("factor", 1), .total = whole(c, "total")}));
}

void linear(Case& c) {
  check(c, LinearSchedule(
               {.lr = c.option("lr", 0), .end_lr = c.option("end_lr", 0), .warmup = whole(c, "warmup"), .total = whole(c, "total")}));
}

void cosine(Case& c) { check(c, CosineSchedule({.lr = c.option("lr", 0), .min_lr = c.option("min_lr", 0), .total = whole(c, "total")})); }

void restarts(Case& c) {
  check(c, CosineRestartsSchedule(
               {.lr = c.option("lr", 0), .min_lr = c.option("min_lr", 0), .first = whole(c, "first"), .growth = whole(c, "growth", 1)}));
}

void step(Case& c) {
  StepOptions options{.lr = c.option("lr", 0), .gamma = c.option("gamma", 0), .every = whole(c, "every")};
  if (c.has("in/milestones"))
    for (const std::int64_t milestone : c.ids("milestones").values()) options.milestones.push_back(milestone);
  check(c, StepSchedule(options));
}

void exponential(Case& c) { check(c, ExponentialSchedule({.lr = c.option("lr", 0), .gamma = c.option("gamma", 0)})); }

void one_cycle(Case& c) {
  check(c, OneCycleSchedule({.max_lr = c.option("max_lr", 0),
                             .total = whole(c, "total"),
                             .rise = c.option("rise", 0),
                             .div_factor = c.option("div_factor", 0),
                             .final_div_factor = c.option("final_div_factor", 0),
                             .linear = whole(c, "linear") == 1,
                             .three_phase = whole(c, "three_phase") == 1}));
}

void noam_formula(Case& c) {
  check(c,
        InverseRootSchedule(noam({.num_hiddens = whole(c, "num_hiddens"), .warmup = whole(c, "warmup"), .factor = c.option("factor", 0)})));
}

void function(Case& c) {
  check(c, [lr = c.option("lr", 0)](std::int64_t step) { return lr / (1 + 0.5 * static_cast<double>(step)); });
}

void sequential(Case& c) {
  const double lr = c.option("lr", 0);
  check(c, SequentialSchedule({ConstantSchedule({.lr = lr, .factor = 0.5, .total = 10}),
                               LinearSchedule({.lr = lr, .end_lr = lr / 4, .total = 20}), ExponentialSchedule({.lr = lr, .gamma = 0.9})},
                              {15, 50}));
}

void chained(Case& c) {
  check(c, ChainedSchedule({ExponentialSchedule({.lr = c.option("lr", 0), .gamma = 0.95}),
                            ConstantSchedule({.lr = 1, .factor = 0.1, .total = 20}), StepSchedule({.lr = 1, .gamma = 0.5, .every = 25})}));
}

void plateau(Case& c) {
  PlateauSchedule schedule({.lr = c.option("lr", 0),
                            .factor = c.option("factor", 0),
                            .patience = whole(c, "patience"),
                            .threshold = c.option("threshold", 0),
                            .relative = c.option("relative", 1) == 1,
                            .maximize = c.option("maximize", 0) == 1,
                            .cooldown = whole(c, "cooldown"),
                            .min_lr = c.option("min_lr", 0),
                            .eps = c.option("eps", 1e-8)});
  std::vector<Array> rates;
  for (const double value : c.array("value").to_vector()) rates.push_back(number(schedule.observe(value)));
  c.check_numbers("out/lr", stack(rates, c.dtype()));
}

const std::vector<Runner> runners{{"constant", constant}, {"linear", linear},           {"cosine", cosine},       {"restarts", restarts},
                                  {"step", step},         {"exponential", exponential}, {"one_cycle", one_cycle}, {"noam", noam_formula},
                                  {"function", function}, {"sequential", sequential},   {"chained", chained},     {"plateau", plateau}};

}  // namespace

TEST_CASE("golden: 100 rates of every schedule are PyTorch's; Noam's are its paper's") {
  golden::run_file("schedules", DType::float64, runners);
}
