#pragma once
#include <cstdint>
#include <tapeform/core/shape.hpp>

namespace tapeform {

/// Number of threads that kernels may use, this one included: `TAPEFORM_THREADS`, or else the processors of the machine.
/// @throws ValueError when `TAPEFORM_THREADS` is not a number from 1 to 1024.
int threads();
/// Sets it for the process; results keep their bits, whatever the number. Of more threads than the machine has processors only as many
/// work: more would take turns and wait for one another. @throws ValueError unless it is 1 to 1024.
void set_threads(int count);

/// How many chunks of work helper threads have run so far: shows that they worked.
std::uint64_t chunks_run_by_helpers() noexcept;

/// At its first matrix product the library sets the BLAS to one thread, process-wide: its own threads share out the work. With false
/// it leaves the BLAS as it is from then on (as with `TAPEFORM_KEEP_BLAS_THREADS` set); results may then depend on the BLAS's threads.
void set_blas_threads_managed(bool managed) noexcept;

namespace detail {
/// As if the machine had so many processors: for tests of more threads than it has.
void set_processors(int count) noexcept;
void run_chunks(Dim chunks, void* context, void (*run)(void* context, Dim chunk));
[[noreturn]] void throw_grain(Dim grain);
}  // namespace detail

/// Calls `f(begin, end)` for the pieces of [0, n) of `grain` numbers each, on several threads, and returns when all are done. The
/// pieces depend on n and grain alone, never on the number of threads, so a kernel that adds up within pieces and then over pieces
/// in order has the same bits everywhere. Nested calls and calls from several threads at once run on their own thread. The first
/// exception is thrown on; pieces that have not begun by then are left out. @throws ValueError unless grain is at least 1.
template <class F>
void parallel_for(Dim n, Dim grain, const F& f) {
  if (grain < 1) detail::throw_grain(grain);
  if (n <= 0) return;
  if (n <= grain) {
    f(Dim{0}, n);
    return;
  }
  struct Context {
    Dim n, grain;
    const F* f;
  } context{n, grain, &f};
  detail::run_chunks((n - 1) / grain + 1, &context, [](void* c, Dim chunk) {
    const Context& all = *static_cast<const Context*>(c);
    const Dim begin = chunk * all.grain, end = all.grain < all.n - begin ? begin + all.grain : all.n;
    (*all.f)(begin, end);
  });
}

}  // namespace tapeform
