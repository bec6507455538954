#include "kernels/gemm_small.hpp"

#include "kernels/levels/shared.hpp"
#include "kernels/panels.hpp"

#undef TAPEFORM_KERNEL_FILE
#define TAPEFORM_KERNEL_FILE "kernels/levels/gemm_small.cpp"
#include "kernels/levels/each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

// The panel of columns [j, j + columns) of C, in `vectors` vectors of d; B is packed when it is transposed or its rows are too short.
template <int vectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void Columns(D d, Operands<T> x, bool trans_b, Dim m, Dim ldb, const T* b, T* packed, T* c, Dim ldc, Dim columns) {
  const Dim width = vectors * LaneCount(d);
  x.b = b;
  x.b_row = ldb;
  if (trans_b || columns < width) {
    PackPanel(trans_b, b, ldb, columns, width, x.k, packed);
    x.b = packed;
    x.b_row = width;
  }
  Panel<vectors>(d, x, m, c, ldc, columns);
}

template <class T>
HWY_INLINE void SmallGemm(bool trans_a, bool trans_b, Dim m, Dim n, Dim k, T alpha, const T* a, Dim lda, const T* b, Dim ldb, T beta, T* c,
                          Dim ldc) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 4> narrow;  // for the last few columns: whole short vectors need no copy
  const Dim lanes = LaneCount(d);
  HWY_ALIGN T packed[small_gemm_depth * block_vectors * hn::MaxLanes(d)];
  Operands<T> x{a, trans_a ? Dim{1} : lda, trans_a ? lda : Dim{1}, b, ldb, k, alpha, beta};
  for (Dim j = 0, columns = 0; j < n; j += columns) {
    const Dim left = n - j;
    const T* const b_panel = trans_b ? b + j * ldb : b + j;
    if (left > lanes) {
      columns = left < block_vectors * lanes ? left : block_vectors * lanes;
      Columns<block_vectors>(d, x, trans_b, m, ldb, b_panel, packed, c + j, ldc, columns);
    } else if (left > LaneCount(narrow)) {
      columns = left;
      Columns<1>(d, x, trans_b, m, ldb, b_panel, packed, c + j, ldc, columns);
    } else {
      columns = left;
      Columns<1>(narrow, x, trans_b, m, ldb, b_panel, packed, c + j, ldc, columns);
    }
  }
}

static void SmallGemm32(bool ta, bool tb, Dim m, Dim n, Dim k, float alpha, const float* a, Dim lda, const float* b, Dim ldb, float beta,
                        float* c, Dim ldc) {
  SmallGemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
static void SmallGemm64(bool ta, bool tb, Dim m, Dim n, Dim k, double alpha, const double* a, Dim lda, const double* b, Dim ldb,
                        double beta, double* c, Dim ldc) {
  SmallGemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

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

template <class T>
HWY_INLINE void AddColumnSums(const T* x, Dim rows, Dim columns, Dim ld, T* y) {
  constexpr Dim block = 64;  // rows added up before they join the sum, which keeps what its own rounding loses (Kahan's summation)
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  Dim j = 0;
  for (; j + lanes <= columns; j += lanes) {
    auto sum = hn::LoadU(d, y + j), lost = hn::Zero(d);
    for (Dim i = 0; i < rows; i += block) {
      const Dim end = i + block < rows ? i + block : rows;
      auto part = hn::Zero(d);
      for (Dim r = i; r < end; ++r) part = hn::Add(part, hn::LoadU(d, x + r * ld + j));
      part = hn::Sub(part, lost);
      const auto total = hn::Add(sum, part);
      lost = hn::Sub(hn::Sub(total, sum), part);
      sum = total;
    }
    hn::StoreU(sum, d, y + j);
  }
  for (; j < columns; ++j) {
    T lost{0};
    for (Dim i = 0; i < rows; i += block) {
      const Dim end = i + block < rows ? i + block : rows;
      T part{0};
      for (Dim r = i; r < end; ++r) part += x[r * ld + j];
      part -= lost;
      const T total = y[j] + part;
      lost = (total - y[j]) - part;
      y[j] = total;
    }
  }
}

static void AddColumnSums32(const float* x, Dim rows, Dim columns, Dim ld, float* y) { AddColumnSums(x, rows, columns, ld, y); }
static void AddColumnSums64(const double* x, Dim rows, Dim columns, Dim ld, double* y) { AddColumnSums(x, rows, columns, ld, y); }

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tapeform::kernels {

HWY_EXPORT(SmallGemm32);
HWY_EXPORT(SmallGemm64);
HWY_EXPORT(AddColumnSums32);
HWY_EXPORT(AddColumnSums64);
HWY_EXPORT(FloatPanels);
HWY_EXPORT(DoublePanels);

template <>
void small_gemm(bool ta, bool tb, Dim m, Dim n, Dim k, float alpha, const float* a, Dim lda, const float* b, Dim ldb, float beta, float* c,
                Dim ldc) {
  (*TAPEFORM_DISPATCH(SmallGemm32))(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
template <>
void small_gemm(bool ta, bool tb, Dim m, Dim n, Dim k, double alpha, const double* a, Dim lda, const double* b, Dim ldb, double beta,
                double* c, Dim ldc) {
  (*TAPEFORM_DISPATCH(SmallGemm64))(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
template <>
void add_column_sums(const float* x, Dim rows, Dim columns, Dim ld, float* y) {
  (*TAPEFORM_DISPATCH(AddColumnSums32))(x, rows, columns, ld, y);
}
template <>
void add_column_sums(const double* x, Dim rows, Dim columns, Dim ld, double* y) {
  (*TAPEFORM_DISPATCH(AddColumnSums64))(x, rows, columns, ld, y);
}

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
#endif  // HWY_ONCE
