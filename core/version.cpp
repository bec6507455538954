#include <tapeform/core/version.hpp>

#define TAPEFORM_STRING_OF(x) #x
#define TAPEFORM_STRING(x) TAPEFORM_STRING_OF(x)

namespace tapeform {

const char* version() noexcept {
  return TAPEFORM_STRING(TAPEFORM_VERSION_MAJOR) "." TAPEFORM_STRING(TAPEFORM_VERSION_MINOR) "." TAPEFORM_STRING(TAPEFORM_VERSION_PATCH);
}

}  // namespace tapeform
