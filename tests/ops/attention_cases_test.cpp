#include "attention_reference.hpp"

#include <tapeform/core/error.hpp>
#include <tapeform/core/memory.hpp>

#include "catch.hpp"
#include "message.hpp"

using namespace attention_reference;

// Projections of weight 1 are left out: their gradients are the products of x with those of q, k, v. The module's test has them.
TEST_CASE("MA-01: fully masked query row; backward", "[case]") {
  std::vector<bool> hidden;  // query i sees keys i − 1 and i; keys 2 and 3 of the first sequence are padding
  for (Dim b = 0; b < 2; ++b)
    for (Dim i = 0; i < 4; ++i)
      for (Dim j = 0; j < 4; ++j) hidden.push_back((j != i && j != i - 1) || (b == 0 && j >= 2));
  const Mask mask = Mask::block(hidden, {2, 4, 4});
  for (const double unused : {4.0, not_a_number, infinity}) {
    Problem p{2,   1, 4, 4, 1, 1, doubles({2, 4, 1}, {1, 2, 3, unused, 4, 3, 2, 1}), {}, {}, doubles({2, 4, 1}, {1, 1, 0, 0, 1, 1, 1, 1}),
              mask};
    p.k = p.v = p.q;
    if (unused != 4.0) p.q = p.k = p.v = with_row(p.q, 0, 2, unused);
    const Answer a = run(p);
    CHECK(a.out.at({0, 0, 0}) + a.out.at({0, 1, 0}) == Approx(2.8807971).epsilon(1e-7));
    double dwq = 0, dwk = 0, dwv = 0;
    for (Dim i = 0; i < 2; ++i) {
      dwq += a.dq.at({0, i, 0}) * p.q.at({0, i, 0});
      dwk += a.dk.at({0, i, 0}) * p.q.at({0, i, 0});
      dwv += a.dv.at({0, i, 0}) * p.q.at({0, i, 0});
    }
    CHECK(dwq == Approx(0.2099872).epsilon(1e-6));
    CHECK(dwk == Approx(0.2099872).epsilon(1e-6));
    CHECK(dwv == Approx(2.8807971).epsilon(1e-7));
    const double dx[4] = {0.909216, 1.195778, 0, 0};
    for (Dim i = 0; i < 4; ++i) CHECK(a.dq.at({0, i, 0}) + a.dk.at({0, i, 0}) + a.dv.at({0, i, 0}) == Approx(dx[i]).epsilon(1e-6));
    CHECK(row(a.weights.reshape({8, 4}), 3) == std::vector<double>{0, 0, 0, 0});
    CHECK(a.out.at({0, 3, 0}) == 0);
    // The clean sequence is what it is alone.
    Problem alone{1, 1, 4, 4, 1, 1, p.q.rows(1, 2), p.k.rows(1, 2), p.v.rows(1, 2), p.dout.rows(1, 2)};
    alone.mask = Mask::block(std::vector<bool>(hidden.begin() + 16, hidden.end()), {1, 4, 4});
    const Answer clean = run(alone);
    CHECK(difference(a.out.rows(1, 2), clean.out) < 1e-12);
    CHECK(difference(a.dq.rows(1, 2), clean.dq) < 1e-12);
    CHECK(difference(a.dk.rows(1, 2), clean.dk) < 1e-12);
    CHECK(difference(a.dv.rows(1, 2), clean.dv) < 1e-12);
  }
}

TEST_CASE("MA-03: valid length 0", "[case]") {
  Rng rng(3);
  Problem p = random_problem(rng, 2, 1, 2, 4, 3, 3);
  p.mask = Mask::valid_lens({0, 2});
  p.bias = zeros({2, 1, 2, 4});
  for (const DType dtype : {DType::float64, DType::float32}) {
    const Answer a = run(cast(p, dtype));
    CHECK(tapeform::same_bits(a.weights.rows(0, 1), Array::zeros({1, 1, 2, 4}, dtype)));
    CHECK(tapeform::same_bits(a.out.rows(0, 1), Array::zeros({1, 2, 3}, dtype)));
    for (const Array* gradient : {&a.dq, &a.dk, &a.dv, &a.dbias})
      CHECK(tapeform::same_bits(gradient->rows(0, 1), Array::zeros(gradient->rows(0, 1).shape(), dtype)));
    for (Dim i = 0; i < 2; ++i) {
      CHECK(a.weights.at({1, 0, i, 2}) == 0);
      CHECK(a.weights.at({1, 0, i, 3}) == 0);
      CHECK(a.weights.at({1, 0, i, 0}) + a.weights.at({1, 0, i, 1}) == Approx(1));
    }
  }
}

TEST_CASE("MA-05: a hidden score wins over no sentinel", "[case]") {
  Problem p{
      1, 1, 1, 2, 1, 1, doubles({1, 1, 1}, {200}), doubles({1, 2, 1}, {-100, 0}), doubles({1, 2, 1}, {3, 5}), doubles({1, 1, 1}, {1})};
  p.mask = Mask::block(std::vector<bool>{false, true}, {1, 2});
  p.bias = zeros({1, 1, 1, 2});
  const Answer a = run(p, {.scale = 1});
  CHECK(a.weights.to_vector() == std::vector<double>{1, 0});
  CHECK(a.dbias.to_vector() == std::vector<double>{0, 0});
  CHECK(a.out.item() == 3);
}

// Through the function; the module's test has the other two.
TEST_CASE("MA-07: boolean mask polarity", "[case]") {
  Problem p = equal_scores(1, 1, 1, 3);
  p.mask = Mask::block(std::vector<bool>{false, false, true}, {1, 3});
  CHECK(weights_of(p).to_vector() == std::vector<double>{.5, .5, 0});
  p.mask = Mask::allow(std::vector<bool>{true, true, false}, {1, 3});
  CHECK(weights_of(p).to_vector() == std::vector<double>{.5, .5, 0});
  p.mask = Mask::allow(std::vector<bool>{false, false, true}, {1, 3});
  CHECK(weights_of(p).to_vector() == std::vector<double>{0, 0, 1});
  p.mask = Mask();
  p.bias = doubles({1, 3}, {0, 0, -infinity});
  CHECK(weights_of(p).to_vector() == std::vector<double>{.5, .5, 0});
}

TEST_CASE("MA-09: minus infinity in a bias hides", "[case]") {
  Problem p = equal_scores(1, 1, 1, 2);
  p.bias = doubles({1, 1, 1, 2}, {0, -infinity});
  CHECK(weights_of(p).to_vector() == std::vector<double>{1, 0});
  p.k = with_row(p.k, 0, 1, not_a_number);  // selected, as by a mask
  p.v = with_row(p.v, 0, 1, infinity);
  p.dout = Array::ones({1, 1, 1}, DType::float64);
  const Answer a = run(p);
  CHECK(a.weights.to_vector() == std::vector<double>{1, 0});
  CHECK(a.out.item() == 0);
  CHECK(a.dv.to_vector() == std::vector<double>{1, 0});
  CHECK(a.dk.to_vector() == std::vector<double>{0, 0});
  CHECK(a.dbias.to_vector() == std::vector<double>{0, 0});
  p.bias = doubles({1, 1}, {-infinity});  // one number for every key
  CHECK(weights_of(p).to_vector() == std::vector<double>{0, 0});
}

TEST_CASE("MA-11: padding and a rank-3 attention mask, weights", "[case]") {
  Problem p = equal_scores(1, 1, 5, 5);
  std::vector<bool> causal;
  for (Dim i = 0; i < 25; ++i) causal.push_back(i % 5 > i / 5);
  p.mask = Mask::block(causal, {1, 5, 5}) & Mask::valid_lens({4});
  const Array weights = weights_of(p).reshape({5, 5});
  CHECK(row(weights, 3) == std::vector<double>{.25, .25, .25, .25, 0});
  CHECK(row(weights, 4) == std::vector<double>{.25, .25, .25, .25, 0});
  CHECK(row(weights, 0) == std::vector<double>{1, 0, 0, 0, 0});
}

TEST_CASE("MA-12: all mask kinds at once", "[case]") {
  Rng rng(12);
  Problem p = random_problem(rng, 2, 3, 4, 5, 6, 6);
  const std::vector<bool> padding{false, false, false, true, true, false, false, false, false, true};
  const Mask pad = Mask::block(padding, {2, 1, 1, 5});
  p.bias = normal({2, 3, 4, 5}, 0, 1, rng, DType::float64);
  p.mask = pad & Mask::causal();
  const Answer a = run(p);
  Problem swapped = p;
  swapped.mask = Mask::causal() & pad;
  CHECK(same_bits(run(swapped), a));
  Problem combined = p;
  combined.mask = Mask();
  combined.bias.write<double>([&](std::span<double> bias) {
    for (Dim e = 0; e < 120; ++e)
      if (!p.mask.row(e / 60, e / 20 % 3, e / 5 % 4, 4, 5).sees(e % 5)) bias[static_cast<std::size_t>(e)] = -infinity;
  });
  CHECK(worst_difference(run(combined), a) < 1e-12);
  CHECK(worst_difference(a, answer(p)) < 1e-12);
}

TEST_CASE("MA-13: a mask of every sample and head stays with them", "[case]") {
  Rng rng(13);
  Problem p = random_problem(rng, 2, 2, 3, 3, 4, 4);
  std::vector<bool> table;
  for (Dim e = 0; e < 36; ++e) table.push_back(e >= 18 || e % 3 <= e / 3 % 3);  // sample 0 causal
  p.mask = Mask::allow(table, {2, 2, 3, 3});
  const Answer a = run(p);
  for (Dim b = 0; b < 2; ++b) {
    Problem alone{1, 2, 3, 3, 4, 4, p.q.rows(b, b + 1), p.k.rows(b, b + 1), p.v.rows(b, b + 1), p.dout.rows(b, b + 1)};
    if (b == 0) alone.mask = Mask::causal();
    const Answer own = run(alone);
    CHECK(difference(a.out.rows(b, b + 1), own.out) < 1e-12);
    CHECK(difference(a.dk.rows(b, b + 1), own.dk) < 1e-12);
    CHECK(difference(a.weights.rows(b, b + 1), own.weights) < 1e-12);
  }
}

TEST_CASE("MA-15: one length a sample; weights sum to 1 over keys", "[case]") {
  Rng rng(15);
  Problem p = random_problem(rng, 2, 2, 3, 3, 4, 4);
  p.mask = Mask::valid_lens({1, 3});
  const Array weights = weights_of(p).reshape({12, 3});  // [B·H·Tq, Tk]
  for (Dim r = 0; r < 12; ++r) {
    const std::vector<double> w = row(weights, r);
    CHECK(w[0] + w[1] + w[2] == Approx(1).epsilon(1e-12));
    if (r < 6) CHECK(w == std::vector<double>{1, 0, 0});
    if (r >= 6) CHECK((w[0] > 0 && w[1] > 0 && w[2] > 0));
  }
}

TEST_CASE("MA-16: attention refuses a mask of the wrong shape, with causal too", "[case]") {
  const Array x = Array::zeros({2, 8, 4});
  const Mask wrong = Mask::allow(std::vector<bool>(3, true), Shape{3, 1});
  for (const Mask& mask : {wrong, wrong & Mask::causal()})
    CHECK(message<ShapeError>([&] {
            attention(x, x, x, {.mask = mask});
          }).starts_with("attention: the mask must fit the scores [B, H, Tq, Tk]; got mask [3, 1], scores [2, 1, 8, 8]"));
}

TEST_CASE("MA-18: tables are spread over samples and heads without copies", "[case]") {
  Rng rng(18);
  Problem p = random_problem(rng, 2, 3, 4, 5, 6, 6);
  for (const Shape& shape : {Shape{4, 5}, Shape{1, 1, 4, 5}, Shape{2, 1, 4, 5}, Shape{1, 3, 4, 5}, Shape{2, 3, 4, 5}}) {
    std::vector<bool> table, full;
    for (Dim e = 0; e < shape.numel(); ++e) table.push_back(e % 5 == 0 || rng.uniform() < 0.5);
    const bool four = shape.rank() == 4;
    for (Dim e = 0; e < 120; ++e) {
      const Dim b = four && shape[0] > 1 ? e / 60 : 0, h = four && shape[1] > 1 ? e / 20 % 3 : 0, heads = four ? shape[1] : 1;
      full.push_back(table[static_cast<std::size_t>((b * heads + h) * 20 + e % 20)]);
    }
    p.mask = Mask::allow(table, shape);
    const Answer spread = run(p);
    p.mask = Mask::allow(full, {2, 3, 4, 5});
    CHECK(same_bits(spread, run(p)));
  }

  const Dim T = 2048;
  const Array x = normal({1, T, 12}, 0, 1, rng);
  const Array bias = Array::zeros({1, 1, T, T});  // 16 MiB
  const Mask mask = Mask::allow(std::vector<std::uint8_t>(static_cast<std::size_t>(T * T), 1), {1, 1, T, T});
  Tape tape;
  const Tensor q = tape.watch(x);
  reset_peak_memory();
  const std::int64_t before = memory_stats().live_bytes, peak = memory_stats().peak_live_bytes;
  const Tensor out = attention(q, x, x, {.heads = 12, .mask = mask, .bias = bias});
  CHECK(memory_stats().peak_live_bytes - peak < (std::int64_t{8} << 20));
  CHECK(memory_stats().live_bytes - before < (std::int64_t{1} << 20));  // what is saved for backward
}

TEST_CASE("MA-20: one new query sees the whole cache", "[case]") {
  Problem p = equal_scores(1, 1, 1, 8);
  p.mask = Mask::causal();
  CHECK(weights_of(p).to_vector() == std::vector<double>(8, .125));
  p = equal_scores(1, 1, 2, 5);
  p.mask = Mask::causal();
  CHECK(weights_of(p).to_vector() == std::vector<double>{.25, .25, .25, .25, 0, .2, .2, .2, .2, .2});
}

// The nearest thing to an eval switch is the absence of a tape.
TEST_CASE("MA-27: attention dropout is off without a tape, and draws nothing", "[case]") {
  Rng rng(27);
  const Array x = normal({2, 5, 8}, 0, 1, rng);
  const Array without = attention(x, x, x, {.heads = 2}).value();
  CHECK(tapeform::same_bits(attention(x, x, x, {.heads = 2, .dropout = 0.8}).value(), without));
  CHECK(tapeform::same_bits(attention(x, x, x, {.heads = 2, .dropout = 0.8}).value(), without));
  const Rng::State state = rng.state();
  Tape training(rng);
  {
    NoTape no_tape;
    CHECK(tapeform::same_bits(attention(x, x, x, {.heads = 2, .dropout = 0.8}).value(), without));
  }
  CHECK(rng.state() == state);
  CHECK_FALSE(tapeform::same_bits(attention(x, x, x, {.heads = 2, .dropout = 0.8}).value(), without));
}

TEST_CASE("MA-29: weights handed out are those before dropout", "[case]") {
  Rng rng(29);
  Problem p = random_problem(rng, 1, 2, 4, 4, 4, 4);
  p.mask = Mask::causal();
  const Array weights = run(p, {.dropout = 0.2}, &rng).weights.reshape({8, 4});
  for (Dim r = 0; r < 8; ++r) {
    const std::vector<double> w = row(weights, r);
    CHECK(w[0] + w[1] + w[2] + w[3] == Approx(1).epsilon(1e-12));
  }
  CHECK(row(weights, 0) == std::vector<double>{1, 0, 0, 0});
}

// Averages are the user's own: the weights are always [B, H, Tq, Tk].
TEST_CASE("MA-30: weights of every head", "[case]") {
  Problem p{1, 2, 1, 2, 2, 2, doubles({1, 1, 2}, {1000, 1000}), doubles({1, 2, 2}, {1, -1, -1, 1}), zeros({1, 2, 2}), zeros({1, 1, 2})};
  const Array weights = weights_of(p);
  CHECK(weights.shape() == Shape{1, 2, 1, 2});
  CHECK(weights.to_vector() == std::vector<double>{1, 0, 0, 1});
}

TEST_CASE("MA-35: the scale is that of a head's width", "[case]") {
  Problem p{1,
            2,
            1,
            2,
            4,
            4,
            Array::ones({1, 1, 4}, DType::float64),
            doubles({1, 2, 4}, {1, 1, 1, 1, 0, 0, 0, 0}),
            zeros({1, 2, 4}),
            zeros({1, 1, 4})};
  const Array weights = weights_of(p);
  for (Dim h = 0; h < 2; ++h) {
    CHECK(weights.at({0, h, 0, 0}) == Approx(0.804430).epsilon(1e-6));
    CHECK(weights.at({0, h, 0, 1}) == Approx(0.195570).epsilon(1e-5));
  }
}

TEST_CASE("MA-39: memory does not grow with the square of time, nor with layers", "[case][huge]") {
  Rng rng(39);
  const auto peak_of = [](const Array& x, int layers) {
    reset_peak_memory();
    const std::int64_t before = memory_stats().peak_live_bytes;
    Tensor h = x;
    for (int layer = 0; layer < layers; ++layer) h = attention(h, h, h, {.heads = 8, .mask = Mask::causal()});
    return memory_stats().peak_live_bytes - before;
  };
  const Dim T = 4096;
  const Array x = normal({1, T, 256}, 0, 1, rng);
  peak_of(x, 1);  // helpers keep the peak of their own
  const std::int64_t one = peak_of(x, 1), three = peak_of(x, 3);
  CHECK(one < (std::int64_t{16} << 20));  // one table of scores would be 512 MiB
  CHECK(three <= one + x.numel() * 4 + (1 << 20));

  // Training keeps the result and two numbers a row and head.
  const Array small = normal({1, 1024, 64}, 0, 1, rng);
  Tape tape;
  const Tensor q = tape.watch(small);
  const std::int64_t before = memory_stats().live_bytes;
  const Tensor out = attention(q, q, q, {.heads = 8});
  const std::int64_t kept = memory_stats().live_bytes - before;
  CHECK(kept <= 2 * (1024 * 64 * 4 + 1024 * 8 * 2 * 4));  // each a size class up at most
}

TEST_CASE("MA-39: weights that no memory holds: 512 samples of 200,000 by 200,000, asked for with one row each", "[case][huge]") {
  Array weights;
  const Array rows = Array::zeros({512, 1});
  const AttentionOptions options{
      .q_lens = Ids::full({512}, 1), .k_lens = Ids::full({512}, 1), .q_time = 200000, .k_time = 200000, .weights = &weights};
  CHECK_THROWS_AS(attention(rows, rows, rows, options), Error);
}
