#pragma once

// Which of Highway's levels are compiled; before any other header of it. Of the x86 ones the baseline, SSE4, AVX2 and AVX-512: SSSE3
// (bit 12) and what refines AVX-512 (bits 0 to 7) would cost build time and serve few processors. Elsewhere the one of the compiler's
// flags.
#if defined(__x86_64__)
#define HWY_DISABLED_TARGETS 0x10FF
#else
#define HWY_COMPILE_ONLY_STATIC
#endif
#include <hwy/targets.h>
