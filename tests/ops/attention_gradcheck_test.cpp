#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/ops.hpp>

#include "attention_reference.hpp"
#include "catch.hpp"

using namespace attention_reference;

namespace {

/// The same attention of primitive ops: its specification, with [B, H, Tq, Tk] in memory.
Tensor composed(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const auto heads = [&](const Tensor& x) {
    return permute(reshape(x, {x.dim(0), x.dim(1), options.heads, x.dim(2) / options.heads}), {0, 2, 1, 3});  // [B, H, T, d]
  };
  const double scale = options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(q.dim(2) / options.heads));
  Tensor scores = scale * matmul(heads(q), heads(k), {.transpose_b = true});  // [B, H, Tq, Tk]
  if (options.bias) scores = scores + options.bias;
  const Tensor weights = masked_softmax(scores, options.mask);
  if (options.weights) *options.weights = weights.value();
  const Tensor context = permute(matmul(dropout(weights, options.dropout), heads(v)), {0, 2, 1, 3});  // [B, Tq, H, d]
  return reshape(context, {q.dim(0), q.dim(1), v.dim(2)});                                            // [B, Tq, Ev]
}

template <class Attention>
Answer run_with(const Attention& attend, const Problem& p, AttentionOptions options) {
  Rng draws(5);
  Tape tape(draws);
  Answer a;
  options.heads = p.H;
  options.mask = p.mask;
  options.weights = &a.weights;
  const Tensor q = tape.watch(p.q), k = tape.watch(p.k), v = tape.watch(p.v), bias = tape.watch(p.bias);
  options.bias = bias;
  const Tensor out = attend(q, k, v, options);
  tape.backward(out, p.dout);
  return {out.value(), a.weights, tape.grad(q), tape.grad(k), tape.grad(v), tape.grad(bias)};
}

Tensor fused(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) { return attention(q, k, v, options); }

}  // namespace

TEST_CASE("attention equals the tape of primitive ops, dropout and bias included") {
  Rng rng(31);
  for (const auto& [Tq, Tk] : {std::pair<Dim, Dim>{1, 1}, {8, 8}, {9, 17}, {65, 33}, {66, 70}})
    for (const double rate : {0.0, 0.25}) {
      Problem p = random_problem(rng, 2, 2, Tq, Tk, 8, 4);
      p.bias = normal({1, 2, Tq, Tk}, 0, 1, rng, DType::float64);
      p.mask = Mask::causal() & Mask::valid_lens({Tk, Tk / 2});
      const AttentionOptions options{.dropout = rate};
      CHECK(worst_difference(run_with(fused, p, options), run_with(composed, p, options)) < 1e-12);
      const Problem narrow = cast(p, DType::float32);
      CHECK(worst_difference(run_with(fused, narrow, options), run_with(composed, narrow, options)) < 5e-6);
    }
}

TEST_CASE("gradcheck of attention") {
  Rng rng(32);
  const std::vector<bool> table{true, false, true,  true, true, false, false, false, true, true,
                                true, true,  false, true, true, true,  true,  true,  true, false};
  const Mask masks[] = {Mask(), Mask::causal(), Mask::valid_lens({5, 2}), Mask::valid_lens({0, 3}), Mask::allow(table, {4, 5})};
  const std::vector<Array> inputs{normal({2, 4, 6}, 0, 1, rng, DType::float64), normal({2, 5, 6}, 0, 1, rng, DType::float64),
                                  normal({2, 5, 4}, 0, 1, rng, DType::float64), normal({1, 2, 4, 5}, 0, 1, rng, DType::float64)};
  for (const Mask& mask : masks)
    for (const double rate : {0.0, 0.4}) {
      const auto attend = [mask, rate](const std::vector<Tensor>& x) {
        return attention(x[0], x[1], x[2], {.heads = 2, .mask = mask, .bias = x[3], .dropout = rate});
      };
      const GradcheckReport report = gradcheck(attend, inputs);
      INFO(report.str());
      CHECK(report.ok(1e-11));
    }
}

TEST_CASE("gradcheck of packed projections and packed rows") {
  Rng rng(33);
  const Ids lens{3, 0, 5}, k_lens{2, 4, 1};
  const auto self = [](const Tensor& qkv) { return attention_qkv(qkv, {.heads = 2, .mask = Mask::causal(), .dropout = 0.2}); };
  const auto cross = [](const Tensor& q, const Tensor& kv) { return attention_kv(q, kv, {.heads = 2, .dropout = 0.2}); };
  const auto self_rows = [lens](const Tensor& qkv) {
    return attention_qkv(qkv, {.heads = 2, .mask = Mask::causal(), .q_lens = lens, .k_lens = lens});
  };
  const auto cross_rows = [lens, k_lens](const Tensor& q, const Tensor& kv) {
    return attention_kv(q, kv, {.heads = 2, .q_lens = lens, .k_lens = k_lens});
  };
  const GradcheckReport reports[] = {
      gradcheck(self, {normal({2, 5, 12}, 0, 1, rng, DType::float64)}),
      gradcheck(cross, {normal({2, 3, 4}, 0, 1, rng, DType::float64), normal({2, 5, 8}, 0, 1, rng, DType::float64)}),
      gradcheck(self_rows, {normal({8, 12}, 0, 1, rng, DType::float64)}),
      gradcheck(cross_rows, {normal({8, 4}, 0, 1, rng, DType::float64), normal({7, 8}, 0, 1, rng, DType::float64)})};
  for (const GradcheckReport& report : reports) {
    INFO(report.str());
    CHECK(report.ok(1e-11));
  }
}

TEST_CASE("gradcheck of attention across tiles of queries") {
  Rng rng(34);
  const auto attend = [](const Tensor& q, const Tensor& k, const Tensor& v) { return attention(q, k, v, {.mask = Mask::causal()}); };
  const GradcheckReport report = gradcheck(attend,
                                           {normal({1, 130, 3}, 0, 1, rng, DType::float64), normal({1, 130, 3}, 0, 1, rng, DType::float64),
                                            normal({1, 130, 2}, 0, 1, rng, DType::float64)},
                                           {.max_entries = 40});
  INFO(report.str());
  CHECK(report.ok(1e-11));
}
