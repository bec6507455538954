#include "kernels/panels.hpp"

#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/panels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

template <class T>
Dim PanelWidth() {
  return block_vectors * LaneCount(hn::ScalableTag<T>());
}

template <class T>
void Pack(bool trans_b, const T* b, Dim ldb, Dim k, Dim n, T* to) {
  const Dim width = PanelWidth<T>();
  for (Dim j = 0; j < n; j += width, to += k * width)
    PackPanel(trans_b, trans_b ? b + j * ldb : b + j, ldb, n - j < width ? n - j : width, width, k, to);
}

template <class T>
void Multiply(const PanelProduct<T>& x) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d), width = PanelWidth<T>();
  Operands<T> operands{x.a, x.a_row, x.a_column, x.panels, width, x.k, x.alpha, x.beta};
  for (Dim j = 0; j < x.n; j += width, operands.b += x.panel_rows * width) {
    if (x.n - j > lanes)
      Panel<block_vectors>(d, operands, x.m, x.c + j, x.ldc, x.n - j);
    else
      Panel<1>(d, operands, x.m, x.c + j, x.ldc, x.n - j);
  }
}

static void FloatPanels(Panels<float>& loops) { loops = {PanelWidth<float>(), Pack<float>, Multiply<float>}; }
static void DoublePanels(Panels<double>& loops) { loops = {PanelWidth<double>(), Pack<double>, Multiply<double>}; }

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tapeform::kernels {

HWY_EXPORT(FloatPanels);
HWY_EXPORT(DoublePanels);

template <>
Panels<float> panels() {
  Panels<float> loops;
  TAPEFORM_DISPATCH(FloatPanels)(loops);
  return loops;
}

template <>
Panels<double> panels() {
  Panels<double> loops;
  TAPEFORM_DISPATCH(DoublePanels)(loops);
  return loops;
}

}  // namespace tapeform::kernels

#endif
