// Reads TAPEFORM_KERNEL_FILE once for every level but the baseline's, which is the file's own first reading: what <hwy/foreach_target.h>
// does, for files whose headers are there for all levels already (shared.hpp). Within those readings it does nothing.

#if HWY_ONCE

#undef HWY_ONCE
#define HWY_ONCE 0

#if (HWY_TARGETS & HWY_SSE4) && HWY_STATIC_TARGET != HWY_SSE4
#undef HWY_TARGET
#define HWY_TARGET HWY_SSE4
#include <hwy/ops/set_macros-inl.h>
#include TAPEFORM_KERNEL_FILE
#endif

#if (HWY_TARGETS & HWY_AVX2) && HWY_STATIC_TARGET != HWY_AVX2
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX2
#include <hwy/ops/set_macros-inl.h>
#include TAPEFORM_KERNEL_FILE
#endif

#if (HWY_TARGETS & HWY_AVX3) && HWY_STATIC_TARGET != HWY_AVX3
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX3
#include <hwy/ops/set_macros-inl.h>
#include TAPEFORM_KERNEL_FILE
#endif

#undef HWY_TARGET
#define HWY_TARGET HWY_STATIC_TARGET
#include <hwy/ops/set_macros-inl.h>

#undef HWY_ONCE
#define HWY_ONCE 1

#endif  // HWY_ONCE
