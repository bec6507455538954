#pragma once
#include "kernels/isa.hpp"

/// How a kernel file of levels/ uses Highway. It is compiled once for every vector level, then dispatched at run time:
///
///   #include "kernels/levels/shared.hpp"              // Highway; hn, LoadPart, StorePart, Exp, Log, …
///
///   #undef TAPEFORM_KERNEL_FILE
///   #define TAPEFORM_KERNEL_FILE "kernels/levels/softmax.cpp"  // this file
///   #include "kernels/levels/each-inl.h"                       // compiles it for the other levels
///
///   HWY_BEFORE_NAMESPACE();
///   namespace tapeform::kernels {
///   namespace HWY_NAMESPACE {
///   static void SoftmaxRows(const float* x, float* y, Dim rows, Dim n) { … }
///   }  // namespace HWY_NAMESPACE
///   }  // namespace tapeform::kernels
///   HWY_AFTER_NAMESPACE();
///
///   #if HWY_ONCE
///   namespace tapeform::kernels {
///   HWY_EXPORT(SoftmaxRows);
///   Array softmax(const Array& x) { const auto rows = TAPEFORM_DISPATCH(SoftmaxRows); parallel_for(…); }
///   }
///   #endif
///
/// In a level's namespace stand functions, functors and their templates; no lambdas (compilers do not give them the level), no inline
/// functions of headers that other files share. g++ 12 compiles the baseline level one lane wide: nothing may assume two.

/// A pointer to the function of the level in use. Taken once per call, outside of parallel loops.
#define TAPEFORM_DISPATCH(function) (::tapeform::kernels::use_chosen_isa(), &HWY_DYNAMIC_DISPATCH(function))
