#pragma once
#include <tapeform/core/array.hpp>

namespace tapeform::kernels {

/// C = alpha·op(A)·op(B) + beta·C on row-major matrices, op(A) [m, k], op(B) [k, n], C [m, n]; `trans_a` says that A is stored as
/// [k, m], `trans_b` that B is stored as [n, k]; a leading dimension is the distance of rows as stored. Any size may be 0, and so may
/// the leading dimension of a matrix of at most one row; k = 0 leaves beta·C. With beta = 0, C is not read: it may be NaN or uninitialised.
/// On the calling thread: loops of our own for tiny products, the BLAS otherwise.
template <class T>
void gemm(bool trans_a, bool trans_b, Dim m, Dim n, Dim k, T alpha, const T* a, Dim lda, const T* b, Dim ldb, T beta, T* c, Dim ldc);

/// The same product in tiles of rows or columns, whichever are more, on several threads. Tiles depend on m, n, k alone, so results
/// keep their bits whatever the number of threads.
template <class T>
void gemm_parallel(bool trans_a, bool trans_b, Dim m, Dim n, Dim k, T alpha, const T* a, Dim lda, const T* b, Dim ldb, T beta, T* c,
                   Dim ldc);

}  // namespace tapeform::kernels
