#include "kernels/gemm.hpp"

#include <algorithm>

#include "kernels/blas.hpp"
#include "kernels/gemm_small.hpp"
#include "kernels/gemm_tiles.hpp"

namespace tapeform::kernels {

template <class T>
static void scale(T beta, Dim m, Dim n, T* c, Dim ldc) {
  for (Dim i = 0; i < m; ++i)
    for (Dim j = 0; j < n; ++j) c[i * ldc + j] = beta == T{0} ? T{0} : beta * c[i * ldc + j];
}

// Where our loops are faster than the BLAS: measured up to 64³. It multiplies a vector without copying the matrix first.
static bool is_small(Dim m, Dim n, Dim k) {
  const Dim limit = n == 1 ? 0 : m == 1 ? 1024 : 256 * 1024;
  return k <= small_gemm_depth && m * n * k <= limit;
}

template <class T>
void gemm(bool trans_a, bool trans_b, Dim m, Dim n, Dim k, T alpha, const T* a, Dim lda, const T* b, Dim ldb, T beta, T* c, Dim ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) return scale(beta, m, n, c, ldc);
  if (is_small(m, n, k)) return small_gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  blas_gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class T>
void gemm_parallel(bool trans_a, bool trans_b, Dim m, Dim n, Dim k, T alpha, const T* a, Dim lda, const T* b, Dim ldb, T beta, T* c,
                   Dim ldc) {
  for_each_tile(m, n, k, [=](const Tile& t) {
    const T* const a_tile = trans_a ? a + t.row : a + t.row * lda;
    const T* const b_tile = trans_b ? b + t.column * ldb : b + t.column;
    gemm(trans_a, trans_b, t.rows, t.columns, k, alpha, a_tile, lda, b_tile, ldb, beta, c + t.row * ldc + t.column, ldc);
  });
}

template void gemm(bool, bool, Dim, Dim, Dim, float, const float*, Dim, const float*, Dim, float, float*, Dim);
template void gemm(bool, bool, Dim, Dim, Dim, double, const double*, Dim, const double*, Dim, double, double*, Dim);
template void gemm_parallel(bool, bool, Dim, Dim, Dim, float, const float*, Dim, const float*, Dim, float, float*, Dim);
template void gemm_parallel(bool, bool, Dim, Dim, Dim, double, const double*, Dim, const double*, Dim, double, double*, Dim);

}  // namespace tapeform::kernels
