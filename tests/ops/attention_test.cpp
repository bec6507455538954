#include "attention_reference.hpp"

#include <tapeform/core/error.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/parallel.hpp>

#include "catch.hpp"
#include "threads.hpp"

using namespace attention_reference;

namespace {

Mask random_table(Rng& rng, const Shape& shape, double hidden = 0.3) {
  std::vector<bool> table;
  for (Dim i = 0; i < shape.numel(); ++i) table.push_back(rng.uniform() >= hidden);
  return Mask::allow(table, shape);
}

Ids random_lens(Rng& rng, const Shape& shape, Dim longest) {
  Ids lens = Ids::full(shape, 0);
  lens.write([&](std::span<std::int64_t> values) {
    for (auto& length : values) length = rng.below(longest + 1);
  });
  return lens;
}

// Every kind of mask that fits.
std::vector<Mask> masks_for(Rng& rng, Dim B, Dim H, Dim Tq, Dim Tk) {
  const Mask lens = Mask::valid_lens(random_lens(rng, {B}, Tk)), queries = Mask::valid_lens(random_lens(rng, {B, Tq}, Tk));
  const Mask table = random_table(rng, {Tq, Tk}), samples = random_table(rng, {B, Tq, Tk}), heads = random_table(rng, {B, H, Tq, Tk});
  const Mask keys = random_table(rng, {B, 1, 1, Tk});
  return {Mask(), lens, queries, Mask::causal(), table, samples, heads, keys, Mask::causal() & lens, heads & queries & Mask::causal()};
}

}  // namespace

TEST_CASE("attention equals its definition under every mask, forward and backward") {
  Rng rng(11);
  const Dim sizes[][2] = {{1, 1}, {7, 7}, {8, 8}, {9, 9}, {17, 17}, {33, 33}, {65, 65}, {1, 9}, {9, 1}, {7, 33}, {33, 8}, {17, 65}};
  for (const auto& [Tq, Tk] : sizes) {
    Problem p = random_problem(rng, 2, 3, Tq, Tk, 12, 6);
    for (const Mask& mask : masks_for(rng, p.B, p.H, Tq, Tk)) {
      p.mask = mask;
      const Answer expected = answer(p);
      CHECK(worst_difference(run(p), expected) < 1e-13);
      CHECK(worst_difference(run(cast(p, DType::float32)), expected) < 3e-6);
    }
  }
}

TEST_CASE("attention on both sides of a tile of queries, with valid lengths there too") {
  Rng rng(12);
  for (const Dim T : {63, 64, 65, 127, 128, 129}) {
    Problem p = random_problem(rng, 2, 1, T, T, 5, 3);
    for (const Dim length : {Dim{63}, std::min<Dim>(64, T), std::min<Dim>(65, T)}) {
      p.mask = Mask::valid_lens({length, T}) & Mask::causal();
      CHECK(worst_difference(run(p), answer(p)) < 1e-13);
      p.mask = Mask::valid_lens({T, length});
      CHECK(worst_difference(run(p), answer(p)) < 1e-13);
    }
  }
}

TEST_CASE("attention on both sides of a tile of keys, with valid lengths there too") {
  Rng rng(13);
  for (const Dim Tk : {255, 256, 257, 511, 512, 513})
    for (const Dim Tq : {Dim{5}, Dim{65}, Tk}) {
      Problem p = random_problem(rng, 2, 1, Tq, Tk, 3, 2);
      for (const Dim length : {Dim{255}, std::min<Dim>(256, Tk), std::min<Dim>(257, Tk)}) {
        p.mask = Mask::valid_lens({length, Tk});
        CHECK(worst_difference(run(p), answer(p)) < 1e-13);
      }
      p.mask = Mask::causal();
      CHECK(worst_difference(run(p), answer(p)) < 1e-13);
      p.mask = random_table(rng, {Tq, Tk}, 0.9);
      CHECK(worst_difference(run(p), answer(p)) < 1e-13);
    }
}

TEST_CASE("a maximum that grows, falls or comes late, over many tiles of keys") {
  Rng rng(27);
  const Dim Tk = 1100;
  Problem p = random_problem(rng, 1, 1, 4, Tk, 1, 3);
  p.q = Array::of({1, 4, 1}, {1, -1, 0, 40}, DType::float64);
  p.k.write<double>([](std::span<double> k) {
    for (std::size_t j = 0; j < k.size(); ++j) k[j] = 0.1 * static_cast<double>(j) + (j == 700 ? 300 : 0);
  });
  CHECK(worst_difference(run(p), answer(p)) < 1e-12);
  // Nothing to see in the first tiles, and in all of them.
  std::vector<bool> table(static_cast<std::size_t>(4 * Tk), false);
  for (Dim j = 600; j < 620; ++j) table[static_cast<std::size_t>(j)] = table[static_cast<std::size_t>(2 * Tk + j)] = true;
  p.mask = Mask::allow(table, {4, Tk});
  CHECK(worst_difference(run(p), answer(p)) < 1e-12);
}

TEST_CASE("widths of 1, 7, 8, 9, 17, 33 and 65 a head") {
  Rng rng(14);
  for (const Dim d : {1, 7, 8, 9, 17, 33, 65}) {
    Problem p = random_problem(rng, 1, 2, 9, 11, 2 * d, 2 * (d + 1));
    p.mask = Mask::valid_lens({7});
    CHECK(worst_difference(run(p), answer(p)) < 1e-13);
    CHECK(worst_difference(run(cast(p, DType::float32)), answer(p)) < 3e-6);
  }
}

TEST_CASE("no rows: empty batches, no queries, no keys") {
  Rng rng(15);
  for (const auto& [B, Tq, Tk] : {std::array<Dim, 3>{0, 4, 4}, {2, 0, 4}, {2, 4, 0}}) {
    const Answer got = run(random_problem(rng, B, 2, Tq, Tk, 4, 4));
    CHECK(got.out.shape() == Shape{B, Tq, 4});
    CHECK(got.dk.shape() == Shape{B, Tk, 4});
    for (const Array* x : {&got.out, &got.dq, &got.dk, &got.dv}) CHECK(tapeform::same_bits(*x, Array::zeros(x->shape(), DType::float64)));
  }
}

TEST_CASE("a bias is added to the scores, and has a gradient, however it is spread") {
  Rng rng(16);
  const Dim B = 2, H = 3, Tq = 70, Tk = 9;
  Problem p = random_problem(rng, B, H, Tq, Tk, 6, 6);
  p.mask = Mask::valid_lens({9, 4});
  const Shape shapes[] = {{Tq, Tk},       {1, Tk},        {Tq, 1},       {1, 1},       {B, H, Tq, Tk},
                          {1, H, Tq, Tk}, {B, 1, Tq, Tk}, {B, 1, 1, Tk}, {B, H, 1, 1}, {1, H, Tq, 1}};
  for (const Shape& shape : shapes) {
    const Array bias = normal(shape, 0, 1, rng, DType::float64);
    const auto place = [&](Dim b, Dim h, Dim i, Dim j) {
      const bool four = shape.rank() == 4;
      const Dim sizes[4] = {four ? shape[0] : 1, four ? shape[1] : 1, shape[-2], shape[-1]}, index[4] = {b, h, i, j};
      Dim at = 0;
      for (int axis = 0; axis < 4; ++axis) at = at * sizes[axis] + (sizes[axis] == 1 ? 0 : index[axis]);
      return static_cast<std::size_t>(at);
    };
    std::vector<double> full, summed(static_cast<std::size_t>(bias.numel()));
    const std::vector<double> given = bias.to_vector();
    for (Dim e = 0; e < B * H * Tq * Tk; ++e) full.push_back(given[place(e / (H * Tq * Tk), e / (Tq * Tk) % H, e / Tk % Tq, e % Tk)]);
    p.bias = Array::of({B, H, Tq, Tk}, std::span<const double>(full));
    const Answer expected = answer(p);
    const std::vector<double> dbias = expected.dbias.to_vector();
    for (Dim e = 0; e < B * H * Tq * Tk; ++e)
      summed[place(e / (H * Tq * Tk), e / (Tq * Tk) % H, e / Tk % Tq, e % Tk)] += dbias[static_cast<std::size_t>(e)];
    p.bias = bias;
    Answer got = run(p);
    const double off = shape[-1] == 1 ? 0 : difference(got.dbias, Array::of(shape, std::span<const double>(summed)));
    CHECK(off < 1e-12);
    if (shape[-1] == 1)  // shifts a row's scores: no gradient but what rounding leaves
      for (const double x : got.dbias.to_vector()) CHECK(std::abs(x) < 1e-13);
    got.dbias = Array();
    CHECK(worst_difference(got, expected) < 1e-13);
  }
}

TEST_CASE("a scale of one's own") {
  Rng rng(17);
  const Problem p = random_problem(rng, 1, 2, 5, 6, 8, 4);
  CHECK(worst_difference(run(p, {.scale = 0.3}), answer(p, 0.3)) < 1e-13);
  CHECK(worst_difference(run(p, {.scale = -2}), answer(p, -2)) < 1e-13);
}

TEST_CASE("packed projections give the same numbers, in one gradient") {
  Rng rng(18);
  const Dim B = 2, H = 2, T = 67, E = 6;
  Problem p = random_problem(rng, B, H, T, T, E, E);
  p.mask = Mask::causal() & Mask::valid_lens({67, 20});
  const Answer expected = run(p);
  const auto beside = [&](std::initializer_list<const Array*> parts, Dim rows) {
    std::vector<double> numbers;
    for (Dim r = 0; r < rows; ++r)
      for (const Array* part : parts) numbers.insert(numbers.end(), part->data<double>() + r * E, part->data<double>() + (r + 1) * E);
    return Array::of({B, rows / B, E * static_cast<Dim>(parts.size())}, std::span<const double>(numbers));
  };
  {
    Tape tape;
    const Tensor qkv = tape.watch(beside({&p.q, &p.k, &p.v}, B * T));
    const Tensor out = attention_qkv(qkv, {.heads = H, .mask = p.mask});
    tape.backward(out, p.dout);
    CHECK(tapeform::same_bits(out.value(), expected.out));
    CHECK(tapeform::same_bits(tape.grad(qkv), beside({&expected.dq, &expected.dk, &expected.dv}, B * T)));
  }
  {
    Tape tape;
    const Tensor q = tape.watch(p.q), kv = tape.watch(beside({&p.k, &p.v}, B * T));
    const Tensor out = attention_kv(q, kv, {.heads = H, .mask = p.mask});
    tape.backward(out, p.dout);
    CHECK(tapeform::same_bits(out.value(), expected.out));
    CHECK(tapeform::same_bits(tape.grad(q), expected.dq));
    CHECK(tapeform::same_bits(tape.grad(kv), beside({&expected.dk, &expected.dv}, B * T)));
  }
}

namespace {

Array packed(const Array& x, const Ids& lens) {
  std::vector<double> rows;
  const Dim T = x.dim(1), width = x.dim(2);
  for (Dim b = 0; b < lens.numel(); ++b)
    rows.insert(rows.end(), x.data<double>() + b * T * width, x.data<double>() + (b * T + lens[b]) * width);
  const Dim count = static_cast<Dim>(rows.size()) / width;
  return Array::of({count, width}, std::span<const double>(rows));
}

}  // namespace

TEST_CASE("packed rows equal padded ones without their padding") {
  Rng rng(19);
  const Ids q_lens{65, 0, 3, 64}, k_lens{7, 5, 0, 66};
  const Dim B = 4, H = 2, Tq = 65, Tk = 66;
  Problem p = random_problem(rng, B, H, Tq, Tk, 6, 4);
  p.bias = normal({B, H, Tq, Tk}, 0, 1, rng, DType::float64);
  p.mask = Mask::valid_lens(k_lens) & random_table(rng, {Tq, Tk});
  p.dout.write<double>([&](std::span<double> rows) {  // padded queries are in nobody's loss
    for (Dim b = 0; b < B; ++b)
      for (Dim i = q_lens[b]; i < Tq; ++i) std::fill_n(rows.data() + (b * Tq + i) * p.Ev, p.Ev, 0.0);
  });
  Rng for_padded(5), for_packed(5);
  const Answer padded = run(p, {.dropout = 0.3}, &for_padded);

  Tape tape(for_packed);
  Array weights;
  const Tensor q = tape.watch(packed(p.q, q_lens)), k = tape.watch(packed(p.k, k_lens)), v = tape.watch(packed(p.v, k_lens));
  const Tensor bias = tape.watch(p.bias);
  const Tensor out = attention(
      q, k, v, {.heads = H, .mask = p.mask, .bias = bias, .dropout = 0.3, .q_lens = q_lens, .k_lens = k_lens, .weights = &weights});
  tape.backward(out, packed(p.dout, q_lens));
  CHECK(difference(out.value(), packed(padded.out, q_lens)) < 1e-13);
  CHECK(difference(tape.grad(q), packed(padded.dq, q_lens)) < 1e-13);
  CHECK(difference(tape.grad(k), packed(padded.dk, k_lens)) < 1e-13);
  CHECK(difference(tape.grad(v), packed(padded.dv, k_lens)) < 1e-13);
  CHECK(difference(tape.grad(bias), padded.dbias) < 1e-13);
  CHECK(weights.shape() == Shape{B, H, Tq, Tk});
  const std::vector<double> got = weights.to_vector(), expected = padded.weights.to_vector();
  double worst = 0;
  for (Dim e = 0; e < weights.numel(); ++e) {
    const Dim b = e / (H * Tq * Tk), i = e / Tk % Tq;
    worst = std::max(worst, std::abs(got[static_cast<std::size_t>(e)] - (i < q_lens[b] ? expected[static_cast<std::size_t>(e)] : 0.0)));
  }
  CHECK(worst < 1e-14);
}

TEST_CASE("times of packed rows may be said, so that dropout and weights are those of the padded") {
  Rng rng(20);
  Problem p = random_problem(rng, 2, 1, 6, 6, 4, 4);
  const Ids lens{4, 2};
  p.mask = Mask::valid_lens(lens);
  Rng for_padded(5), for_packed(5);
  const Answer padded = run(p, {.dropout = 0.5}, &for_padded);
  Tape tape(for_packed);
  Array weights;
  const Tensor out =
      attention(packed(p.q, lens), packed(p.k, lens), packed(p.v, lens),
                {.mask = p.mask, .dropout = 0.5, .q_lens = lens, .k_lens = lens, .q_time = 6, .k_time = 6, .weights = &weights});
  CHECK(difference(out.value(), packed(padded.out, lens)) < 1e-14);
  CHECK(weights.shape() == Shape{2, 1, 6, 6});
  CHECK(for_padded.state() == for_packed.state());
}

TEST_CASE("attention has the same bits with one thread and two, and two work") {
  Rng rng(21);
  struct Size {
    Dim B, H, T, E;
  };
  for (const Size& size : {Size{3, 4, 130, 64}, Size{1, 1, 300, 32}, Size{1, 3, 200, 48}}) {
    Problem p = cast(random_problem(rng, size.B, size.H, size.T, size.T, size.E, size.E), DType::float32);
    p.bias = normal({1, size.H, size.T, size.T}, 0, 1, rng);
    p.mask = Mask::causal();
    Rng first(3);
    const Threads one(1);
    const Answer alone = run(p, {.dropout = 0.1}, &first);
    const Threads two(2);
    CHECK(until_helped([&] {
      Rng second(3);
      CHECK(same_bits(alone, run(p, {.dropout = 0.1}, &second)));
    }));
  }
}

TEST_CASE("asking for weights changes no bit of output and gradients") {
  Rng rng(22);
  Problem p = cast(random_problem(rng, 2, 2, 67, 70, 16, 16), DType::float32);
  p.mask = Mask::valid_lens({70, 3});
  Rng first(3), second(3);
  const Answer asked = run(p, {.dropout = 0.2}, &first);
  Tape tape(second);
  const Tensor q = tape.watch(p.q), k = tape.watch(p.k), v = tape.watch(p.v);
  const Tensor out = attention(q, k, v, {.heads = 2, .mask = p.mask, .dropout = 0.2});
  tape.backward(out, p.dout);
  CHECK(tapeform::same_bits(out.value(), asked.out));
  CHECK(tapeform::same_bits(tape.grad(q), asked.dq));
  CHECK(tapeform::same_bits(tape.grad(k), asked.dk));
  CHECK(tapeform::same_bits(tape.grad(v), asked.dv));
  Array weights;
  const Array with = attention(p.q, p.k, p.v, {.heads = 2, .mask = p.mask, .weights = &weights}).value();
  CHECK(tapeform::same_bits(attention(p.q, p.k, p.v, {.heads = 2, .mask = p.mask}).value(), with));
  CHECK(tapeform::same_bits(weights, asked.weights));  // before dropout
}

TEST_CASE("dropout of attention is the dropout of its weights, forward and backward") {
  Rng rng(23);
  for (const double rate : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    Problem p = random_problem(rng, 2, 3, 66, 9, 6, 3);
    p.mask = Mask::causal();
    p.bias = normal({2, 3, 66, 9}, 0, 1, rng, DType::float64);
    Rng draws(77);
    const Rng::State state = draws.state();
    const Answer got = run(p, {.dropout = rate}, &draws);
    // Element e of [B, H, Tq, Tk] is kept when lane e % 4 of block e / 4 is at least rate · 2³².
    std::vector<double> factors;
    for (Dim e = 0; e < 2 * 3 * 66 * 9; ++e) {
      const std::uint32_t lane =
          philox(state.position + static_cast<std::uint64_t>(e / 4), state.stream, state.seed)[static_cast<std::size_t>(e % 4)];
      factors.push_back(lane >= rate * 0x1p32 ? 1 / (1 - rate) : 0.0);
    }
    p.factors = Array::of({2, 3, 66, 9}, std::span<const double>(factors));
    CHECK(worst_difference(got, answer(p)) < 1e-12);
    CHECK(draws.state().position == state.position + (rate > 0 ? 2 * 3 * 66 * 9 / 4 : 0));
  }
}

TEST_CASE("only what needs a gradient gets one") {
  Rng rng(24);
  const Problem p = random_problem(rng, 1, 2, 70, 66, 4, 4);
  const Answer expected = run(p);
  for (int watched = 0; watched < 3; ++watched) {
    Tape tape;
    const Tensor q = watched == 0 ? tape.watch(p.q) : Tensor(p.q), k = watched == 1 ? tape.watch(p.k) : Tensor(p.k),
                 v = watched == 2 ? tape.watch(p.v) : Tensor(p.v);
    tape.backward(attention(q, k, v, {.heads = 2}), p.dout);
    const Tensor& x = watched == 0 ? q : watched == 1 ? k : v;
    CHECK(tapeform::same_bits(tape.grad(x), watched == 0 ? expected.dq : watched == 1 ? expected.dk : expected.dv));
  }
  CHECK_FALSE(attention(p.q, p.k, p.v).recorded());
}

TEST_CASE("one tensor as query, key and value gets the sum of the three gradients") {
  Rng rng(25);
  Problem p = random_problem(rng, 2, 2, 9, 9, 6, 6);
  p.k = p.v = p.q;
  const Answer expected = answer(p);
  Array sum = expected.dq;
  sum += expected.dk;
  sum += expected.dv;
  Tape tape;
  const Tensor x = tape.watch(p.q);
  tape.backward(attention(x, x, x, {.heads = 2}), p.dout);
  CHECK(difference(tape.grad(x), sum) < 1e-13);
}

TEST_CASE("heads equal attentions of their own on their columns") {
  Rng rng(26);
  const Dim H = 3, d = 4, T = 66;
  Problem p = random_problem(rng, 2, H, T, T, H * d, H * d);
  p.mask = Mask::causal();
  const Answer together = run(p);
  const auto columns = [&](const Array& x, Dim h) {
    std::vector<double> numbers;
    for (Dim r = 0; r < 2 * T; ++r)
      numbers.insert(numbers.end(), x.data<double>() + r * H * d + h * d, x.data<double>() + r * H * d + (h + 1) * d);
    return Array::of({2, T, d}, std::span<const double>(numbers));
  };
  for (Dim h = 0; h < H; ++h) {
    Problem one{2, 1, T, T, d, d, columns(p.q, h), columns(p.k, h), columns(p.v, h), columns(p.dout, h), p.mask};
    const Answer alone = run(one);
    CHECK(difference(columns(together.out, h), alone.out) < 1e-12);
    CHECK(difference(columns(together.dq, h), alone.dq) < 1e-12);
    CHECK(difference(columns(together.dk, h), alone.dk) < 1e-12);
    CHECK(difference(columns(together.dv, h), alone.dv) < 1e-12);
  }
}
