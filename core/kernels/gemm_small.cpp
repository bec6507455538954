#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm_small.cpp"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include "kernels/gemm_small.hpp"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

constexpr int block_rows = 4, block_vectors = 2;  // 8 accumulators: with B's two vectors and A's number they fit 16 registers

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
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[r][v] = hn::Zero(d);
  const T* b = x.b;
  for (Dim p = 0; p < k; ++p, b += b_row, a += a_column) {
    V row[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) row[v] = hn::LoadU(d, b + v * lanes);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const V factor = hn::Set(d, a[r * a_row]);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
    }
  }
  const V alpha = hn::Set(d, x.alpha), beta = hn::Set(d, x.beta);
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      T* const to = c + r * ldc + v * lanes;
      const Dim count = columns - v * lanes;
      V value = hn::Mul(alpha, sum[r][v]);
      if (count >= lanes) {
        if (x.beta != T{0}) value = hn::MulAdd(beta, hn::LoadU(d, to), value);
        hn::StoreU(value, d, to);
      } else {
        if (x.beta != T{0}) value = hn::MulAdd(beta, LoadPart(d, to, count), value);
        StorePart(value, d, to, count);
      }
    }
}

template <int vectors, class D, class T = hn::TFromD<D>>
HWY_NOINLINE void Panel(D d, const Operands<T>& x, Dim m, T* c, Dim ldc, Dim columns) {
  Dim i = 0;
  for (; i + block_rows <= m; i += block_rows) Block<block_rows, vectors>(d, x, x.a + i * x.a_row, c + i * ldc, ldc, columns);
  const T* const a = x.a + i * x.a_row;
  switch (m - i) {
    case 3:
      return Block<3, vectors>(d, x, a, c + i * ldc, ldc, columns);
    case 2:
      return Block<2, vectors>(d, x, a, c + i * ldc, ldc, columns);
    case 1:
      return Block<1, vectors>(d, x, a, c + i * ldc, ldc, columns);
    default:
      return;
  }
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
    for (Dim p = 0; p < k; ++p)
      for (Dim j = 0; j < columns; ++j) to[p * width + j] = b[p * ldb + j];
  }
  if (columns < width)
    for (Dim p = 0; p < k; ++p)
      for (Dim j = columns; j < width; ++j) to[p * width + j] = T{0};
}

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
HWY_INLINE void AddColumnSums(const T* x, Dim rows, Dim columns, Dim ld, T* y) {
  constexpr Dim block = 64;  // rows added up before they join the sum
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  Dim j = 0;
  for (; j + lanes <= columns; j += lanes) {
    auto sum = hn::LoadU(d, y + j);
    for (Dim i = 0; i < rows; i += block) {
      const Dim end = i + block < rows ? i + block : rows;
      auto part = hn::Zero(d);
      for (Dim r = i; r < end; ++r) part = hn::Add(part, hn::LoadU(d, x + r * ld + j));
      sum = hn::Add(sum, part);
    }
    hn::StoreU(sum, d, y + j);
  }
  for (; j < columns; ++j)
    for (Dim i = 0; i < rows; i += block) {
      const Dim end = i + block < rows ? i + block : rows;
      T part{0};
      for (Dim r = i; r < end; ++r) part += x[r * ld + j];
      y[j] += part;
    }
}

static void AddColumnSums32(const float* x, Dim rows, Dim columns, Dim ld, float* y) { AddColumnSums(x, rows, columns, ld, y); }
static void AddColumnSums64(const double* x, Dim rows, Dim columns, Dim ld, double* y) { AddColumnSums(x, rows, columns, ld, y); }

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/simd.hpp"

namespace tapeform::kernels {

HWY_EXPORT(SmallGemm32);
HWY_EXPORT(SmallGemm64);
HWY_EXPORT(AddColumnSums32);
HWY_EXPORT(AddColumnSums64);

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

}  // namespace tapeform::kernels
#endif  // HWY_ONCE
