#include <pthread.h>

#include <tapeform/core/compare.hpp>
#include <tapeform/core/creation.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/parameter.hpp>
#include <tapeform/core/tape.hpp>
#include <thread>
#include <tuple>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "threads.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

using namespace tapeform;

namespace {

Array drawn(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed);
  return normal(shape, 0, 1, rng, DType::float64);
}

/// n ops, each of which captures its result.
void long_chain(int n, const Array& x0) {
  Tape tape;
  const Tensor x = tape.watch(x0);
  Tensor y = x;
  for (int i = 0; i < n; ++i) y = tanh(y);
  tape.backward(y);
}

}  // namespace

TEST_CASE("gradients of what lies between: intermediate tensors, the result itself, and what it does not depend on") {
  const Array x0 = array_of({0.5, -1, 2}, DType::float64);
  Tape tape;
  const Tensor x = tape.watch(x0), h = x * 3.0, y = h * h, aside = x * 7.0;
  const Array seed = array_of({1, 10, 100}, DType::float64);
  const auto [dx, dh, dy, none] = [&] {
    auto all = tape.gradients(y, {x, h, y, aside}, seed);
    return std::tuple(all[0], all[1], all[2], all[3]);
  }();
  CHECK(all_close(dy, seed, {}));
  CHECK(all_close(dh, (Tensor(seed) * 2.0 * h.value()).value(), {.rtol = 1e-15}));
  CHECK(all_close(dx, (Tensor(seed) * 18.0 * x0).value(), {.rtol = 1e-15}));
  CHECK_FALSE(none);
}

TEST_CASE("gradients of an intermediate tensor stop at it when it was made a constant, and not when it was watched") {
  Tape tape;
  const Tensor x = tape.watch(array_of({2, 3}, DType::float64));
  const Tensor cut = stop_gradient(x * x), again = tape.watch(cut);
  const Tensor y = sum(again * x);
  const auto all = tape.gradients(y, {x, again});
  CHECK(all[0].to_vector() == std::vector<double>{4, 9});  // of the factor alone
  CHECK(all[1].to_vector() == std::vector<double>{2, 3});
}

TEST_CASE("the rows of a Jacobian come from one tape that is kept") {
  const Array w = drawn({3, 4}, 1), x0 = drawn({4}, 2);
  Tape tape;
  const Tensor x = tape.watch(x0), y = linear(x, w);
  for (Dim i = 0; i < 3; ++i)
    CHECK(all_close(tape.gradients(y, {x}, eye(3, DType::float64).rows(i, i + 1).reshape({3}), {.keep = true})[0],
                    w.rows(i, i + 1).reshape({4}), {.rtol = 1e-15}));
  CHECK_FALSE(tape.spent());
}

TEST_CASE("a tape tells what its nodes are") {
  const Parameter w(array_of({1, 2}, DType::float64));
  Tape tape;
  const Tensor x = tape.watch(w.value()), y = tanh(x * Tensor(w));
  CHECK(std::string(tape.op(x.node())) == "watch");
  CHECK(std::string(tape.op(Tensor(w).node())) == "parameter");
  CHECK(std::string(tape.op(y.node())) == "tanh");
  CHECK(message<TapeError>([&] { static_cast<void>(tape.op(9)); }) == "op: there is no such node; got 9 of 4");
}

TEST_CASE("an inner tape's gradient is a number for the outer one") {
  // One step of gradient descent on a copy of w, inside a loss of w itself.
  Parameter w(array_of({1, 2}, DType::float64));
  Tape outer;
  const Tensor loss = sum(Tensor(w) * Tensor(w));
  const Array step = [&] {
    Tape inner;
    const Tensor copy = inner.watch(stop_gradient(w));
    return inner.gradients(sum(copy * copy * copy), {copy})[0];
  }();
  CHECK(Tape::current() == &outer);
  CHECK(step.to_vector() == std::vector<double>{3, 12});
  outer.backward(loss + sum(Tensor(w) * Tensor(step)));
  CHECK(w.grad().to_vector() == std::vector<double>{2 + 3, 4 + 12});
}

TEST_CASE("two user threads with a tape each on one model: gradients and bits are their own") {
  const Threads both(2);
  const Parameter w(drawn({40, 40}, 1));
  const auto run = [&w](std::uint64_t seed) {
    std::vector<Array> results;
    for (int i = 0; i < 20; ++i) {
      Rng rng(seed);
      Tape tape(rng);
      const Tensor x = tape.watch(drawn({60, 40}, seed)), leaf = w;
      const Tensor y = sum(tanh(linear(dropout(x, 0.3), leaf)) * x);
      results = tape.gradients(y, {x, leaf});
    }
    return results;
  };
  const auto first = run(1), second = run(2);
  std::vector<Array> in_thread;
  std::thread other([&] { in_thread = run(2); });
  const auto here = run(1);
  other.join();
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(same_bits(here[i], first[i]));
    CHECK(same_bits(in_thread[i], second[i]));
  }
  CHECK_FALSE(w.grad());
}

TEST_CASE("an exception out of a kernel, on any thread of the pool, leaves tape and pool usable") {
  const Threads both(2);
  bool broken = true;
  const auto failing = [&broken](const Tensor& x, Dim forward_at, Dim backward_at) {
    const auto kernel = [&broken](Dim at) {
      parallel_for(64, 1, [&broken, at](Dim begin, Dim) {
        if (broken && begin == at) throw ValueError("kernel: stop");
      });
    };
    kernel(forward_at);
    return record("failing", x.value(), wrt(x, [kernel, backward_at](const Array& dy) {
                    kernel(backward_at);
                    return dy;
                  }));
  };
  const Array x0 = drawn({50, 50}, 1);
  for (const Dim at : {Dim{0}, Dim{31}, Dim{63}}) {
    broken = true;
    Tape tape;
    const Tensor x = tape.watch(x0);
    CHECK(message<ValueError>([&] { failing(x, at, -1); }) == "kernel: stop");
    const Tensor y = sum(failing(x, -1, at) * 2.0);  // the same tape goes on
    CHECK(message<ValueError>([&] { tape.backward(y); }) == "kernel: stop");
    CHECK(tape.spent());
    CHECK(Tape::current() == nullptr);
    broken = false;
    Tape next;
    const Tensor again = next.watch(x0);
    next.backward(sum(failing(again, at, at) * 2.0));
    CHECK(all_equal(next.grad(again), Array::full({50, 50}, 2, DType::float64)));
  }
}

TEST_CASE("an op that the system has no room for leaves the tape usable") {
  Tape tape;
  const Tensor x = tape.watch(array_of({3}, DType::float64));
  CHECK_THROWS_AS(broadcast_to(x, {Dim{1} << 44}), MemoryError);
  tape.backward(sum(x * x));
  CHECK(tape.grad(x).item() == 6);
}

TEST_CASE("a chain of a million ops needs no deep stack", "[slow]") {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  pthread_t thread;
  const auto run = [](void*) -> void* {
    long_chain(1'000'000, Array::full({}, 0.5, DType::float64));
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &small, run, nullptr) == 0);
  CHECK(pthread_join(thread, nullptr) == 0);
  pthread_attr_destroy(&small);
}

#if defined(__GLIBC__) && !defined(TAPEFORM_SANITIZE_MEMORY) && !defined(TAPEFORM_SANITIZE_THREAD)
TEST_CASE("a chain's memory is linear in its length, and all of it is given back", "[slow]") {
  const auto held = [] {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
  };
  const auto bytes_an_op = [&](int n) {
    const std::int64_t live = memory_stats().live_bytes;
    const double before = held();
    double peak = 0;
    {
      Tape tape;
      const Tensor x = tape.watch(Array::full({}, 0.5, DType::float64));
      Tensor y = x;
      for (int i = 0; i < n; ++i) y = tanh(y);
      peak = held() - before;
      tape.backward(y);
    }
    release_cached_memory();
    CHECK(memory_stats().live_bytes == live);
    CHECK(held() - before < 16e6);  // a thread keeps the nodes and blocks of a tape of ordinary length for its next one
    return peak / n;
  };
  bytes_an_op(1'000'000);  // from here on the thread keeps what it will keep
  const double tenth = bytes_an_op(100'000), whole = bytes_an_op(1'000'000);
  CHECK(whole < 2.2 * tenth);  // a vector that grows has up to twice what it needs
  CHECK(whole < 1000);
}
#endif
