#pragma once

#define TAPEFORM_VERSION_MAJOR 0
#define TAPEFORM_VERSION_MINOR 1
#define TAPEFORM_VERSION_PATCH 0

namespace tapeform {

/// The version of the linked library, "major.minor.patch". It differs from the macros above when a program was compiled against
/// the headers of another version.
const char* version() noexcept;

}  // namespace tapeform
