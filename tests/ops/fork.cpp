#include <sys/wait.h>
#include <unistd.h>

#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/parallel.hpp>

#include "catch.hpp"
#include "products_testing.hpp"

using namespace products_testing;

namespace {

// What a child of fork comes to when it repeats a product of the parent's: 0 when it is right, a signal's number when it hangs.
int child_of(const Array& a, const Array& wanted) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(distance(matmul(a, a).value(), wanted) < 1e-9 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("RN-06: a child of fork multiplies, after products on two threads in the parent", "[case][fork]") {
  const Threads both(2);
  for (const bool managed : {false, true}) {  // the BLAS with its own threads and with one
    set_blas_threads_managed(managed);
    for (const Dim n : {8, 512}) {
      const Array a = numbers({n, n}, 1), c = matmul(a, a).value();
      CHECK(child_of(a, c) == 0);
      CHECK(distance(matmul(a, a).value(), c) == 0);  // and the parent goes on
    }
  }
}
