#pragma once
#include <tapeform/core/shape.hpp>

namespace tapeform::kernels {

/// The largest k of `small_gemm`: a panel of B of that depth fits its buffer on the stack.
inline constexpr Dim small_gemm_depth = 256;

/// The product of `gemm` by plain vector loops, for sizes at which a call of the BLAS costs more than the product; k ≤ small_gemm_depth.
template <class T>
void small_gemm(bool trans_a, bool trans_b, Dim m, Dim n, Dim k, T alpha, const T* a, Dim lda, const T* b, Dim ldb, T beta, T* c, Dim ldc);

/// y[j] += Σ_i x[i, j] over `rows` rows of `columns` numbers, `ld` apart; in blocks of rows, so that long sums stay accurate.
template <class T>
void add_column_sums(const T* x, Dim rows, Dim columns, Dim ld, T* y);

}  // namespace tapeform::kernels
