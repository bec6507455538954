#include <tapeform/core/checkpoint.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;

namespace {

Array drawn(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed);
  return normal(shape, 0, 1, rng);
}

/// What one step leaves behind: the loss, and the gradients of a watched input and of the parameters.
using Bits = std::vector<Array>;

bool same(const Bits& a, const Bits& b) {
  bool all = a.size() == b.size();
  for (std::size_t i = 0; all && i < a.size(); ++i) all = same_bits(a[i], b[i]);
  return all;
}

/// Two maps with dropout between them and a parameter that is used twice.
struct Block {
  Parameter weight{drawn({6, 6}, 1)}, gain{drawn({6}, 2)};
  double p = 0.3;
  Tensor operator()(const Tensor& x) const { return linear(dropout(tanh(linear(x, weight) * Tensor(gain)), p), weight) + x; }
};

/// f(tape, x) on a fresh tape, backward from it.
template <class F>
Bits step(const std::vector<const Parameter*>& parameters, const Array& x0, const F& f) {
  for (const Parameter* parameter : parameters) parameter->ref().grad() = Array();
  Rng rng(11);
  Tape tape(rng);
  const Tensor x = tape.watch(x0);
  const Tensor loss = f(x);
  tape.backward(loss);
  Bits bits{loss.value(), tape.grad(x), Array::full({}, static_cast<double>(rng.state().position))};
  for (const Parameter* parameter : parameters) bits.push_back(parameter->grad());
  return bits;
}

}  // namespace

TEST_CASE("replay: losses, gradients and random numbers have the bits of the run without it") {
  const Block first, second;
  const std::vector<const Parameter*> parameters{&first.weight, &first.gain, &second.weight, &second.gain};
  const Array x0 = drawn({5, 6}, 3);
  // Everything is used in several places, within calls and between them, so that the order of additions shows.
  const auto plain = [&](const Tensor& x) {
    const Tensor a = first(x), b = second(a * x), c = first(b);
    return sum(linear(c * a + x, first.weight) * Tensor(second.gain));
  };
  const auto saving = [&](const Tensor& x) {
    const Tensor a = checkpoint(first, x), b = checkpoint(second, a * x), c = checkpoint(first, b);
    return sum(linear(c * a + x, first.weight) * Tensor(second.gain));
  };
  const auto both = [&](const Tensor& y) { return checkpoint(second, checkpoint(first, y) * y); };  // outlives backward, as a module does
  const auto nested = [&](const Tensor& x) {
    const Tensor b = checkpoint(both, x), c = checkpoint(first, b);
    return sum(c + x);
  };
  const auto nested_plain = [&](const Tensor& x) { return sum(first(second(first(x) * x)) + x); };
  CHECK(same(step(parameters, x0, plain), step(parameters, x0, saving)));
  CHECK(same(step(parameters, x0, nested_plain), step(parameters, x0, nested)));
}

TEST_CASE("replay: one tensor in two places, a parameter as an argument, constants, arguments that are copied") {
  const Block block;
  const Array x0 = drawn({5, 6}, 3);
  const auto mixed = [](const Tensor& a, const Tensor& b, const Ids& rows, const Tensor& w, double factor) {
    return linear(a.is_same(b) ? a * b : a - b, w) * factor + embedding(w, rows);
  };
  const Ids rows{1, 0, 1, 5, 1};
  const std::vector<const Parameter*> parameters{&block.weight};
  for (const bool tied : {true, false}) {
    const auto run = [&](bool saving) {
      return step(parameters, x0, [&](const Tensor& x) {
        const Tensor other = tied ? x : Tensor(x0);
        const Tensor y = saving ? checkpoint(mixed, x, other, rows, block.weight, 1.5) : mixed(x, other, rows, block.weight, 1.5);
        return sum(y * linear(x, block.weight));
      });
    };
    CHECK(same(run(false), run(true)));
  }
}

TEST_CASE("replay: a parameter that is both an argument and the module's own has one gradient") {
  const Block block;
  const auto tied = [&block](const Tensor& x, const Tensor& w) { return linear(tanh(linear(x, block.weight)), w) + linear(x, w); };
  const auto run = [&](bool saving) {
    return step({&block.weight}, drawn({5, 6}, 3), [&](const Tensor& x) {
      const Tensor y = saving ? checkpoint(tied, x, block.weight) : tied(x, block.weight);
      return sum(linear(y, block.weight));
    });
  };
  CHECK(same(run(false), run(true)));
}

TEST_CASE("replay: what passes through unchanged stays what it is") {
  const Block block;
  const auto identity = [](const Tensor& x) { return x; };
  const auto weight_of = [&block](const Tensor&) { return Tensor(block.weight); };
  const auto nothing_recorded = [](const Tensor& x) { return stop_gradient(x); };
  Tape tape;
  const Tensor x = tape.watch(drawn({6}, 1)), w = block.weight;
  CHECK(checkpoint(identity, x).is_same(x));
  CHECK(checkpoint(weight_of, x).is_same(w));
  CHECK_FALSE(checkpoint(nothing_recorded, x).recorded());
  const std::size_t nodes = tape.nodes();
  const Tensor constant = x.value();
  CHECK_FALSE(checkpoint(identity, constant).recorded());
  CHECK(tape.nodes() == nodes);
}

TEST_CASE("replay: gradients() writes no grad(), and may be asked twice") {
  const Block block;
  const Array kept = block.weight.ref().grad() = Array::full({6, 6}, 5);
  Rng rng(2);
  Tape tape(rng);
  const Tensor x = tape.watch(drawn({3, 6}, 5)), w = block.weight;
  const Tensor y = sum(checkpoint(block, x) + linear(x, w));
  const auto first = tape.gradients(y, {x, w}, {.keep = true});
  const auto second = tape.gradients(y, {x, w});
  CHECK(first[0]);
  CHECK(first[1]);
  CHECK(same(first, second));
  CHECK(block.weight.grad().is_same(kept));
  CHECK(kept.to_vector() == std::vector<double>(36, 5.0));
  CHECK_FALSE(block.gain.grad());

  Rng again(2);
  Tape plain(again);
  const Tensor x2 = plain.watch(x.value()), w2 = block.weight;
  CHECK(same(plain.gradients(sum(block(x2) + linear(x2, w2)), {x2, w2}), first));
}

TEST_CASE("replay: gradients agree with differences") {
  Parameter w(drawn({4, 4}, 1).cast(DType::float64));
  const auto call = [&w](const Tensor& x) { return tanh(linear(dropout(x, 0.4), w)); };
  const auto report =
      gradcheck([&](const Tensor& x) { return checkpoint(call, checkpoint(call, x)) * x; }, {drawn({3, 4}, 2).cast(DType::float64)});
  INFO(report.str());
  CHECK(report.ok(1e-11));
}

TEST_CASE("replay: without a tape, under NoTape and after backward it is the plain call") {
  const Block block;
  const Array x0 = drawn({2, 6}, 1);
  CHECK(same_bits(checkpoint(block, Tensor(x0)).value(), block(x0).value()));
  Tape tape(Tape::no_dropout);
  const Tensor x = tape.watch(x0);
  {
    const NoTape off;
    CHECK_FALSE(checkpoint(block, x).recorded());
  }
  const Tensor y = checkpoint(block, x);
  CHECK(same_bits(y.value(), block(x0).value()));
  tape.backward(sum(y));
  CHECK_FALSE(checkpoint(block, Tensor(x0)).recorded());
}

TEST_CASE("replay: what cannot be made again is an error") {
  Block block;
  const Array x0 = drawn({2, 6}, 1);
  {
    Tape tape(Tape::no_dropout);
    const Tensor x = tape.watch(x0), y = sum(checkpoint(block, x));
    block.weight.assign(drawn({6, 6}, 9));
    CHECK(
        message<TapeError>([&] { tape.backward(y); }) ==
        "checkpoint: a parameter of shape [6, 6] was written between forward and backward, so the call cannot be made again. Update after "
        "backward");
    CHECK(tape.spent());
  }
  {
    int calls = 0;
    const auto fickle = [&calls](const Tensor& x) { return ++calls == 1 ? scaled(x, 2) : slice(scaled(x, 2), 0, 0, 1); };
    Tape tape;
    const Tensor x = tape.watch(x0), y = sum(checkpoint(fickle, x));
    CHECK(message<TapeError>([&] {
            tape.backward(y);
          }).starts_with("checkpoint: the call gave another result when it was made again; got [2, 6] first, [1, 6] then."));
  }
  {
    Tape tape;
    const Tensor x = tape.watch(x0);
    const auto captures = [&x](const Tensor& y) { return plus(x, y); };
    CHECK(message<TapeError>([&] {
            checkpoint(captures, scaled(x, 2));
          }).starts_with("plus: an input of shape [2, 6] belongs to an outer tape"));
    tape.backward(sum(x));  // the tape is as usable as before
  }
  {
    Tape tape;
    const Tensor x = tape.watch(x0);
    CHECK(message<TapeError>([&] { checkpoint(block, x); }).starts_with("dropout: this tape has no randomness for p = 0.3."));
  }
}

TEST_CASE("replay: a tensor that is hidden in another argument is an error, not a lost gradient") {
  struct Options {
    Tensor bias;
  };
  const auto biased = [](const Tensor& x, const Options& options) { return plus(x, options.bias); };
  Tape tape;
  const Tensor x = tape.watch(drawn({2, 6}, 1)), bias = tape.watch(drawn({2, 6}, 2));
  CHECK(message<TapeError>([&] {
          checkpoint(biased, x, Options{bias});
        }).starts_with("plus: an input of shape [2, 6] belongs to an outer tape"));
  CHECK(checkpoint(biased, x, Options{stop_gradient(bias)}).recorded());
}

TEST_CASE("replay: a call that throws in backward leaves the gradients that had been added") {
  Parameter w(drawn({6, 6}, 1));
  bool broken = false;
  const auto call = [&](const Tensor& x) {
    if (broken) throw ValueError("stop");
    return linear(x, w);
  };
  Tape tape;
  const Tensor x = tape.watch(drawn({2, 6}, 2)), y = checkpoint(call, x);
  const Tensor loss = sum(y) + sum(scaled(x, 3.0)) + sum(linear(x, w));
  broken = true;
  CHECK(message<ValueError>([&] { tape.backward(loss); }) == "stop");
  CHECK(tape.spent());
  CHECK(w.grad());
  CHECK(tape.grad(x));
  CHECK_FALSE(detail::replaying());
}

TEST_CASE("replay: memory grows with the tensors between calls, not with what lies within them") {
  const auto deep = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 32; ++i) y = tanh(y);
    return y;
  };
  const Array x0 = drawn({(1 << 16) - 16}, 1);  // fills its size class
  const auto peak = [&](bool saving) {
    reset_peak_memory();
    const std::int64_t before = memory_stats().peak_live_bytes;  // of this thread what is live, of others their peaks
    Tape tape;
    Tensor y = tape.watch(x0);
    for (int i = 0; i < 16; ++i) y = saving ? checkpoint(deep, y) : deep(y);
    tape.backward(sum(y));
    return static_cast<double>(memory_stats().peak_live_bytes - before) / static_cast<double>(x0.numel() * 4);
  };
  CHECK(peak(false) > 16 * 32);
  CHECK(peak(true) < 16 + 32 + 8);
}

TEST_CASE("replay: two threads with a tape each") {
  const Block block;
  const Array x0 = drawn({4, 6}, 1);
  const auto gradient = [&] {
    Rng rng(3);
    Tape tape(rng);
    const Tensor x = tape.watch(x0);
    return tape.gradients(sum(checkpoint(block, checkpoint(block, x))), {x})[0];
  };
  const Array alone = gradient();
  Array other;
  std::thread thread([&] { other = gradient(); });
  const Array here = gradient();
  thread.join();
  CHECK(same_bits(here, alone));
  CHECK(same_bits(other, alone));
}
