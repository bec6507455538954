#pragma once
#include <string>
#include <tapeform/core/shape.hpp>

namespace tapeform::kernels {

/// One product by the BLAS, on the calling thread: the arguments of `gemm`, m, n, k > 0. Sizes that an `int` cannot hold are cut into
/// several calls; so wide a row is an error. The first call sets the BLAS to one thread, unless that is switched off.
/// @throws ShapeError when a leading dimension does not fit an `int`.
template <class T>
void blas_gemm(bool trans_a, bool trans_b, Dim m, Dim n, Dim k, T alpha, const T* a, Dim lda, const T* b, Dim ldb, T beta, T* c, Dim ldc);

/// What the BLAS calls itself, with its version; with OpenBLAS also the processor whose kernels it uses.
std::string blas_name();

/// The longest piece given to one call; smaller only in tests of the cutting. @return what it was
Dim set_blas_piece(Dim numbers) noexcept;

}  // namespace tapeform::kernels
