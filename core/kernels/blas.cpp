#include "kernels/blas.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/parallel.hpp>
#include <type_traits>

// Null with another BLAS than the one that has them; without either, that BLAS's own variable (OMP_NUM_THREADS, say) sets its threads.
extern "C" {
__attribute__((weak)) void openblas_set_num_threads(int count);
__attribute__((weak)) char* openblas_get_config(void);
__attribute__((weak)) char* openblas_get_corename(void);
__attribute__((weak)) void bli_thread_set_num_threads(std::int64_t count);
__attribute__((weak)) const char* bli_info_get_version_str(void);
}

namespace tapeform {
namespace {

std::atomic<bool> managed{true};
std::atomic<bool> threads_set{false};

void set_one_thread() {
  if (managed.load(std::memory_order_relaxed) && !std::getenv("TAPEFORM_KEEP_BLAS_THREADS")) {
    if (&openblas_set_num_threads) openblas_set_num_threads(1);
    if (&bli_thread_set_num_threads) bli_thread_set_num_threads(1);
  }
  threads_set.store(true, std::memory_order_release);
}

}  // namespace

void set_blas_threads_managed(bool value) noexcept {
  managed.store(value, std::memory_order_relaxed);
  threads_set.store(!value, std::memory_order_release);
}

namespace kernels {
namespace {

constexpr Dim int_max = std::numeric_limits<int>::max();
std::atomic<Dim> piece{Dim{1} << 30};

int as_int(Dim n) { return static_cast<int>(n); }
CBLAS_TRANSPOSE op(bool trans) { return trans ? CblasTrans : CblasNoTrans; }

// A leading dimension as the BLAS wants it: at least the stored width and 1, even where there is no second row.
int leading(Dim ld, Dim rows, Dim width) {
  const Dim needed = std::max<Dim>(width, 1);
  if (rows <= 1 || ld < needed) return as_int(needed);
  if (ld > int_max) throw ShapeError(fmt::format("gemm: rows must lie at most {} numbers apart; got {}. Split the last axis", int_max, ld));
  return as_int(ld);
}

template <class T>
struct Product {
  bool trans_a, trans_b;
  Dim m, n, k;
  T alpha;
  const T* a;
  Dim lda;
  const T* b;
  Dim ldb;
  T beta;
  T* c;
  Dim ldc;

  const T* a_at(Dim i, Dim p) const { return trans_a ? a + p * lda + i : a + i * lda + p; }
  const T* b_at(Dim p, Dim j) const { return trans_b ? b + j * ldb + p : b + p * ldb + j; }
  Product part(Dim i, Dim j, Dim p, Dim rows, Dim columns, Dim inner) const {
    return {trans_a, trans_b, rows, columns, inner, alpha, a_at(i, p), lda, b_at(p, j), ldb, p == 0 ? beta : T{1}, c + i * ldc + j, ldc};
  }
};

template <class T>
void gemv(bool trans, Dim rows, Dim columns, T alpha, const T* matrix, Dim ld, const T* x, Dim x_step, T beta, T* y, Dim y_step) {
  const Dim length = trans ? columns : rows;
  if (beta == T{0})
    for (Dim i = 0; i < length; ++i) y[i * y_step] = T{0};  // some versions multiply by beta, and NaN stays
  const T scale = beta == T{0} ? T{1} : beta;
  if constexpr (std::is_same_v<T, float>)
    cblas_sgemv(CblasRowMajor, op(trans), as_int(rows), as_int(columns), alpha, matrix, leading(ld, rows, columns), x, as_int(x_step),
                scale, y, as_int(y_step));
  else
    cblas_dgemv(CblasRowMajor, op(trans), as_int(rows), as_int(columns), alpha, matrix, leading(ld, rows, columns), x, as_int(x_step),
                scale, y, as_int(y_step));
}

template <class T>
void call(const Product<T>& g) {
  const Dim a_rows = g.trans_a ? g.k : g.m, a_columns = g.trans_a ? g.m : g.k;
  const Dim b_rows = g.trans_b ? g.n : g.k, b_columns = g.trans_b ? g.k : g.n;
  const Dim a_step = g.trans_a ? g.lda : 1, b_step = g.trans_b ? 1 : g.ldb;  // from one number to the next along k
  // A product with one row or column is a product with a vector: gemm would first copy the whole matrix.
  if (g.m == 1 && a_step <= int_max) return gemv(!g.trans_b, b_rows, b_columns, g.alpha, g.b, g.ldb, g.a, a_step, g.beta, g.c, Dim{1});
  if (g.n == 1 && b_step <= int_max && g.ldc <= int_max)
    return gemv(g.trans_a, a_rows, a_columns, g.alpha, g.a, g.lda, g.b, b_step, g.beta, g.c, g.ldc);
  const int lda = leading(g.lda, a_rows, a_columns), ldb = leading(g.ldb, b_rows, b_columns), ldc = leading(g.ldc, g.m, g.n);
  if constexpr (std::is_same_v<T, float>)
    cblas_sgemm(CblasRowMajor, op(g.trans_a), op(g.trans_b), as_int(g.m), as_int(g.n), as_int(g.k), g.alpha, g.a, lda, g.b, ldb, g.beta,
                g.c, ldc);
  else
    cblas_dgemm(CblasRowMajor, op(g.trans_a), op(g.trans_b), as_int(g.m), as_int(g.n), as_int(g.k), g.alpha, g.a, lda, g.b, ldb, g.beta,
                g.c, ldc);
}

}  // namespace

std::string blas_name() {
  if (&openblas_get_config && &openblas_get_corename) {
    const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE …"
    return config.substr(0, config.find(' ', config.find(' ') + 1)) + ' ' + openblas_get_corename();
  }
  if (&bli_info_get_version_str) return std::string("BLIS ") + bli_info_get_version_str();
  return "another BLAS";
}

Dim set_blas_piece(Dim numbers) noexcept { return piece.exchange(numbers); }

template <class T>
void blas_gemm(bool trans_a, bool trans_b, Dim m, Dim n, Dim k, T alpha, const T* a, Dim lda, const T* b, Dim ldb, T beta, T* c, Dim ldc) {
  if (!threads_set.load(std::memory_order_acquire)) set_one_thread();
  const Product<T> whole{trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  const Dim most = piece.load(std::memory_order_relaxed);
  if (m <= most && n <= most && k <= most) return call(whole);
  for (Dim i = 0; i < m; i += most)
    for (Dim j = 0; j < n; j += most)
      for (Dim p = 0; p < k; p += most) call(whole.part(i, j, p, std::min(most, m - i), std::min(most, n - j), std::min(most, k - p)));
}

template void blas_gemm(bool, bool, Dim, Dim, Dim, float, const float*, Dim, const float*, Dim, float, float*, Dim);
template void blas_gemm(bool, bool, Dim, Dim, Dim, double, const double*, Dim, const double*, Dim, double, double*, Dim);

}  // namespace kernels
}  // namespace tapeform
