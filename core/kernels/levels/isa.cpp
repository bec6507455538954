#include "kernels/isa.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <tapeform/core/error.hpp>

#include "kernels/levels/targets.hpp"

namespace tapeform::kernels {

namespace {

struct NamedLevel {
  const char* name;
  std::int64_t target;
};

// Best first. The baseline of every processor is whatever Highway falls back to: it has no bit that could be missing.
#if HWY_ARCH_X86
constexpr NamedLevel levels[] = {{"avx512", HWY_AVX3}, {"avx2", HWY_AVX2}, {"sse4", HWY_SSE4}, {"sse2", HWY_STATIC_TARGET}};
#else
constexpr NamedLevel levels[] = {{"native", HWY_STATIC_TARGET}};
#endif

// What the processor has, asked once and before anything is disabled.
std::int64_t supported() {
  static const std::int64_t targets = hwy::SupportedTargets() | HWY_STATIC_TARGET;
  return targets;
}

// Highway takes the lowest bit that it may: the level and everything below stay, better ones go.
void allow(std::int64_t best) {
  supported();
  hwy::DisableTargets(best - 1);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::mutex choosing;

void choose(std::string_view name, const char* who) {
  if (name == "native") return allow(1);
  for (const NamedLevel& level : levels) {
    if (name != level.name) continue;
    if (!(supported() & level.target))
      throw ValueError(fmt::format("{}: this processor lacks {}. It has {}", who, name, fmt::join(isa_names(), ", ")));
    return allow(level.target);
  }
  throw ValueError(fmt::format("{}: a vector level; got '{}'. This processor has native, {}", who, name, fmt::join(isa_names(), ", ")));
}

}  // namespace

namespace detail {

std::atomic<bool> isa_chosen{false};

void choose_isa_of_environment() {
  const std::lock_guard lock(choosing);
  if (isa_chosen.load(std::memory_order_relaxed)) return;
  const char* const name = std::getenv("TAPEFORM_ISA");
  choose(name && *name ? name : "native", "TAPEFORM_ISA");
  isa_chosen.store(true, std::memory_order_release);
}

}  // namespace detail

void set_isa(std::string_view name) {
  const std::lock_guard lock(choosing);
  choose(name, "set_isa");
  detail::isa_chosen.store(true, std::memory_order_release);
}

std::vector<std::string> isa_names() {
  std::vector<std::string> names;
  for (const NamedLevel& level : levels)
    if (supported() & level.target) names.emplace_back(level.name);
  return names;
}

std::string isa_name() {
  use_chosen_isa();
  const std::int64_t allowed = (hwy::SupportedTargets() | HWY_STATIC_TARGET) & HWY_TARGETS;
  const std::int64_t target = allowed & -allowed;  // the lowest bit, as Highway's own table takes it
  for (const NamedLevel& level : levels)
    if (target == level.target) return level.name;
  return hwy::TargetName(target);
}

}  // namespace tapeform::kernels
