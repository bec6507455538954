#pragma once
#include "kernels/levels/targets.hpp"
#include "kernels/simd.hpp"

// Highway and what the kernels share, for every level: read once, however many kernel files are compiled together, where parsing it for
// each was two fifths of their compile time. Afterwards Highway's macros stand for the baseline.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/levels/shared-inl.h"
#include <hwy/foreach_target.h>  // before highway.h

#include "kernels/levels/shared-inl.h"
