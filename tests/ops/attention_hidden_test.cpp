#include "attention_reference.hpp"

#include "catch.hpp"

using namespace attention_reference;

TEST_CASE("MA-22: hidden NaN and inf reach nothing", "[case]") {
  const Array x = doubles({1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  Problem p{1, 1, 2, 2, 4, 4, x, x, x, Array::ones({1, 2, 4}, DType::float64)};
  p.mask = Mask::block(std::vector<bool>{false, true, false, true}, {2, 2});
  for (const DType dtype : {DType::float64, DType::float32}) {
    const Problem clean = cast(p, dtype);
    const Answer expected = run(clean);
    CHECK(expected.out.to_vector() == std::vector<double>{0, 1, 2, 3, 0, 1, 2, 3});
    CHECK(expected.dv.to_vector() == std::vector<double>{2, 2, 2, 2, 0, 0, 0, 0});
    for (const double fill : {1e10, 1e30, infinity, -infinity, not_a_number}) {
      Problem filled = clean;
      filled.k = with_row(clean.k, 0, 1, fill);
      filled.v = with_row(clean.v, 0, 1, fill);
      CHECK(same_bits(run(filled), expected));
    }
  }
}

TEST_CASE("a future key and value change no bit of what came before, forward and backward") {
  Rng rng(116);
  for (const DType dtype : {DType::float64, DType::float32})
    for (const Dim T : {3, 17, 70, 400})
      for (const double rate : {0.0, 0.3}) {
        Problem p = random_problem(rng, 2, 2, T, T, 10, 8);
        p.bias = normal({1, 2, T, T}, 0, 1, rng, DType::float64);
        p.mask = Mask::causal();
        p = cast(p, dtype);
        const Dim future = 2 * T / 3;
        Problem past = p;  // only queries before it are in the loss of sample 0
        for (Dim i = future; i < T; ++i) past.dout = with_row(past.dout, 0, i, 0);
        Rng a(1), b(1);
        const Answer all = run(p, {.dropout = rate}, &a), before = run(past, {.dropout = rate}, &b);
        for (const double fill : {1e30, infinity, -infinity, not_a_number}) {
          const auto fill_future = [&](Problem problem) {
            problem.q = with_row(problem.q, 0, future, fill);  // as in self-attention, where one row makes all three
            problem.k = with_row(problem.k, 0, future, fill);
            problem.v = with_row(problem.v, 0, future, fill);
            return problem;
          };
          Rng c(1), d(1);
          const Answer filled = run(fill_future(p), {.dropout = rate}, &c), filled_before = run(fill_future(past), {.dropout = rate}, &d);
          // Results, weights and query gradients of earlier queries; everything of the other sample.
          CHECK(same_rows(filled.out.reshape({2 * T, 8}), all.out.reshape({2 * T, 8}), 0, future));
          CHECK(same_rows(filled.dq.reshape({2 * T, 10}), all.dq.reshape({2 * T, 10}), 0, future));
          for (Dim h = 0; h < 2; ++h)
            CHECK(same_rows(filled.weights.reshape({4 * T, T}), all.weights.reshape({4 * T, T}), h * T, h * T + future));
          CHECK(same_rows(filled.dk, all.dk, 1, 2));
          CHECK(same_rows(filled.dv, all.dv, 1, 2));
          // All gradients of a loss that has only earlier queries.
          CHECK(tapeform::same_bits(filled_before.dq, before.dq));
          CHECK(tapeform::same_bits(filled_before.dk, before.dk));
          CHECK(tapeform::same_bits(filled_before.dv, before.dv));
          CHECK(tapeform::same_bits(filled_before.dbias, before.dbias));
          // Those that see it get what it holds, and pass 0 to what is hidden from them.
          if (fill != 1e30) CHECK_FALSE(std::isfinite(filled.out.at({0, T - 1, 0})));
          const MaskRow last = p.mask.row(0, 0, future, T, T);
          for (Dim j = last.limit; j < T; ++j) CHECK(filled.weights.at({0, 0, future, j}) == 0);
        }
      }
}

TEST_CASE("keys and values hidden from all change no bit of anything") {
  Rng rng(117);
  for (const DType dtype : {DType::float64, DType::float32})
    for (const Dim T : {5, 33, 300}) {
      Problem p = random_problem(rng, 2, 2, T, T + 3, 8, 8);
      p.mask = Mask::valid_lens({T - 2, T + 3});
      p = cast(p, dtype);
      const Answer expected = run(p);
      for (const double fill : {1e30, infinity, -infinity, not_a_number}) {
        Problem filled = p;
        for (Dim j = T - 2; j < T + 3; ++j) {
          filled.k = with_row(filled.k, 0, j, fill);
          filled.v = with_row(filled.v, 0, j, fill);
        }
        CHECK(same_bits(run(filled), expected));
      }
    }
}

// A query that sees NaN is NaN throughout, and yet gives exact zeros to what a table or a bias hides from it.
TEST_CASE("a query that sees NaN passes nothing to keys that are hidden from it") {
  Rng rng(119);
  const Dim T = 9;
  Problem p = random_problem(rng, 1, 1, T, T, 4, 4);
  std::vector<bool> table(81, true);
  for (Dim j = 0; j < T; ++j) table[static_cast<std::size_t>(j)] = j % 2 == 0;     // query 0 sees even keys
  for (Dim i = 1; i < T; ++i) table[static_cast<std::size_t>(i * T + 4)] = false;  // it alone sees key 4
  p.bias = zeros({T, T});
  for (const bool by_bias : {false, true}) {
    if (by_bias)
      p.bias.write<double>([&table](std::span<double> bias) {
        for (std::size_t e = 0; e < bias.size(); ++e) bias[e] = table[e] ? 0 : -infinity;
      });
    p.mask = by_bias ? Mask() : Mask::allow(table, {T, T});
    const Answer expected = run(p);
    for (const double fill : {infinity, not_a_number}) {
      Problem filled = p;
      filled.k = with_row(p.k, 0, 4, fill);
      filled.v = with_row(p.v, 0, 4, fill);
      const Answer got = run(filled);
      for (Dim j = 0; j < T; ++j) {
        if (j % 2 == 0) continue;
        CHECK(got.weights.at({0, 0, 0, j}) == 0);
        CHECK(got.dbias.at({0, j}) == 0);
        CHECK(same_rows(got.dk.reshape({T, 4}), expected.dk.reshape({T, 4}), j, j + 1));
        CHECK(same_rows(got.dv.reshape({T, 4}), expected.dv.reshape({T, 4}), j, j + 1));
      }
      CHECK(same_rows(got.out.reshape({T, 4}), expected.out.reshape({T, 4}), 1, T));
      CHECK(same_rows(got.dq.reshape({T, 4}), expected.dq.reshape({T, 4}), 1, T));
      CHECK(std::isnan(got.out.at({0, 0, 0})));
    }
  }
}

// A loss gradient that overflowed in one row spoils what that row saw, and nothing else.
TEST_CASE("a NaN gradient of one query reaches the keys that it sees alone") {
  Rng rng(118);
  const Dim T = 70;
  Problem p = random_problem(rng, 1, 1, T, T, 4, 4);
  p.mask = Mask::causal();
  const Answer expected = run(p);
  p.dout = with_row(p.dout, 0, 20, not_a_number);
  const Answer got = run(p);
  const auto rows = [](const Array& x) { return x.reshape({T, 4}); };
  CHECK(same_rows(rows(got.dk), rows(expected.dk), 21, T));
  CHECK(same_rows(rows(got.dv), rows(expected.dv), 21, T));
  CHECK(same_rows(rows(got.dq), rows(expected.dq), 0, 20));
  CHECK(same_rows(rows(got.dq), rows(expected.dq), 21, T));
  for (Dim j = 0; j <= 20; ++j) CHECK(std::isnan(got.dv.at({0, j, 0})));
}
