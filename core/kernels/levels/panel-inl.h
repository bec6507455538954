// Products of A with a panel of B: a few columns of B as whole vectors. Compiled once per vector level; see simd.hpp.

#if defined(TAPEFORM_CORE_KERNELS_LEVELS_PANEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORM_CORE_KERNELS_LEVELS_PANEL_INL_H_
#undef TAPEFORM_CORE_KERNELS_LEVELS_PANEL_INL_H_
#else
#define TAPEFORM_CORE_KERNELS_LEVELS_PANEL_INL_H_
#endif

#include <hwy/highway.h>

#include <tapeform/core/shape.hpp>

#include "kernels/levels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

// 12 accumulators: with B's two vectors and A's number they fit 16 registers.
constexpr int block_rows = 6, block_vectors = 2;

// Matrices as the loops see them: A by two steps, so that a transposed one is read in place; B a panel of whole vectors.
template <class T>
struct Operands {
  const T* a;
  Dim a_row, a_column;
  const T* b;
  Dim b_row;
  Dim k;
  T alpha, beta;
};

// c[r, :] = alpha·Σ_p a[r, p]·b[p, :] + beta·c[r, :] for `rows` rows and `vectors` vectors, of which `columns` numbers are C's.
template <int rows, int vectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void Block(D d, const Operands<T>& x, const T* a, T* c, Dim ldc, Dim columns) {
  using V = hn::VFromD<D>;
  const Dim lanes = LaneCount(d), k = x.k, a_row = x.a_row, a_column = x.a_column, b_row = x.b_row;
  V sum[rows][vectors];
#pragma GCC unroll 6
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[r][v] = hn::Zero(d);
  const T* b = x.b;
  for (Dim p = 0; p < k; ++p, b += b_row, a += a_column) {
    V row[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) row[v] = hn::LoadU(d, b + v * lanes);
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
      const V factor = hn::Set(d, a[r * a_row]);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
    }
  }
  const V alpha = hn::Set(d, x.alpha), beta = hn::Set(d, x.beta);
  const bool add = x.beta != T{0};  // read once: a store to C might change it, for all that the compiler knows
#pragma GCC unroll 6
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      T* const to = c + r * ldc + v * lanes;
      const Dim count = columns - v * lanes;
      V value = hn::Mul(alpha, sum[r][v]);
      if (count >= lanes) {
        if (add) value = hn::MulAdd(beta, hn::LoadU(d, to), value);
        hn::StoreU(value, d, to);
      } else {
        if (add) value = hn::MulAdd(beta, LoadPart(d, to, count), value);
        StorePart(value, d, to, count);
      }
    }
}

template <int vectors, class D, class T = hn::TFromD<D>>
HWY_NOINLINE void Panel(D d, const Operands<T>& x, Dim m, T* c, Dim ldc, Dim columns) {
  Dim i = 0;
  for (; i + block_rows <= m; i += block_rows) Block<block_rows, vectors>(d, x, x.a + i * x.a_row, c + i * ldc, ldc, columns);
  // The rest in blocks of 4, 2 and 1: one of each is enough, and every size more costs the library a few kB at each level.
  if (i + 4 <= m) {
    Block<4, vectors>(d, x, x.a + i * x.a_row, c + i * ldc, ldc, columns);
    i += 4;
  }
  if (i + 2 <= m) {
    Block<2, vectors>(d, x, x.a + i * x.a_row, c + i * ldc, ldc, columns);
    i += 2;
  }
  if (i < m) Block<1, vectors>(d, x, x.a + i * x.a_row, c + i * ldc, ldc, columns);
}

template <class T>
HWY_INLINE void CopyInto(const T* from, Dim n, T* to) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  Dim j = 0;
  for (; j + lanes <= n; j += lanes) hn::StoreU(hn::LoadU(d, from + j), d, to + j);
  for (; j < n; ++j) to[j] = from[j];
}

// to[p, j] = from[j, p] for `columns` j and k p.
template <class T>
HWY_INLINE void TransposeInto(const T* from, Dim ld, Dim columns, Dim k, T* to, Dim to_row) {
  Dim j = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4) {  // 4 × 4 blocks
    const hn::FixedTag<T, 4> d;
    const hn::Repartition<double, decltype(d)> pairs;
    for (; j + 4 <= columns; j += 4) {
      const T* const r = from + j * ld;
      Dim p = 0;
      for (; p + 4 <= k; p += 4) {
        const auto r0 = hn::LoadU(d, r + p), r1 = hn::LoadU(d, r + ld + p), r2 = hn::LoadU(d, r + 2 * ld + p),
                   r3 = hn::LoadU(d, r + 3 * ld + p);
        const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1)), low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
        const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1)), high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
        T* const t = to + p * to_row + j;
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, t);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, t + to_row);
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, t + 2 * to_row);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, t + 3 * to_row);
      }
      for (; p < k; ++p)
        for (Dim q = 0; q < 4; ++q) to[p * to_row + j + q] = r[q * ld + p];
    }
  }
#endif
  for (; j < columns; ++j)
    for (Dim p = 0; p < k; ++p) to[p * to_row + j] = from[j * ld + p];
}

// Columns [0, columns) of op(B) as whole vectors, zeros behind them.
template <class T>
HWY_INLINE void PackPanel(bool trans_b, const T* b, Dim ldb, Dim columns, Dim width, Dim k, T* to) {
  if (trans_b) {
    TransposeInto(b, ldb, columns, k, to, width);
  } else {
    for (Dim p = 0; p < k; ++p) CopyInto(b + p * ldb, columns, to + p * width);
  }
  if (columns < width)
    for (Dim p = 0; p < k; ++p)
      for (Dim j = columns; j < width; ++j) to[p * width + j] = T{0};
}

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#endif  // TAPEFORM_CORE_KERNELS_LEVELS_PANEL_INL_H_
