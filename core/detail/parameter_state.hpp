#pragma once
#include <atomic>
#include <cstdint>
#include <tapeform/core/array.hpp>

namespace tapeform::detail {

/// What a Parameter, its handles and the tapes that used it share.
struct ParameterState {
  std::atomic<std::uint32_t> holders{1};
  bool owned = true;  // by a Parameter; handles alone do not
  bool trainable = true;
  Array value, grad;
};

}  // namespace tapeform::detail
