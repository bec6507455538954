#include <tapeform/core/error.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/parameter.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;

namespace {

const Array ones = Array::full({2}, 1.0, DType::float64);
const Array seed = Array::of({2}, {1.0, 10.0}, DType::float64);

}  // namespace

TEST_CASE("backward adds the gradient of every use, once each node") {
  Parameter a(ones);
  Tape tape;
  const Tensor b = plus(a, a), c = plus(b, b);
  tape.backward(c, ones);
  CHECK(a.grad().to_vector() == std::vector<double>{4, 4});
  CHECK(tape.spent());
  CHECK(Tape::current() == nullptr);
}

TEST_CASE("one buffer handed to two inputs is not added into (AG-04)") {
  for (const bool swapped : {false, true}) {
    Tape tape;
    const Tensor x = tape.watch(ones), y = tape.watch(ones);
    const Tensor z = plus(x, y), twice = scaled(x, 2.0);
    tape.backward(swapped ? plus(twice, z) : plus(z, twice), ones);
    CHECK(tape.grad(x).to_vector() == std::vector<double>{3, 3});
    CHECK(tape.grad(y).to_vector() == std::vector<double>{1, 1});
  }
}

TEST_CASE("gradients writes no grad(), and keeps the tape when asked") {
  Parameter a(ones);
  Tape tape;
  const Tensor x = a;
  const Tensor y = scaled(x, 3.0);
  const Array first = tape.gradients(y, {x}, seed, {.keep = true}).front();
  const Array second = tape.gradients(y, {x}, seed).front();
  CHECK(first.to_vector() == std::vector<double>{3, 30});
  CHECK(same_bits(first, second));
  CHECK_FALSE(a.grad());
  CHECK(message<TapeError>([&] { tape.gradients(y, {x}, seed); }).starts_with("gradients: this tape is spent"));
}

TEST_CASE("AG-32: recording state lost after an exception", "[case]") {
  Tape tape;
  CHECK(Tape::current() == &tape);
  try {
    NoTape off;
    CHECK(Tape::current() == nullptr);
    {
      Tape inner;
      CHECK(Tape::current() == &inner);
      {
        NoTape off_again;
        CHECK(Tape::current() == nullptr);
      }
      CHECK(Tape::current() == &inner);
    }
    throw 1;
  } catch (int) {
  }
  CHECK(Tape::current() == &tape);
}

TEST_CASE("AG-27: deep graph: destruction and backward", "[case]") {
  Tape tape;
  const Tensor x = tape.watch(Array::full({}, 1.0, DType::float64));
  Tensor y = x;
  for (int i = 0; i < 100'000; ++i) y = plus(y, scaled(y, 1e-6));
  tape.backward(y);
  CHECK(tape.grad(x).item() == Catch::Approx(1.105171).epsilon(1e-6));
}

TEST_CASE("AG-25: backward of a non-scalar", "[case]") {
  const Array x0 = Array::of({2}, {1.0, 2.0}, DType::float64);
  Tape tape;
  const Tensor x = tape.watch(x0), y = scaled(x, 2.0);
  CHECK(message<TapeError>([&] { tape.backward(y); }) ==
        "backward: the loss must be one number; got [2]. Reduce it with sum() or mean(), or give its gradient: backward(y, …, dy)");
  CHECK(message<ShapeError>([&] { tape.backward(y, Array::ones({3}, DType::float64)); }) ==
        "backward: the gradient must have y's shape; got y [2], dy [3]");
  tape.backward(y, seed);
  CHECK(tape.grad(x).to_vector() == std::vector<double>{2, 20});
}

TEST_CASE("captures are let go as the sweep passes, used by the loss or not") {
  Parameter a(Array::full({2}, 1.0, DType::float64));
  Tape tape;
  record("unused", map(a.value(), 1.0), wrt(a, [A = a.value()](const Array&) { return A; }));
  tape.backward(scaled(a, 2.0), ones);
  const auto before = memory_stats().copies;
  a.ref().value().mutable_data<double>()[0] = 5.0;
  CHECK(memory_stats().copies == before);
}
