#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

namespace tapeform::kernels {

/// The vector level that kernels use. On x86 `sse2`, `sse4`, `avx2` or `avx512`: the best that the processor has, or the one that the
/// environment names in `TAPEFORM_ISA`; `native` is the best. Elsewhere there is `native` alone.
/// @throws ValueError when `TAPEFORM_ISA` names no level, or one that this processor lacks.
std::string isa_name();

/// The levels that this processor has, best first: what `TAPEFORM_ISA` and `set_isa` accept beside `native`.
std::vector<std::string> isa_names();

/// Chooses the level from here on; for tests and benches, while no kernel runs. @throws ValueError as `isa_name`.
void set_isa(std::string_view name);

namespace detail {
extern std::atomic<bool> isa_chosen;
void choose_isa_of_environment();
}  // namespace detail

/// Before every dispatch: the environment must have been read before the first of them.
inline void use_chosen_isa() {
  if (!detail::isa_chosen.load(std::memory_order_acquire)) [[unlikely]]
    detail::choose_isa_of_environment();
}

}  // namespace tapeform::kernels
