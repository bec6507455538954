// What every vector kernel needs around its loop: whole vectors, then the rest. Compiled once per vector level; see simd.hpp.

#if defined(TAPEFORM_CORE_KERNELS_LEVELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORM_CORE_KERNELS_LEVELS_SIMD_INL_H_
#undef TAPEFORM_CORE_KERNELS_LEVELS_SIMD_INL_H_
#else
#define TAPEFORM_CORE_KERNELS_LEVELS_SIMD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
constexpr bool is_float_v = sizeof(hn::TFromD<D>) == sizeof(float);

/// Number of lanes, signed as our sizes are.
template <class D>
HWY_INLINE std::int64_t LaneCount(D d) {
  return static_cast<std::int64_t>(hn::Lanes(d));
}

/// The first `count` lanes from p, the others 0. Reads nothing beyond them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::VFromD<D> LoadPart(D d, const T* p, std::int64_t count) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, p);
#else
  HWY_ALIGN T lane[hn::MaxLanes(d)] = {};
  for (std::int64_t i = 0; i < count; ++i) lane[i] = p[i];
  return hn::Load(d, lane);
#endif
}

/// The same with `fill` in the other lanes.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::VFromD<D> LoadPart(D d, const T* p, std::int64_t count, T fill) {
  return hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(count)), LoadPart(d, p, count), hn::Set(d, fill));
}

/// Writes the first `count` lanes and nothing beyond them.
template <class D, class V, class T = hn::TFromD<D>>
HWY_INLINE void StorePart(V v, D d, T* p, std::int64_t count) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, p);
#else
  HWY_ALIGN T lane[hn::MaxLanes(d)];
  hn::Store(v, d, lane);
  for (std::int64_t i = 0; i < count; ++i) p[i] = lane[i];
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#endif  // TAPEFORM_CORE_KERNELS_LEVELS_SIMD_INL_H_
