// What dropout and attention do with the words that they drew. Compiled once per vector level; see simd.hpp.

#if defined(TAPEFORM_CORE_KERNELS_LEVELS_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORM_CORE_KERNELS_LEVELS_DROPOUT_INL_H_
#undef TAPEFORM_CORE_KERNELS_LEVELS_DROPOUT_INL_H_
#else
#define TAPEFORM_CORE_KERNELS_LEVELS_DROPOUT_INL_H_
#endif

#include <hwy/highway.h>

#include <tapeform/core/shape.hpp>

#include "kernels/levels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

/// y = x·factor where the word is at least the threshold, else 0, for `count` elements. y may be x.
template <class T>
HWY_INLINE void Drop(const T* x, T* y, const std::uint32_t* words, std::uint32_t threshold, T factor, Dim count) {
  Dim i = 0;
  if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
    const hn::ScalableTag<T> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const Dim lanes = LaneCount(d);
    const auto least = hn::Set(du, threshold);
    const auto factors = hn::Set(d, factor);
    for (; i + lanes <= count; i += lanes) {
      const auto dropped = hn::RebindMask(d, hn::Lt(hn::LoadU(du, words + i), least));
      hn::StoreU(hn::IfThenZeroElse(dropped, hn::Mul(hn::LoadU(d, x + i), factors)), d, y + i);
    }
  }
  for (; i < count; ++i) y[i] = words[i] >= threshold ? x[i] * factor : T{0};
}

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#endif  // TAPEFORM_CORE_KERNELS_LEVELS_DROPOUT_INL_H_
