#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/attention.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

#include "kernels/attention.hpp"

namespace tapeform {
namespace {

using kernels::AttentionGradients;
using kernels::AttentionInputs;
using kernels::AttentionPlan;
using kernels::AttentionResult;

std::string divisors_of(Dim width) {
  std::vector<Dim> divisors;
  for (Dim d = 1; d <= width; ++d)
    if (width % d == 0) divisors.push_back(d);
  return fmt::format("{}", fmt::join(divisors, ", "));
}

void check_heads(const char* op, Dim heads, Dim width, const char* what) {
  if (heads >= 1 && width % heads == 0 && width > 0) return;
  throw ShapeError(fmt::format("{}: the number of heads must divide the width; got {} heads, width {} of {}. Counts that do: {}", op, heads,
                               width, what, divisors_of(width)));
}

// Names and shapes of the tensors, for errors.
struct Named {
  const char* name;
  const Tensor& tensor;
};

void check_tensors(const char* op, std::initializer_list<Named> tensors, int rank, DType dtype) {
  for (const auto& [name, tensor] : tensors) {
    if (!tensor) throw ValueError(fmt::format("{}: {} holds nothing", op, name));
    if (tensor.rank() != rank)
      throw ShapeError(fmt::format("{}: {} must be {}; got {} {}", op, name, rank == 3 ? "[B, T, width]" : "packed rows [N, width]", name,
                                   tensor.shape().str()));
    if (tensor.dtype() != dtype)
      throw DTypeError(fmt::format("{}: dtypes must agree; got {} {}, the first input {}. Use cast()", op, name,
                                   tapeform::name(tensor.dtype()), tapeform::name(dtype)));
  }
}

// Where the packed rows of every sample begin, [B + 1].
Ids starts_of(const char* op, const char* name, const Ids& lens, Dim rows, Dim time) {
  Ids starts = Ids::full({lens.numel() + 1}, 0);
  starts.write([&](std::span<std::int64_t> begin) {
    for (Dim b = 0; b < lens.numel(); ++b) {
      if (lens[b] < 0 || lens[b] > time)
        throw ValueError(fmt::format("{}: {} must be from 0 to {}; got {} for sample {}", op, name, time, lens[b], b));
      begin[static_cast<std::size_t>(b) + 1] = begin[static_cast<std::size_t>(b)] + lens[b];
    }
    if (begin.back() != rows)
      throw ShapeError(fmt::format("{}: {} must add up to the packed rows; got a sum of {}, {} rows", op, name, begin.back(), rows));
  });
  return starts;
}

Dim longest(const Ids& lens) {
  const auto values = lens.values();
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

void set_times(AttentionPlan& plan, const char* op, const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  const Ids &q_lens = options.q_lens, &k_lens = options.k_lens;
  if (q.rank() == 3) {
    if (q.dim(0) != k.dim(0)) throw ShapeError(fmt::format("{}: batches must agree; got q {}, k {}", op, q.shape().str(), k.shape().str()));
    plan.B = q.dim(0);
    plan.Tq = q.dim(1);
    plan.Tk = k.dim(1);
    return;
  }
  if (q_lens.rank() != 1 || q_lens.shape() != k_lens.shape())
    throw ShapeError(
        fmt::format("{}: q_lens and k_lens are [B], both given or neither; got {} and {}", op, q_lens.shape().str(), k_lens.shape().str()));
  plan.B = q_lens.numel();
  plan.Tq = options.q_time > 0 ? options.q_time : longest(q_lens);
  plan.Tk = options.k_time > 0 ? options.k_time : longest(k_lens);
  plan.q_starts = starts_of(op, "q_lens", q_lens, q.dim(0), plan.Tq);
  plan.k_starts = starts_of(op, "k_lens", k_lens, k.dim(0), plan.Tk);
}

void set_bias(AttentionPlan& plan, const char* op, const Tensor& bias, DType dtype) {
  if (!bias) return;
  if (bias.dtype() != dtype)
    throw DTypeError(
        fmt::format("{}: dtypes must agree; got bias {}, q {}. Use cast()", op, tapeform::name(bias.dtype()), tapeform::name(dtype)));
  const Dim scores[4] = {plan.B, plan.H, plan.Tq, plan.Tk};
  const int rank = bias.rank();
  bool fits = rank == 2 || rank == 4;
  for (int axis = 0; axis < 4 && fits; ++axis) {
    const int own = axis - (4 - rank);
    plan.bias_sizes[axis] = own >= 0 ? bias.dim(own) : 1;
    fits = plan.bias_sizes[axis] == scores[axis] || plan.bias_sizes[axis] == 1;
  }
  if (!fits)
    throw ShapeError(
        fmt::format("{}: a bias is [Tq or 1, Tk or 1] or [B or 1, H or 1, Tq or 1, Tk or 1]; got bias {}, scores {}. One table a head is "
                    "[1, H, Tq, Tk], one a sample [B, 1, Tq, Tk]",
                    op, bias.shape().str(), Shape{plan.B, plan.H, plan.Tq, plan.Tk}.str()));
}

void set_dropout(AttentionPlan& plan, const char* op, double p) {
  if (!(p >= 0 && p <= 1)) throw ValueError(fmt::format("{}: dropout must be from 0 to 1; got {}", op, p));
  Rng* const rng = Tape::dropout_rng(op, p);
  if (rng) plan.dropout = kernels::DropoutDraw(*rng, p, Shape{plan.B, plan.H, plan.Tq, plan.Tk}.numel());
}

AttentionPlan plan_of(const char* op, const Tensor& q, const Tensor& k, Dim q_width, Dim v_width, const AttentionOptions& options) {
  AttentionPlan plan;
  check_heads(op, options.heads, q_width, "q and k");
  check_heads(op, options.heads, v_width, "v");
  plan.H = options.heads;
  plan.width = q_width / plan.H;
  plan.value_width = v_width / plan.H;
  if (!std::isfinite(options.scale)) throw ValueError(fmt::format("{}: the scale must be finite; got {}", op, options.scale));
  plan.scale = options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(plan.width));
  set_times(plan, op, q, k, options);
  options.mask.check(op, plan.B, plan.H, plan.Tq, plan.Tk);
  plan.mask = options.mask;
  set_bias(plan, op, options.bias, q.dtype());
  set_dropout(plan, op, options.dropout);
  return plan;
}

int rank_of(const AttentionOptions& options) { return options.q_lens.numel() > 0 || options.k_lens.numel() > 0 ? 2 : 3; }

AttentionResult forward(const AttentionPlan& plan, const AttentionInputs& inputs, const AttentionOptions& options, const Tensor& q) {
  AttentionResult result = kernels::attention_forward(plan, inputs, options.weights);
  Shape shape = q.shape();
  shape.set(-1, plan.H * plan.value_width);
  result.out = result.out.reshape(shape);  // [B, Tq, Ev] or [N, Ev]
  return result;
}

Array like(const Array& x) { return x ? Array(x.shape(), x.dtype()) : Array(); }

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const char* const op = "attention";
  check_tensors(op, {{"q", q}, {"k", k}, {"v", v}}, rank_of(options), q.dtype());
  if (q.dim(-1) != k.dim(-1))
    throw ShapeError(fmt::format("{}: q and k must have one width; got q {}, k {}", op, q.shape().str(), k.shape().str()));
  if (k.shape().numel(0, k.rank() - 1) != v.shape().numel(0, v.rank() - 1) || k.dim(0) != v.dim(0))
    throw ShapeError(fmt::format("{}: k and v must have the same rows; got k {}, v {}", op, k.shape().str(), v.shape().str()));
  const AttentionPlan plan = plan_of(op, q, k, q.dim(-1), v.dim(-1), options);
  const AttentionInputs inputs{{q.value(), q.dim(-1), 0}, {k.value(), k.dim(-1), 0}, {v.value(), v.dim(-1), 0}, options.bias.value()};
  const AttentionResult result = forward(plan, inputs, options, q);
  return record("attention", result.out,
                wrt({q, k, v, options.bias}, [plan, inputs, result](const Array& dout, const Needs<4>& need) -> Grads<4> {
                  Array dq = need[0] ? like(inputs.q.array) : Array();
                  Array dk = need[1] || need[2] ? like(inputs.k.array) : Array();
                  Array dv = need[1] || need[2] ? like(inputs.v.array) : Array();
                  Array dbias = need[3] ? like(inputs.bias) : Array();
                  kernels::attention_backward(plan, inputs, result, dout, {&dq, &dk, &dv, &dbias});
                  return {std::move(dq), std::move(dk), std::move(dv), std::move(dbias)};
                }));
}

Tensor attention_qkv(const Tensor& qkv, const AttentionOptions& options) {
  const char* const op = "attention_qkv";
  check_tensors(op, {{"qkv", qkv}}, rank_of(options), qkv.dtype());
  const Dim width = qkv.dim(-1);
  if (width % 3 != 0) throw ShapeError(fmt::format("{}: the width must be three times that of q; got qkv {}", op, qkv.shape().str()));
  if (!(options.q_lens == options.k_lens))
    throw ShapeError(fmt::format("{}: queries are the keys, so q_lens must equal k_lens; they differ", op));
  const Dim E = width / 3;
  const AttentionPlan plan = plan_of(op, qkv, qkv, E, E, options);
  const AttentionInputs inputs{{qkv.value(), width, 0}, {qkv.value(), width, E}, {qkv.value(), width, 2 * E}, options.bias.value()};
  const AttentionResult result = forward(plan, inputs, options, qkv);
  return record("attention_qkv", result.out,
                wrt({qkv, options.bias}, [plan, inputs, result](const Array& dout, const Needs<2>& need) -> Grads<2> {
                  Array dqkv = need[0] ? like(inputs.q.array) : Array();
                  Array dbias = need[1] ? like(inputs.bias) : Array();
                  kernels::attention_backward(plan, inputs, result, dout, {&dqkv, &dqkv, &dqkv, &dbias});
                  return {std::move(dqkv), std::move(dbias)};
                }));
}

Tensor attention_kv(const Tensor& q, const Tensor& kv, const AttentionOptions& options) {
  const char* const op = "attention_kv";
  check_tensors(op, {{"q", q}, {"kv", kv}}, rank_of(options), q.dtype());
  const Dim E = q.dim(-1), width = kv.dim(-1);
  if (width != 2 * E)
    throw ShapeError(fmt::format("{}: kv must be twice as wide as q; got q {}, kv {}", op, q.shape().str(), kv.shape().str()));
  const AttentionPlan plan = plan_of(op, q, kv, E, E, options);
  const AttentionInputs inputs{{q.value(), E, 0}, {kv.value(), width, 0}, {kv.value(), width, E}, options.bias.value()};
  const AttentionResult result = forward(plan, inputs, options, q);
  return record("attention_kv", result.out,
                wrt({q, kv, options.bias}, [plan, inputs, result](const Array& dout, const Needs<3>& need) -> Grads<3> {
                  Array dq = need[0] ? like(inputs.q.array) : Array();
                  Array dkv = need[1] ? like(inputs.k.array) : Array();
                  Array dbias = need[2] ? like(inputs.bias) : Array();
                  kernels::attention_backward(plan, inputs, result, dout, {&dq, &dkv, &dkv, &dbias});
                  return {std::move(dq), std::move(dkv), std::move(dbias)};
                }));
}

}  // namespace tapeform
