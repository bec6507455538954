#pragma once
#include <string>

#define TAPEFORM_VERSION_MAJOR 0
#define TAPEFORM_VERSION_MINOR 1
#define TAPEFORM_VERSION_PATCH 0
/// The version of the headers as one number, for `#if TAPEFORM_VERSION >= 200` (0.2.0).
#define TAPEFORM_VERSION (TAPEFORM_VERSION_MAJOR * 10000 + TAPEFORM_VERSION_MINOR * 100 + TAPEFORM_VERSION_PATCH)

namespace tapeform {

/// The version of the linked library, "major.minor.patch". It differs from the macros above when a program was compiled against
/// the headers of another version.
const char* version() noexcept;

/// What a report of a fault should quote, in one line: the version, the compiler that built the library, the BLAS as it names itself, the
/// vector level and the number of threads in use: `tapeform 0.1.0, g++ 12.2.0, OpenBLAS 0.3.21 SkylakeX, avx512, 2 threads`.
/// @throws ValueError when `TAPEFORM_THREADS` or `TAPEFORM_ISA` holds what cannot be used.
std::string build_info();

}  // namespace tapeform
