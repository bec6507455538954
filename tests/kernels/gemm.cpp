#include <cmath>
#include <limits>
#include <string>
#include <tapeform/core/error.hpp>
#include <tapeform/core/parallel.hpp>
#include <vector>

#include "catch.hpp"
#include "kernels/blas.hpp"
#include "kernels/gemm.hpp"
#include "kernels/gemm_small.hpp"
#include "kernels/gemm_tiles.hpp"
#include "kernels/panels.hpp"
#include "threads.hpp"

using namespace tapeform;

namespace {

template <class T>
std::vector<T> numbers(Dim count, int seed) {
  std::vector<T> x(static_cast<std::size_t>(count));
  std::uint32_t state = 17u + static_cast<std::uint32_t>(seed) * 977u;
  for (T& v : x) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<T>((state >> 16) % 2001) / T{1000} - T{1};
  }
  return x;
}

// One product with room around every row, and its sums in long double.
template <class T>
struct Case {
  struct Sum {
    long double value = 0, size = 1;  // of its terms' magnitudes
  };
  bool ta, tb;
  Dim m, n, k, lda, ldb, ldc;
  std::vector<T> a, b, c;
  mutable std::vector<Sum> sums;  // [m, n]

  Case(bool ta_, bool tb_, Dim m_, Dim n_, Dim k_, Dim room)
      : ta(ta_),
        tb(tb_),
        m(m_),
        n(n_),
        k(k_),
        lda((ta ? m : k) + room),
        ldb((tb ? k : n) + room),
        ldc(n + room),
        a(numbers<T>((ta ? k : m) * lda, 1)),
        b(numbers<T>((tb ? n : k) * ldb, 2)),
        c(numbers<T>(m * ldc, 3)) {}

  template <class F>
  std::vector<T> run(F f, T alpha, T beta) const {
    std::vector<T> result = c;
    f(ta, tb, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, result.data(), ldc);
    return result;
  }

  void add_up() const {
    for (Dim i = 0; i < m; ++i)
      for (Dim j = 0; j < n; ++j) {
        Sum& sum = sums.emplace_back();
        for (Dim p = 0; p < k; ++p) {
          const long double x = a[static_cast<std::size_t>(ta ? p * lda + i : i * lda + p)];
          const long double y = b[static_cast<std::size_t>(tb ? j * ldb + p : p * ldb + j)];
          sum.value += x * y;
          sum.size += std::fabs(x * y);
        }
      }
  }

  // Largest error of C, relative to the sum of magnitudes; infinite when a number between the rows has changed.
  double error(const std::vector<T>& got, T alpha, T beta) const {
    if (sums.empty()) add_up();
    double worst = 0;
    for (Dim i = 0; i < m; ++i)
      for (Dim j = 0; j < ldc; ++j) {
        const auto at = static_cast<std::size_t>(i * ldc + j);
        if (j >= n) {
          if (got[at] != c[at]) return std::numeric_limits<double>::infinity();
          continue;
        }
        const Sum& sum = sums[static_cast<std::size_t>(i * n + j)];
        const long double wanted = alpha * sum.value + beta * static_cast<long double>(c[at]);
        worst = std::max(worst, static_cast<double>(std::fabs(got[at] - wanted) / sum.size));
      }
    return worst;
  }
};

template <class T>
constexpr double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-15;

constexpr auto gemm = [](auto... arguments) { kernels::gemm(arguments...); };
constexpr auto gemm_parallel = [](auto... arguments) { kernels::gemm_parallel(arguments...); };
constexpr auto small_gemm = [](auto... arguments) { kernels::small_gemm(arguments...); };
constexpr auto packed_gemm = []<class T>(bool ta, bool tb, Dim m, Dim n, Dim k, T alpha, const T* a, Dim lda, const T* b, Dim ldb, T beta,
                                         T* c, Dim ldc) {
  const kernels::Panels<T> panels = kernels::panels<T>();
  std::vector<T> packed(static_cast<std::size_t>(panels.packed_size(k, n)));
  panels.pack(tb, b, ldb, k, n, packed.data());
  panels.multiply({m, n, k, alpha, a, ta ? 1 : lda, ta ? lda : 1, packed.data(), k, beta, c, ldc});
};
constexpr auto blas_gemm = [](auto... arguments) { kernels::blas_gemm(arguments...); };

}  // namespace

TEMPLATE_TEST_CASE("gemm: every edge of its tiles, all transposes, alpha, beta and rows apart", "", float, double) {
  using T = TestType;
  double worst = 0;
  for (const Dim m : {0, 1, 3, 4, 5, 7, 8, 9, 17, 33, 65})
    for (const Dim n : {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65})
      for (const Dim k : {0, 1, 7, 8, 9, 17, 33, 65})
        for (const int trans : {0, 1, 2, 3})
          for (const Dim room : {0, 3}) {
            const Case<T> x((trans & 1) != 0, (trans & 2) != 0, m, n, k, room);
            const T alpha = room == 0 ? T{1} : T(1.5), beta = room == 0 ? T{0} : T(-0.5);
            worst = std::max(worst, x.error(x.run(gemm, alpha, beta), alpha, beta));
            worst = std::max(worst, x.error(x.run(packed_gemm, alpha, beta), alpha, beta));
            if (k > 0) worst = std::max(worst, x.error(x.run(small_gemm, alpha, beta), alpha, beta));
            if (m > 0 && n > 0 && k > 0) worst = std::max(worst, x.error(x.run(blas_gemm, alpha, beta), alpha, beta));
          }
  CHECK(worst < tolerance<T>);
}

TEMPLATE_TEST_CASE("packed products: part of the rows and columns that were packed, and the same bits for a row alone", "", float, double) {
  using T = TestType;
  const kernels::Panels<T> panels = kernels::panels<T>();
  const Dim m = 14, n = 65, k = 33;
  const Case<T> x(false, false, m, n, k, 0);
  std::vector<T> packed(static_cast<std::size_t>(panels.packed_size(k, n)), T{7}), whole(static_cast<std::size_t>(m * n)), part = whole;
  panels.pack(false, x.b.data(), n, k, n, packed.data());
  panels.multiply({m, n, k, T{1}, x.a.data(), k, 1, packed.data(), k, T{0}, whole.data(), n});
  for (Dim i = 0; i < m; ++i)
    panels.multiply({1, n - 2, k, T{1}, x.a.data() + i * k, k, 1, packed.data(), k, T{0}, part.data() + i * n, n});
  bool same = true;
  for (Dim i = 0; i < m; ++i)
    for (Dim j = 0; j < n; ++j)
      same = same && part[static_cast<std::size_t>(i * n + j)] == (j < n - 2 ? whole[static_cast<std::size_t>(i * n + j)] : T{0});
  CHECK(same);

  Case<T> fewer = x;  // the first 20 rows of B
  fewer.k = 20;
  panels.multiply({m, n, fewer.k, T{1}, x.a.data(), k, 1, packed.data(), k, T{0}, part.data(), n});
  CHECK(fewer.error(part, T{1}, T{0}) < tolerance<T>);
}

TEMPLATE_TEST_CASE("gemm: sizes around the end of the small kernel's panel", "", float, double) {
  double worst = 0;
  for (const Dim k : {kernels::small_gemm_depth - 1, kernels::small_gemm_depth, kernels::small_gemm_depth + 1})
    for (const int trans : {0, 1, 2, 3}) {
      const Case<TestType> x((trans & 1) != 0, (trans & 2) != 0, 3, 17, k, 1);
      worst = std::max(worst, x.error(x.run(gemm, TestType{1}, TestType{1}), TestType{1}, TestType{1}));
    }
  CHECK(worst < tolerance<TestType>);
}

TEMPLATE_TEST_CASE("gemm_parallel: around a tile's edge, along rows and along columns", "", float, double) {
  double worst = 0;
  for (const int trans : {0, 1, 2, 3})
    for (const bool wide : {false, true})
      for (const Dim longer : {255, 256, 257, 271, 272, 273}) {
        const Case<TestType> x((trans & 1) != 0, (trans & 2) != 0, wide ? 65 : longer, wide ? longer : 65, 131, 2);
        worst = std::max(worst, x.error(x.run(gemm_parallel, TestType{1}, TestType{0.5}), TestType{1}, TestType{0.5}));
      }
  CHECK(worst < tolerance<TestType>);
}

TEST_CASE("tiles cover the result once, in multiples of 16, from a shape alone") {
  for (const Dim m : {1, 15, 16, 17, 255, 256, 768, 1000, 100000})
    for (const Dim n : {1, 128, 384, 1001})
      for (const Dim k : {1, 128, 4096}) {
        const kernels::Tiling t = kernels::tiling(m, n, k);
        Dim numbers = 0;
        for (Dim i = 0; i < t.count; ++i) {
          const kernels::Tile tile = kernels::tile_at(t, m, n, i);
          CHECK((tile.rows > 0 && tile.columns > 0));
          numbers += tile.rows * tile.columns;
        }
        CHECK(numbers == m * n);
        CHECK(t.length % 16 == 0);
        CHECK(t.count <= 64);
      }
  CHECK(kernels::tiling(768, 384, 128).count == 4);
  CHECK(kernels::tiling(768, 512, 512).count == 8);
  CHECK(kernels::tiling(8, 32, 16).count == 1);
}

TEMPLATE_TEST_CASE("gemm_parallel: the same bits with 1 and 2 threads, and two did work", "", float, double) {
  for (const int trans : {0, 1, 2, 3}) {
    const Case<TestType> x((trans & 1) != 0, (trans & 2) != 0, 403, 130, 257, 0);
    const auto one = [&] {
      const Threads only(1);
      return x.run(gemm_parallel, TestType{1}, TestType{0});
    }();
    const Threads both(2);
    CHECK(until_helped([&] { CHECK(x.run(gemm_parallel, TestType{1}, TestType{0}) == one); }));
  }
}

TEMPLATE_TEST_CASE("gemm: with beta 0 nothing of C is read, NaN included", "", float, double) {
  for (const Dim size : {1, 5, 64, 200}) {
    for (const Dim m : {Dim{1}, size})
      for (const Dim n : {Dim{1}, size})
        for (const Dim k : {Dim{0}, size}) {
          Case<TestType> x(false, true, m, n, k, 0);
          std::fill(x.c.begin(), x.c.end(), std::numeric_limits<TestType>::quiet_NaN());
          const auto got = x.run(gemm, TestType{1}, TestType{0});
          CHECK(std::none_of(got.begin(), got.end(), [](TestType v) { return std::isnan(v); }));
        }
  }
}

TEST_CASE("AG-14: gemm takes a leading dimension of 0 where there is no second row, and none reaches the BLAS", "[case]") {
  const std::vector<double> a = numbers<double>(600, 1), b = numbers<double>(600 * 100, 2);
  std::vector<double> c(100), wanted(100);
  kernels::gemm(false, false, Dim{1}, Dim{100}, Dim{600}, 1.0, a.data(), Dim{600}, b.data(), Dim{100}, 0.0, wanted.data(), Dim{100});
  kernels::gemm(false, false, Dim{1}, Dim{100}, Dim{600}, 1.0, a.data(), Dim{0}, b.data(), Dim{100}, 0.0, c.data(), Dim{0});
  CHECK(c == wanted);
  double nothing = 3;
  kernels::gemm(false, false, Dim{0}, Dim{8}, Dim{4}, 1.0, a.data(), Dim{0}, b.data(), Dim{0}, 0.0, &nothing, Dim{0});
  kernels::gemm_parallel(false, false, Dim{8}, Dim{0}, Dim{4}, 1.0, a.data(), Dim{0}, b.data(), Dim{0}, 0.0, &nothing, Dim{0});
  CHECK(nothing == 3);
}

TEST_CASE("AG-51: products larger than an int are cut into pieces that add up", "[case]") {
  struct Restore {
    Dim before;
    ~Restore() { kernels::set_blas_piece(before); }
  } const restore{kernels::set_blas_piece(50)};
  double worst = 0;
  for (const int trans : {0, 1, 2, 3})
    for (const Dim m : {1, 50, 51, 120})
      for (const Dim n : {1, 49, 101})
        for (const Dim k : {50, 133}) {
          const Case<double> x((trans & 1) != 0, (trans & 2) != 0, m, n, k, 1);
          for (const double beta : {0.0, 0.5}) worst = std::max(worst, x.error(x.run(blas_gemm, 1.0, beta), 1.0, beta));
        }
  CHECK(worst < 1e-15);
  const double number = 1;
  double result[4];
  CHECK_THROWS_AS(
      kernels::blas_gemm(false, false, Dim{2}, Dim{2}, Dim{2}, 1.0, &number, Dim{1} << 31, &number, Dim{2}, 0.0, result, Dim{2}),
      ShapeError);
}

TEMPLATE_TEST_CASE("column sums add to what is there, around blocks and vectors", "", float, double) {
  for (const Dim rows : {0, 1, 63, 64, 65, 200})
    for (const Dim columns : {0, 1, 7, 8, 9, 17, 33}) {
      const auto x = numbers<TestType>(rows * (columns + 2), 5);
      std::vector<TestType> sums(static_cast<std::size_t>(columns), TestType{1});
      kernels::add_column_sums(x.data(), rows, columns, columns + 2, sums.data());
      for (Dim j = 0; j < columns; ++j) {
        double wanted = 1;
        for (Dim i = 0; i < rows; ++i) wanted += static_cast<double>(x[static_cast<std::size_t>(i * (columns + 2) + j)]);
        CHECK(std::fabs(static_cast<double>(sums[static_cast<std::size_t>(j)]) - wanted) < 200 * tolerance<TestType>);
      }
    }
}
