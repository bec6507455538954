#include <cmath>
#include <memory>
#include <tapeform/core/error.hpp>
#include <tapeform/core/parameter.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/tape.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;

namespace {

const Array ones = Array::full({2}, 1.0, DType::float64);
const Array one = Array::full({}, 1.0, DType::float64);

const std::string ended =
    "scaled: an input of shape [2] belongs to a tape that has ended or to another thread's. Use stop_gradient(x) to carry a value from one "
    "tape to another";

/// y = x with the derivative that `f` makes.
template <class F>
Tensor custom(const Tensor& x, F f) {
  return record("custom", map(x.value(), 1.0), wrt(x, f));
}

}  // namespace

TEST_CASE("a spent tape says so, and how to have several losses") {
  Tape tape;
  const Tensor x = tape.watch(one), y = scaled(x, 2.0);
  tape.backward(y);
  CHECK(message<TapeError>([&] { tape.backward(y); }) ==
        "backward: this tape is spent, its saved values are gone. Add several losses up before one backward, or use gradients(…, {.keep = "
        "true})");
  CHECK(message<TapeError>([&] { tape.gradients(y, {x}); }).starts_with("gradients: this tape is spent, its saved values are gone."));
  CHECK(message<TapeError>([&] { tape.watch(one); }) == "watch: this tape is spent, backward has run. Watch before it, on a new tape");
  CHECK(tape.grad(x).item() == 2.0);
}

TEST_CASE("a spent tape records nothing and has no dropout") {
  Parameter p(ones);
  Rng rng(1);
  Tape tape(rng);
  const Tensor y = scaled(p, 2.0);
  CHECK(Tape::dropout_rng("dropout", 0.5) == &rng);
  tape.backward(y, ones);
  const auto nodes = tape.nodes();
  const Tensor after = scaled(p, 2.0), of_old = scaled(y, 2.0);
  CHECK_FALSE(after.recorded());
  CHECK_FALSE(of_old.recorded());
  CHECK(tape.nodes() == nodes);
  CHECK(Tape::dropout_rng("dropout", 0.5) == nullptr);
}

TEST_CASE("AG-23: second backward", "[case]") {
  const Array t0 = Array::full({}, 3.0, DType::float64);
  {
    Tape tape;
    const Tensor t = tape.watch(t0), k = scaled(t, 2.0), first = scaled(k, 2.0), second = scaled(k, 3.0);
    tape.backward(first);
    CHECK(message<TapeError>([&] { tape.backward(second); }).starts_with("backward: this tape is spent"));
    CHECK(tape.grad(t).item() == 4.0);
  }
  {
    Tape tape;  // kept: as often as asked, each time the same
    const Tensor t = tape.watch(t0), k = scaled(t, 2.0), first = scaled(k, 2.0), second = scaled(k, 3.0);
    const double a = tape.gradients(first, {t}, {.keep = true})[0].item(), again = tape.gradients(first, {t}, {.keep = true})[0].item();
    CHECK(a + again == 8.0);
    CHECK(a + tape.gradients(second, {t}, {.keep = true})[0].item() == 10.0);
    tape.backward(plus(first, second));
    CHECK(tape.grad(t).item() == 10.0);
  }
}

TEST_CASE("a loss that depends on nothing is an error, with a reason") {
  Tape tape;
  const std::string text =
      "backward: the loss depends on no parameter and no watched tensor of this tape. Compute it while the tape records, without "
      "stop_gradient";
  CHECK(message<TapeError>([&] { tape.backward(scaled(one, 2.0)); }) == text);
  const Tensor x = tape.watch(one);
  CHECK(message<TapeError>([&] { tape.backward(stop_gradient(x)); }) == text);
  CHECK_FALSE(tape.spent());
  tape.backward(x);
  CHECK(tape.grad(x).item() == 1.0);
}

TEST_CASE("gradients and grad name what was not watched") {
  Tape tape;
  const Tensor x = tape.watch(ones), y = scaled(x, 2.0), z = scaled(x, 1.0), unused = tape.watch(ones);
  CHECK(message<TapeError>([&] { tape.gradients(y, {Tensor(ones)}, ones); }) ==
        "gradients: an x of shape [2] has no place on this tape. Use the tensor that watch(x) returned");
  CHECK(message<ShapeError>([&] { tape.gradients(y, {x}, one); }) == "gradients: the gradient must have y's shape; got y [2], dy []");
  CHECK(message<DTypeError>([&] { tape.gradients(y, {x}, ones.cast(DType::float32)); }) ==
        "gradients: the gradient must have y's dtype; got y float64, dy float32. Use cast()");
  CHECK(message<TapeError>([&] { tape.gradients(y, {x}); }) ==
        "gradients: the loss must be one number; got [2]. Reduce it with sum() or mean(), or give its gradient: gradients(y, …, dy)");
  CHECK(message<TapeError>([&] { tape.grad(x); }) ==
        "grad: backward has not run yet, so there is no gradient to read. Call backward(loss) first");
  CHECK_FALSE(tape.spent());
  tape.backward(y, ones);
  CHECK(message<TapeError>([&] { tape.grad(z); }) ==
        "grad: this tensor of shape [2] was not watched by this tape. Call watch(x) before backward");
  CHECK(message<TapeError>([&] { tape.grad(ones); }).starts_with("grad: this tensor of shape [2] was not watched"));
  CHECK_FALSE(tape.grad(unused));  // watched, but the loss did not depend on it
}

TEST_CASE("a recorded tensor may be watched: it keeps its gradient, and so do those before it") {
  Tape tape;
  const Tensor x = tape.watch(ones), y = tape.watch(scaled(x, 2.0)), z = scaled(y, 3.0);
  tape.backward(z, ones);
  CHECK(tape.grad(y).to_vector() == std::vector<double>{3, 3});
  CHECK(tape.grad(x).to_vector() == std::vector<double>{6, 6});
}

TEST_CASE("a tensor of a tape that has ended: read, use without a tape, never under another") {
  Tensor old;
  {
    Tape tape;
    old = scaled(tape.watch(ones), 2.0);
  }
  CHECK(old.value().to_vector() == std::vector<double>{2, 2});
  CHECK(scaled(old, 2.0).value().to_vector() == std::vector<double>{4, 4});
  Tape tape;
  CHECK(message<TapeError>([&] { scaled(old, 2.0); }) == ended);
  CHECK(message<TapeError>([&] { tape.watch(old); }).starts_with("watch: an input of shape [2] belongs to a tape that has ended"));
  CHECK(message<TapeError>([&] {
          tape.backward(old, ones);
        }).starts_with("backward: an input of shape [2] belongs to a tape that has ended"));
  const Tensor x = tape.watch(stop_gradient(old)), y = scaled(x, 2.0);
  tape.backward(y, ones);
  CHECK(tape.grad(x).to_vector() == std::vector<double>{2, 2});
}

TEST_CASE("a tensor of another thread's tape is refused") {
  Tape tape;
  const Tensor x = tape.watch(ones);
  std::string text;
  std::thread([&] {
    Tape mine;
    text = message<TapeError>([&] { scaled(x, 2.0); });
  }).join();
  CHECK(text == ended);
  std::thread([&] { text = scaled(x, 2.0).recorded() ? "recorded" : "constant"; }).join();  // no tape there
  CHECK(text == "constant");
}

TEST_CASE("an inner tape refuses an outer one's tensors, names both cures, and steps aside when spent") {
  Tape outer;
  const Tensor x = outer.watch(ones), y = scaled(x, 2.0);
  {
    Tape inner;
    CHECK(Tape::current() == &inner);
    CHECK(message<TapeError>([&] { scaled(y, 3.0); }) ==
          "scaled: an input of shape [2] belongs to an outer tape, and this inner one would lose its gradient. Use stop_gradient(x), or "
          "watch(stop_gradient(x)) to ask this tape for its gradient");
    const Tensor own = inner.watch(stop_gradient(y));
    inner.backward(scaled(own, 5.0), ones);
    CHECK(inner.grad(own).to_vector() == std::vector<double>{5, 5});
    CHECK(Tape::current() == &outer);
    CHECK(scaled(y, 3.0).recorded());  // while the spent one is still in scope
  }
  outer.backward(scaled(y, 3.0), ones);
  CHECK(outer.grad(x).to_vector() == std::vector<double>{6, 6});
}

TEST_CASE("NoTape records nothing, without dropout, inside its scope") {
  Parameter p(ones);
  Rng rng(1);
  Tape tape(rng);
  {
    const NoTape no_tape;
    CHECK_FALSE(scaled(p, 2.0).recorded());
    CHECK(Tape::dropout_rng("dropout", 0.5) == nullptr);
    Tape inner;
    CHECK(scaled(p, 2.0).recorded());
    CHECK(Tape::current() == &inner);
  }
  CHECK(scaled(p, 2.0).recorded());
  CHECK(Tape::dropout_rng("dropout", 0.5) == &rng);
}

TEST_CASE("tapes that end out of order unlink themselves") {
  Parameter p(ones);
  auto first = std::make_unique<Tape>(), second = std::make_unique<Tape>();
  auto third = std::make_unique<Tape>();
  second.reset();
  CHECK(Tape::current() == third.get());
  first.reset();
  CHECK(Tape::current() == third.get());
  third->backward(scaled(p, 2.0), ones);
  CHECK(p.grad().to_vector() == std::vector<double>{2, 2});
  CHECK(Tape::current() == nullptr);
  third.reset();
  CHECK_FALSE(scaled(p, 2.0).recorded());
}

TEST_CASE("dropout without randomness names both cures") {
  {
    Tape tape;
    CHECK(message<TapeError>([] { Tape::dropout_rng("dropout", 0.25); }) ==
          "dropout: this tape has no randomness for p = 0.25. Write Tape tape(rng) to train with dropout, or Tape tape(Tape::no_dropout)");
    CHECK(Tape::dropout_rng("dropout", 0.0) == nullptr);
  }
  Tape tape(Tape::no_dropout);
  CHECK(Tape::dropout_rng("dropout", 0.25) == nullptr);
}

TEST_CASE("the engine checks what a derivative returns, and names its op") {
  const auto swept = [](auto derivative) {
    Tape tape;
    tape.backward(custom(tape.watch(ones), derivative), ones);
  };
  CHECK(message<ShapeError>([&] { swept([](const Array&) { return Array::zeros({3}, DType::float64); }); }) ==
        "custom: its derivative must have the input's shape; got [3] for [2]");
  CHECK(message<DTypeError>([&] { swept([](const Array&) { return Array::zeros({2}); }); }) ==
        "custom: its derivative must have the input's dtype; got float32 for float64");
  CHECK(message<ValueError>([&] { swept([](const Array&) { return Array(); }); }) ==
        "custom: its derivative returned nothing for an input that needs a gradient");
}

TEST_CASE("an exception in forward leaves the tape usable") {
  Parameter p(ones);
  Tape tape;
  const Tensor y = scaled(p, 2.0);
  CHECK_THROWS_AS(plus(y, Array::zeros({3}, DType::float64)), ShapeError);
  tape.backward(plus(y, y), ones);
  CHECK(p.grad().to_vector() == std::vector<double>{4, 4});
}

TEST_CASE("an exception in backward leaves the tape spent, with the gradients that had been added") {
  Parameter early(ones), late(ones);
  Tape tape;
  const Tensor broken = custom(scaled(early, 2.0), [](const Array&) -> Array { throw std::runtime_error("stop"); });
  const Tensor y = plus(broken, scaled(late, 3.0));
  CHECK(message<std::runtime_error>([&] { tape.backward(y, ones); }) == "stop");
  CHECK(tape.spent());
  CHECK(late.grad().to_vector() == std::vector<double>{3, 3});
  CHECK_FALSE(early.grad());
  CHECK(message<TapeError>([&] { tape.backward(y, ones); }).starts_with("backward: this tape is spent"));
  late.ref().grad() = Array();
  Tape next;
  next.backward(scaled(late, 5.0), ones);
  CHECK(late.grad().to_vector() == std::vector<double>{5, 5});
}

TEST_CASE("backward adds to grad(): two tapes, twice the gradient; a shared buffer is not added into") {
  Parameter p(ones);
  for (int i = 0; i < 2; ++i) {
    Tape tape;
    tape.backward(scaled(p, 2.0), ones);
  }
  CHECK(p.grad().to_vector() == std::vector<double>{4, 4});
  const Array kept = p.grad();
  Tape tape;
  tape.backward(scaled(p, 2.0), ones);
  CHECK(kept.to_vector() == std::vector<double>{4, 4});
  CHECK(p.grad().to_vector() == std::vector<double>{6, 6});
}

TEST_CASE("AG-21: saved output modified in place", "[case]") {
  const Array x0 = Array::of({3}, {1, 2, 3}, DType::float64);
  const auto sigmoid = [](const Tensor& x) {
    Array y = x.value();
    y.write<double>([](std::span<double> v) {
      for (double& each : v) each = 1 / (1 + std::exp(-each));
    });
    return record("sigmoid", y, wrt(x, [Y = y](const Array& dy) {
                    Array dx = Y;
                    for (Dim i = 0; i < 3; ++i)
                      dx.mutable_data<double>()[i] = dy.data<double>()[i] * Y.data<double>()[i] * (1 - Y.data<double>()[i]);
                    return dx;
                  }));
  };
  Tape tape;
  const Tensor x = tape.watch(x0), y = sigmoid(x);
  Array doubled = y.value();
  doubled.write<double>([](std::span<double> v) {
    for (double& each : v) each *= 2;
    v[1] = 2;
  });
  CHECK(doubled.at({1}) == 2);
  CHECK(y.value().at({1}) == Catch::Approx(0.880797).epsilon(1e-6));
  tape.backward(scaled(y, 2.0), Array::ones({3}, DType::float64));
  const double expected[] = {0.393224, 0.209987, 0.090353};
  for (Dim i = 0; i < 3; ++i) CHECK(tape.grad(x).at({i}) == Catch::Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("a million nodes, recorded and swept", "[slow]") {
  Parameter p(one);
  Tape tape;
  Tensor y = p;
  for (int i = 0; i < 1'000'000; ++i) y = scaled(y, i % 2 == 0 ? 2.0 : 0.5);
  CHECK(tape.nodes() == 1'000'001);
  tape.backward(y);
  CHECK(p.grad().item() == 1.0);
}
