#include <tapeform/optim/schedule.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <tapeform/core/error.hpp>
#include <tapeform/optim/optimizer.hpp>

namespace tapeform::optim {
namespace {

using detail::check_option;

void check_step(const char* schedule, std::int64_t step) {
  if (step < 0) throw ValueError(fmt::format("{}: steps count from 0; got {}", schedule, step));
}

void check_least(const char* schedule, const char* option, std::int64_t value, std::int64_t least) {
  if (value < least) throw ValueError(fmt::format("{}: {} must be at least {}; got {}", schedule, option, least, value));
}

void check_descends(const char* schedule, double min_lr, double lr) {
  if (!(min_lr >= 0 && min_lr <= lr && std::isfinite(lr)))
    throw ValueError(fmt::format("{}: rates must satisfy 0 ≤ min_lr ≤ lr; got min_lr {}, lr {}", schedule, min_lr, lr));
}

void check_lengths(const char* schedule, std::int64_t warmup, std::int64_t total) {
  if (total < 1)
    throw ValueError(fmt::format("{}: total must be at least 1; got {}. Give the number of updates of the run", schedule, total));
  if (warmup < 0 || warmup > total)
    throw ValueError(fmt::format("{}: warmup must lie within 0 and total; got warmup {}, total {}", schedule, warmup, total));
}

/// part/whole.
double share(std::int64_t part, std::int64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

/// Half a cosine wave from `from` to `to`.
double wave(double from, double to, double part) { return to + (from - to) * (1 + std::cos(std::numbers::pi * part)) / 2; }
double line(double from, double to, double part) { return from + (to - from) * part; }

}  // namespace

ConstantSchedule::ConstantSchedule(const ConstantOptions& options) : options_(options) {
  check_option("ConstantSchedule", "lr", options.lr);
  check_option("ConstantSchedule", "factor", options.factor);
  check_least("ConstantSchedule", "total", options.total, 0);
}

double ConstantSchedule::lr(std::int64_t step) const {
  check_step("ConstantSchedule", step);
  return step < options_.total ? options_.lr * options_.factor : options_.lr;
}

void ConstantSchedule::state(StateFields& field) {
  field("lr", options_.lr);
  field("factor", options_.factor);
  field("total", options_.total);
}

LinearSchedule::LinearSchedule(const LinearOptions& options) : options_(options) {
  check_option("LinearSchedule", "lr", options.lr);
  check_option("LinearSchedule", "end_lr", options.end_lr);
  check_lengths("LinearSchedule", options.warmup, options.total);
}

double LinearSchedule::lr(std::int64_t step) const {
  check_step("LinearSchedule", step);
  const auto [lr, end_lr, warmup, total] = options_;
  if (step < warmup) return lr * share(step + 1, warmup + 1);
  if (step >= total) return end_lr;
  return line(lr, end_lr, share(step - warmup, total - warmup));
}

void LinearSchedule::state(StateFields& field) {
  field("lr", options_.lr);
  field("end_lr", options_.end_lr);
  field("warmup", options_.warmup);
  field("total", options_.total);
}

CosineSchedule::CosineSchedule(const CosineOptions& options) : options_(options) {
  check_descends("CosineSchedule", options.min_lr, options.lr);
  check_lengths("CosineSchedule", options.warmup, options.total);
}

double CosineSchedule::lr(std::int64_t step) const {
  check_step("CosineSchedule", step);
  const auto [lr, min_lr, warmup, total] = options_;
  if (step < warmup) return lr * share(step + 1, warmup + 1);
  if (step >= total) return min_lr;
  return wave(lr, min_lr, share(step - warmup, total - warmup));
}

void CosineSchedule::state(StateFields& field) {
  field("lr", options_.lr);
  field("min_lr", options_.min_lr);
  field("warmup", options_.warmup);
  field("total", options_.total);
}

CosineRestartsSchedule::CosineRestartsSchedule(const CosineRestartsOptions& options) : options_(options) {
  check_descends("CosineRestartsSchedule", options.min_lr, options.lr);
  check_least("CosineRestartsSchedule", "first", options.first, 1);
  check_least("CosineRestartsSchedule", "growth", options.growth, 1);
  check_least("CosineRestartsSchedule", "cycles", options.cycles, 0);
}

double CosineRestartsSchedule::lr(std::int64_t step) const {
  check_step("CosineRestartsSchedule", step);
  const auto [lr, min_lr, first, growth, cycles] = options_;
  check_least("CosineRestartsSchedule", "first", first, 1);  // a file may have held anything
  check_least("CosineRestartsSchedule", "growth", growth, 1);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t cycle = 0, length = first, done = step;  // updates done of that cycle
  if (growth == 1) {
    cycle = step / first;
    done = step % first;
  } else {
    while (done >= length) {
      done -= length;
      length = length > most / growth ? most : length * growth;
      ++cycle;
    }
  }
  if (cycles > 0 && cycle >= cycles) return min_lr;
  return wave(lr, min_lr, share(done, length));
}

void CosineRestartsSchedule::state(StateFields& field) {
  field("lr", options_.lr);
  field("min_lr", options_.min_lr);
  field("first", options_.first);
  field("growth", options_.growth);
  field("cycles", options_.cycles);
}

InverseRootSchedule::InverseRootSchedule(const InverseRootOptions& options) : options_(options) {
  check_option("InverseRootSchedule", "lr", options.lr);
  check_least("InverseRootSchedule", "warmup", options.warmup, 1);
}

double InverseRootSchedule::lr(std::int64_t step) const {
  check_step("InverseRootSchedule", step);
  const double part = (static_cast<double>(step) + 1) / static_cast<double>(options_.warmup);
  return options_.lr * std::min(part, 1 / std::sqrt(part));
}

void InverseRootSchedule::state(StateFields& field) {
  field("lr", options_.lr);
  field("warmup", options_.warmup);
}

InverseRootOptions noam(const NoamOptions& options) {
  check_least("noam", "num_hiddens", options.num_hiddens, 1);
  check_least("noam", "warmup", options.warmup, 1);
  check_option("noam", "factor", options.factor);
  const double highest = 1 / std::sqrt(static_cast<double>(options.num_hiddens) * static_cast<double>(options.warmup));
  return {.lr = options.factor * highest, .warmup = options.warmup};
}

StepSchedule::StepSchedule(const StepOptions& options) : options_(options) {
  check_option("StepSchedule", "lr", options.lr);
  check_option("StepSchedule", "gamma", options.gamma);
  const std::vector<std::int64_t>& milestones = options.milestones;
  check_least("StepSchedule", "every", options.every, milestones.empty() ? 1 : 0);
  if (!milestones.empty() && options.every > 0)
    throw ValueError(
        fmt::format("StepSchedule: give either every or milestones; got every {}, {} milestones", options.every, milestones.size()));
  const auto fault = std::ranges::adjacent_find(milestones, std::ranges::greater());
  if (fault != milestones.end())
    throw ValueError(fmt::format("StepSchedule: milestones must ascend; got {} before {}", fault[0], fault[1]));
  if (!milestones.empty()) check_least("StepSchedule", "a milestone", milestones.front(), 0);
}

double StepSchedule::lr(std::int64_t step) const {
  check_step("StepSchedule", step);
  const std::vector<std::int64_t>& milestones = options_.milestones;
  const std::int64_t stairs = options_.every > 0 ? step / options_.every : std::ranges::upper_bound(milestones, step) - milestones.begin();
  return options_.lr * std::pow(options_.gamma, static_cast<double>(stairs));
}

void StepSchedule::state(StateFields& field) {
  field("lr", options_.lr);
  field("gamma", options_.gamma);
  field("every", options_.every);
  field("milestones", options_.milestones);
}

ExponentialSchedule::ExponentialSchedule(const ExponentialOptions& options) : options_(options) {
  check_option("ExponentialSchedule", "lr", options.lr);
  check_option("ExponentialSchedule", "gamma", options.gamma);
}

double ExponentialSchedule::lr(std::int64_t step) const {
  check_step("ExponentialSchedule", step);
  return options_.lr * std::pow(options_.gamma, static_cast<double>(step));
}

void ExponentialSchedule::state(StateFields& field) {
  field("lr", options_.lr);
  field("gamma", options_.gamma);
}

OneCycleSchedule::OneCycleSchedule(const OneCycleOptions& options) : options_(options) {
  check_option("OneCycleSchedule", "max_lr", options.max_lr);
  check_least("OneCycleSchedule", "total", options.total, 1);
  const double most = options.three_phase ? 0.5 : 1.0;
  if (!(options.rise >= 0 && options.rise <= most))
    throw ValueError(fmt::format("OneCycleSchedule: rise must lie within 0 and {}; got {}", most, options.rise));
  for (const double factor : {options.div_factor, options.final_div_factor})
    if (!(factor > 0 && std::isfinite(factor)))
      throw ValueError(fmt::format("OneCycleSchedule: div_factor and final_div_factor must be numbers above 0; got {}, {}",
                                   options.div_factor, options.final_div_factor));
}

double OneCycleSchedule::lr(std::int64_t step) const {
  check_step("OneCycleSchedule", step);
  const OneCycleOptions& o = options_;
  const double first = o.max_lr / o.div_factor, last = first / o.final_div_factor;
  const auto total = static_cast<double>(o.total), t = static_cast<double>(step);
  const auto curve = [&o](double from, double to, double part) { return o.linear ? line(from, to, part) : wave(from, to, part); };
  if (step >= o.total - 1) return last;
  const double top = o.rise * total - 1;  // the step that has max_lr, which may lie between two
  if (t <= top && top > 0) return curve(first, o.max_lr, t / top);
  const double begin = std::max(top, 0.0);
  if (!o.three_phase) return curve(o.max_lr, last, (t - begin) / (total - 1 - begin));
  const double back = 2 * o.rise * total - 2;
  if (t <= back && back > begin) return curve(o.max_lr, first, (t - begin) / (back - begin));
  const double bottom = std::max(back, 0.0);
  return curve(first, last, (t - bottom) / (total - 1 - bottom));
}

void OneCycleSchedule::state(StateFields& field) {
  field("max_lr", options_.max_lr);
  field("total", options_.total);
  field("rise", options_.rise);
  field("div_factor", options_.div_factor);
  field("final_div_factor", options_.final_div_factor);
  field("linear", options_.linear);
  field("three_phase", options_.three_phase);
}

}  // namespace tapeform::optim
