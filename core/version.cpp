#include <fmt/format.h>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/version.hpp>

#include "kernels/blas.hpp"
#include "kernels/isa.hpp"

#define TAPEFORM_STRING_OF(x) #x
#define TAPEFORM_STRING(x) TAPEFORM_STRING_OF(x)

namespace tapeform {

#ifdef __clang__
static constexpr const char* compiler =
    "clang++ " TAPEFORM_STRING(__clang_major__) "." TAPEFORM_STRING(__clang_minor__) "." TAPEFORM_STRING(__clang_patchlevel__);
#else
static constexpr const char* compiler =
    "g++ " TAPEFORM_STRING(__GNUC__) "." TAPEFORM_STRING(__GNUC_MINOR__) "." TAPEFORM_STRING(__GNUC_PATCHLEVEL__);
#endif

const char* version() noexcept {
  return TAPEFORM_STRING(TAPEFORM_VERSION_MAJOR) "." TAPEFORM_STRING(TAPEFORM_VERSION_MINOR) "." TAPEFORM_STRING(TAPEFORM_VERSION_PATCH);
}

std::string build_info() {
  const int count = threads();
  return fmt::format("tapeform {}, {}, {}, {}, {} thread{}", version(), compiler, kernels::blas_name(), kernels::isa_name(), count,
                     count == 1 ? "" : "s");
}

}  // namespace tapeform
