#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/mask.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/parameter.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/tape.hpp>
#include <thread>
#include <utility>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;

namespace {

const std::string holds_nothing =
    "array: it holds nothing (default-constructed, moved from, or a gradient that is not there). Test it with `if (array)`";
const std::string no_parameter =
    "parameter: this handle holds no parameter (moved from, or taken from an empty one). Test it with orphan()";

/// y = x; `f(dy, dx)` adds to the gradient.
template <class F>
Tensor adding(const Tensor& x, F f) {
  return record("custom", x.value(), wrt(x, f));
}

/// The exit status of a child process that runs f.
template <class F>
int status_of(F f) {
  const pid_t child = fork();
  if (child == 0) {
    f();
    _exit(77);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("an array that was moved from holds nothing, and says so") {
  Array a = Array::ones({2, 3}), b = std::move(a);
  CHECK_FALSE(a);
  CHECK(a.shape() == Shape{});
  CHECK(message<ValueError>([&] { a.write<float>([](auto) {}); }) == holds_nothing);
  CHECK(message<ValueError>([&] { (void)a.to_vector(); }) == holds_nothing);
  CHECK(message<ShapeError>([&] { a += b; }) == "+=: shapes must agree; got [] and [2, 3]");
  CHECK(message<ShapeError>([&] { b += a; }) == "+=: shapes must agree; got [2, 3] and []");
  CHECK_THROWS_AS(exp(a), ValueError);
  a = std::move(b);
  CHECK(a.at({1, 2}) == 1);
  Array& self = a;
  a = std::move(self);
  CHECK(a.at({1, 2}) == 1);
}

TEST_CASE("ids that were moved from are empty") {
  Ids a{1, 2}, b = std::move(a);
  CHECK(a == Ids());
  CHECK(message<ShapeError>([&] { a[0]; }) == "ids: position 0 is outside 0 elements; got shape [0]");
  const Mask mask = Mask::valid_lens(std::move(b));
  CHECK(b == Ids());
  CHECK(mask.lens() == Ids{1, 2});
}

TEST_CASE("no array, tape or parameter is made of nothing") {
  Tape tape;
  CHECK_THROWS_AS(Array::zeros({2}, no_dtype), ValueError);
  CHECK(message<ValueError>([&] { tape.watch(Array()); }) == "watch: there are no numbers to record; the array holds nothing");
  const Tensor x = tape.watch(Array::ones({2}));
  CHECK(message<ValueError>([&] { record("custom", Array(), wrt(x, [](const Array& dy) { return dy; })); }) ==
        "custom: there are no numbers to record; the array holds nothing");
  CHECK(message<ValueError>([] { Parameter p{Array()}; }) ==
        "parameter: its value must hold numbers; got nothing. Leave a parameter that is absent default-constructed");
}

TEST_CASE("a handle of no parameter is an orphan that cannot be read") {
  const ParameterRef empty = Parameter().ref();
  ParameterRef moved = Parameter(Array::ones({2})).ref();
  const ParameterRef kept = std::move(moved);
  for (const ParameterRef* handle : {&empty, static_cast<const ParameterRef*>(&moved)}) {
    CHECK(handle->orphan());
    CHECK_FALSE(handle->trainable());
    CHECK(message<ValueError>([&] { handle->value(); }) == no_parameter);
    CHECK(message<ValueError>([&] { handle->grad(); }) == no_parameter);
    CHECK(message<ValueError>([&] { (void)handle->shape(); }) == no_parameter);
  }
  CHECK(kept.shape() == Shape{2});
}

TEST_CASE("sizes that overflow on the way, and those that nothing holds, are errors") {
  CHECK_THROWS_AS(Ids::full({Dim{1} << 50}, 0), ShapeError);
  CHECK_THROWS_AS(Ids::full({Dim{1} << 43}, 0), MemoryError);
  CHECK(message<ShapeError>([] { Ids::arange(-1); }) == "shape: sizes must not be negative; got -1");
  CHECK(Ids::arange(3) == Ids{0, 1, 2});
  CHECK_THROWS_AS(Array::zeros({4, 0}).reshape({Dim{1} << 62, 4, -1}), ShapeError);
  CHECK(Array::zeros({0, Dim{1} << 62, 4}).rows(0, 0).numel() == 0);
}

TEST_CASE("a derivative that adds must leave the gradient as large as it was") {
  const Array x0 = Array::ones({2, 3});
  const auto error = [&x0](Array replacement) {
    return message<Error>([&] {
      Tape tape;
      tape.backward(adding(tape.watch(x0), [replacement](const Array&, Array& dx) { dx = replacement; }), x0);
    });
  };
  CHECK(error(Array::ones({1})) == "custom: its derivative must have the input's shape; got [1] for [2, 3]");
  CHECK(error(Array::ones({2, 3}, DType::float64)) == "custom: its derivative must have the input's dtype; got float64 for float32");
  CHECK(error(Array()) == "custom: its derivative returned nothing for an input that needs a gradient");
}

TEST_CASE("a gradient that no longer fits its parameter is not added to") {
  Parameter table(Array::ones({3, 2}));
  for (const Array& wrong : {Array::zeros({1}), Array::zeros({3, 2}, DType::float64)}) {
    table.ref().grad() = wrong;
    Tape tape;
    CHECK(message<ShapeError>([&] { tape.backward(sum(embedding(table, Ids{2}))); }) ==
          "embedding: the gradient that a parameter has must be like the parameter; got gradient " + wrong.shape().str() + " " +
              name(wrong.dtype()) + ", parameter [3, 2] float32. Call zero_grad() first");
  }
}

TEST_CASE("a parameter that is frozen between forward and backward gets no gradient") {
  Parameter table(Array::ones({3, 2})), other(Array::ones({3, 2}));
  Tape tape;
  const Tensor loss = sum(embedding(table, Ids{2})) + sum(Tensor(table) * Tensor(other));
  table.set_trainable(false);
  tape.backward(loss);
  CHECK_FALSE(table.grad());
  CHECK(other.grad().to_vector() == std::vector<double>(6, 1.0));
}

TEST_CASE("random numbers have bounds that make sense") {
  Rng rng(1);
  CHECK(message<ValueError>([&] { uniform({2}, 1, -1, rng); }) == "uniform: low and high must be finite and in order; got low 1, high -1");
  CHECK_THROWS_AS(uniform({2}, 0, INFINITY, rng), ValueError);
  CHECK_THROWS_AS(uniform({2}, NAN, 1, rng), ValueError);
  CHECK(message<ValueError>([&] { normal({2}, 0, -1, rng); }) ==
        "normal: mean and deviation must be finite, deviation at least 0; got mean 0, deviation -1");
  CHECK_THROWS_AS(normal({2}, NAN, 1, rng), ValueError);
  CHECK(rng.state().position == 0);
  CHECK(uniform({2}, 3, 3, rng).to_vector() == std::vector<double>{3, 3});
}

TEST_CASE("a derivative cannot start another sweep of its tape, nor add nodes to it") {
  const Array one = Array::full({}, 1.0);
  Tape tape;
  const Tensor x = tape.watch(one);
  Tensor y;
  std::vector<std::string> errors;
  y = record("custom", x.value(), wrt(x, [&tape, &x, &y, &errors](const Array& dy) {
               errors.push_back(message<TapeError>([&] { tape.backward(y); }));
               errors.push_back(message<TapeError>([&] { tape.gradients(y, {x}); }));
               errors.push_back(message<TapeError>([&] { tape.watch(dy); }));
               return dy;
             }));
  CHECK(tape.gradients(y, {x}, {.keep = true})[0].item() == 1);
  CHECK_FALSE(tape.spent());
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].starts_with("backward: this tape is spent"));
  CHECK(errors[1].starts_with("gradients: this tape is spent"));
  CHECK(errors[2].starts_with("watch: this tape is spent"));
}

TEST_CASE("captures get the alignment that they ask for") {
  struct alignas(64) Wide {
    float numbers[16];
  };
  const Wide wide{};
  int aligned = 0;
  Tape tape;
  const Tensor x = tape.watch(Array::full({}, 1.0));
  Tensor y = x;
  for (int i = 0; i < 20; ++i)
    y = record("custom", y.value(), wrt(y, [wide, &aligned](const Array& dy) {
                 aligned += reinterpret_cast<std::uintptr_t>(&wide) % 64 == 0;
                 return dy;
               }));
  tape.backward(y);
  CHECK(aligned == 20);
}

TEST_CASE("a tape may end on another thread, before or after its own has ended") {
  const Parameter p(Array::ones({2}));
  {
    auto tape = std::make_unique<Tape>();
    std::thread([&tape] { tape.reset(); }).join();
    CHECK(Tape::current() == nullptr);
    Tape later;
    later.backward(sum(p));
    CHECK(Tape::current() == nullptr);
  }
  std::unique_ptr<Tape> tape;
  std::thread([&tape] { tape = std::make_unique<Tape>(); }).join();
  CHECK(Tape::current() == nullptr);
  tape.reset();
  CHECK(p.grad().to_vector() == std::vector<double>{1, 1});
}

TEST_CASE("gradcheck takes a plain function") {
  Rng rng(1);
  CHECK(gradcheck(relu, {normal({3}, 0, 1, rng, DType::float64)}).ok());
  CHECK(gradcheck(&relu, {normal({3}, 0, 1, rng, DType::float64)}).ok());
}

TEST_CASE("parallel_for refuses a grain below 1, and counts without overflow") {
  CHECK(message<ValueError>([] { parallel_for(10, 0, [](Dim, Dim) {}); }) == "parallel_for: grain must be at least 1; got 0");
  CHECK(message<ValueError>([] { parallel_for(10, -1, [](Dim, Dim) {}); }) == "parallel_for: grain must be at least 1; got -1");
  std::atomic<int> pieces{0};
  std::atomic<Dim> last{0};
  parallel_for(INT64_MAX, INT64_MAX - 1, [&pieces, &last](Dim, Dim end) {
    ++pieces;
    if (end > last) last = end;
  });
  CHECK(pieces == 2);
  CHECK(last == INT64_MAX);
}

TEST_CASE("exit() within parallel work ends the process", "[threads][fork]") {
  for (const bool on_helper : {false, true}) {
    const int status = status_of([on_helper] {
      alarm(60);
      set_threads(2);
      const auto caller = std::this_thread::get_id();
      for (;;)
        parallel_for(100, 1, [=](Dim, Dim) {
          if ((std::this_thread::get_id() != caller) == on_helper) std::exit(3);
          usleep(1000);
        });
    });
    CHECK(status == 3);
  }
}

TEST_CASE("exit() beside a thread that works ends the process", "[threads]") {
  for (int delay = 0; delay < 10; ++delay) {
    const int status = status_of([delay] {
      alarm(60);
      set_threads(2);
      std::thread([] {
        std::atomic<Dim> sum{0};
        const auto work = [&sum](Dim begin, Dim end) {
          for (Dim i = begin; i < end; ++i) sum.fetch_add(i, std::memory_order_relaxed);
        };
        for (;;) parallel_for(2000, 100, work);
      }).detach();
      usleep(static_cast<useconds_t>(2000 + 500 * delay));
      std::exit(3);
    });
    CHECK(status == 3);
  }
}
