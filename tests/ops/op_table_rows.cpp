#include "ops/numbers.hpp"
#include "ops/op_table.hpp"

// One row an op or overload that has code of its own, and its inputs: small, no two entries equal, within the op's range.

using namespace tapeform;

namespace op_table {
namespace {

using Rows = std::vector<Row>;

Array drawn(const Shape& shape, std::uint64_t seed = 1) { return numbers::random(shape, seed); }
Array positive(const Shape& shape, std::uint64_t seed = 2) {
  Rng rng(seed);
  return uniform(shape, 0.25, 2.0, rng, DType::float64);
}

const Array matrix = drawn({3, 5});
const Inputs one{matrix}, two{matrix, drawn({5}, 3)}, pair{matrix, drawn({3, 5}, 4)}, above_0{positive({3, 5})};

/// Ops of one tensor that are called by their name alone.
void add_unary(Rows& rows, const std::string& op, const std::string& golden, Inputs inputs, Tensor (*f)(const Tensor&)) {
  rows.push_back(row(op, op + "(x)", golden, std::move(inputs), [f](const Tensors& x) { return f(x[0]); }));
}

void activation(Rows& rows) {
  add_unary(rows, "relu", "ops/relu_", one, relu);
  rows.push_back(row("gelu", "gelu(x)", "ops/gelu_erf_", one, [](const Tensors& x) { return gelu(x[0]); }));
  rows.push_back(row("gelu", "gelu(x, {.approximate = GeluForm::tanh})", "ops/gelu_tanh_", one,
                     [](const Tensors& x) { return gelu(x[0], {.approximate = GeluForm::tanh}); }));
  add_unary(rows, "sigmoid", "pointwise/sigmoid_", one, sigmoid);
  add_unary(rows, "log_sigmoid", "pointwise/log_sigmoid_", one, log_sigmoid);
  add_unary(rows, "silu", "pointwise/silu_", one, silu);
  rows.push_back(row("softplus", "softplus(x)", "pointwise/softplus_", one, [](const Tensors& x) { return softplus(x[0]); }));
  rows.push_back(row("leaky_relu", "leaky_relu(x)", "pointwise/leaky_relu_", one, [](const Tensors& x) { return leaky_relu(x[0]); }));
  rows.push_back(row("elu", "elu(x)", "pointwise/elu_", one, [](const Tensors& x) { return elu(x[0]); }));
  const Inputs halves{drawn({3, 6})};
  add_unary(rows, "glu", "pointwise/glu", halves, glu);
  add_unary(rows, "swiglu", "pointwise/swiglu", halves, swiglu);
  rows.push_back(row("geglu", "geglu(x)", "pointwise/geglu", halves, [](const Tensors& x) { return geglu(x[0]); }));
}

void arithmetic(Rows& rows) {
  rows.push_back(row("operator+", "a + b", "ops/add_", two, [](const Tensors& x) { return x[0] + x[1]; }));
  rows.push_back(row("operator-", "a - b", "ops/sub_", two, [](const Tensors& x) { return x[0] - x[1]; }));
  rows.push_back(row("operator*", "a * b", "ops/mul_", two, [](const Tensors& x) { return x[0] * x[1]; }));
  rows.push_back(row("operator/", "a / b", "ops/div_", {matrix, positive({5})}, [](const Tensors& x) { return x[0] / x[1]; }));
  rows.push_back(row("operator-", "-x", "ops/neg", one, [](const Tensors& x) { return -x[0]; }));
  add_unary(rows, "exp", "ops/exp_", one, exp);
  add_unary(rows, "log", "ops/log_", above_0, log);
  add_unary(rows, "sqrt", "ops/sqrt_", above_0, sqrt);
  add_unary(rows, "tanh", "ops/tanh_", one, tanh);
}

void attentions(Rows& rows) {
  const std::string golden =
      "attention/plain_ attention/bias_ attention/packed attention/packed_causal attention/causal_ attention/causal_lens attention/lens "
      "attention/allow";
  const Array q = drawn({2, 3, 4}), k = drawn({2, 5, 4}, 2), v = drawn({2, 5, 6}, 3);
  rows.push_back(row("attention", "attention(q, k, v, {.heads, .bias})", golden, {q, k, v, drawn({3, 5}, 4)},
                     [](const Tensors& x) { return attention(x[0], x[1], x[2], {.heads = 2, .mask = Mask::causal(), .bias = x[3]}); }));
  rows.push_back(row("attention_qkv", "attention_qkv(qkv, {.heads})", golden, {drawn({2, 3, 12})},
                     [](const Tensors& x) { return attention_qkv(x[0], {.heads = 2}); }));
  rows.push_back(row("attention_kv", "attention_kv(q, kv, {.heads})", golden, {q, drawn({2, 5, 8}, 2)},
                     [](const Tensors& x) { return attention_kv(x[0], x[1], {.heads = 2}); }));
}

void comparison(Rows& rows) {
  const auto compare = [&rows](const char* op, const char* form, const std::string& name, auto f) {
    rows.push_back(row(op, form, "selection/" + name + "_tensors selection/" + name + "_number", two,
                       [f](const Tensors& x) { return f(x[0], x[1]); }));
  };
  compare("operator<", "a < b", "less", [](const Tensor& a, const Tensor& b) { return a < b; });
  compare("operator<=", "a <= b", "less_or_equal", [](const Tensor& a, const Tensor& b) { return a <= b; });
  compare("operator>", "a > b", "greater", [](const Tensor& a, const Tensor& b) { return a > b; });
  compare("operator>=", "a >= b", "greater_or_equal", [](const Tensor& a, const Tensor& b) { return a >= b; });
  compare("equal_to", "equal_to(a, b)", "equal", [](const Tensor& a, const Tensor& b) { return equal_to(a, b); });
  compare("not_equal_to", "not_equal_to(a, b)", "not_equal", [](const Tensor& a, const Tensor& b) { return not_equal_to(a, b); });
  rows.push_back(row("maximum", "maximum(a, b)", "pointwise/maximum_", two, [](const Tensors& x) { return maximum(x[0], x[1]); }));
  rows.push_back(row("minimum", "minimum(a, b)", "pointwise/minimum_", two, [](const Tensors& x) { return minimum(x[0], x[1]); }));
  rows.push_back(row("clamp", "clamp(x, {.min, .max})", "pointwise/clamp", one,
                     [](const Tensors& x) { return clamp(x[0], {.min = -0.5, .max = 0.75}); }));
  rows.push_back(row("where", "where(condition, a, b)", "pointwise/where", two, [](const Tensors& x) {
    return where(Ids::rows({{1}, {0}, {1}}), x[0], x[1]);
  }));
  rows.push_back(row("masked_fill", "masked_fill(x, mask, value)", "pointwise/masked_fill", one, [](const Tensors& x) {
    return masked_fill(x[0], {1, 0, 0, 1, 0}, 0.5);
  }));
}

void losses_of_pairs(Rows& rows) {
  const auto add = [&rows](const std::string& op, const std::string& golden, const Inputs& inputs, auto f) {
    rows.push_back(row(op, op + "(x, target)", golden, inputs, [f](const Tensors& x) { return f(x[0], x[1]); }));
  };
  const auto reductions = [](const std::string& name) {
    return "losses/" + name + "_mean losses/" + name + "_sum losses/" + name + "_none";
  };
  const Inputs distributions{matrix, positive({3, 5})};
  add("mse_loss", reductions("mse"), pair, [](const Tensor& x, const Tensor& t) { return mse_loss(x, t); });
  add("l1_loss", reductions("l1"), pair, [](const Tensor& x, const Tensor& t) { return l1_loss(x, t); });
  add("huber_loss", reductions("huber") + " losses/huber_delta", pair, [](const Tensor& x, const Tensor& t) { return huber_loss(x, t); });
  add("smooth_l1_loss", reductions("smooth_l1") + " losses/smooth_l1_beta", pair,
      [](const Tensor& x, const Tensor& t) { return smooth_l1_loss(x, t); });
  add("bce_with_logits", reductions("bce"), distributions, [](const Tensor& x, const Tensor& t) { return bce_with_logits(x, t); });
  add("kl_div", reductions("kl"), distributions, [](const Tensor& x, const Tensor& t) { return kl_div(x, t); });
}

void functions(Rows& rows) {
  rows.push_back(row("pow", "pow(x, p)", "pointwise/power_", above_0, [](const Tensors& x) { return pow(x[0], 2.5); }));
  rows.push_back(
      row("pow", "pow(a, b)", "pointwise/pow_", {positive({3, 5}), drawn({5})}, [](const Tensors& x) { return pow(x[0], x[1]); }));
  rows.push_back(row("pow", "pow(number, b)", "pointwise/power_of_number", one, [](const Tensors& x) { return pow(2.5, x[0]); }));
  add_unary(rows, "log1p", "pointwise/log1p", above_0, log1p);
  add_unary(rows, "expm1", "pointwise/expm1", one, expm1);
  add_unary(rows, "log2", "pointwise/log2", above_0, log2);
  add_unary(rows, "rsqrt", "pointwise/rsqrt", above_0, rsqrt);
  add_unary(rows, "abs", "pointwise/abs", one, abs);
  add_unary(rows, "sin", "pointwise/sin", one, sin);
  add_unary(rows, "cos", "pointwise/cos", one, cos);
}

void gathering(Rows& rows) {
  rows.push_back(row("dropout", "dropout(x, p)", "none: another generator", one, [](const Tensors& x) { return dropout(x[0], 0.3); }));
  rows.push_back(row("einsum", "einsum(equation, operands)", "movement/einsum_", {drawn({2, 3, 4}), drawn({2, 5, 4}, 2)},
                     [](const Tensors& x) { return einsum("bqd,bkd->bqk", x); }));
  rows.push_back(row("embedding", "embedding(weight, ids)", "ops/embedding_", {matrix}, [](const Tensors& x) {
    return embedding(x[0], {2, 0, 2});
  }));
  const Ids places = Ids::rows({{1, 0, 2}, {0, 0, 1}});
  rows.push_back(
      row("gather", "gather(x, axis, ids)", "movement/gather_", one, [places](const Tensors& x) { return gather(x[0], 1, places); }));
  rows.push_back(row("take_along_axis", "take_along_axis(x, ids, axis)", "movement/take_along_axis_", one, [](const Tensors& x) {
    return take_along_axis(x[0], Ids::rows({{4, 0, 4}}), 1);
  }));
  rows.push_back(row("index_select", "index_select(x, axis, ids)", "movement/index_select_", one, [](const Tensors& x) {
    return index_select(x[0], 0, {2, 2, 1});
  }));
  rows.push_back(row("scatter_add", "scatter_add(x, axis, ids, src)", "movement/scatter_add_", {drawn({2, 4}), drawn({2, 3}, 2)},
                     [places](const Tensors& x) { return scatter_add(x[0], 1, places, x[1]); }));
}

void norms(Rows& rows) {
  const Array affine = drawn({5}, 5);
  rows.push_back(row("layer_norm", "layer_norm(x, weight, bias)", "ops/layer_norm_ losses/layer_norm_", {matrix, affine, drawn({5}, 6)},
                     [](const Tensors& x) { return layer_norm(x[0], x[1], x[2]); }));
  rows.push_back(
      row("rms_norm", "rms_norm(x, weight)", "losses/rms_norm_", {matrix, affine}, [](const Tensors& x) { return rms_norm(x[0], x[1]); }));
}

void losses_of_classes(Rows& rows) {
  const Ids targets{4, 0, 2};
  rows.push_back(
      row("cross_entropy", "cross_entropy(logits, classes)",
          "ops/cross_entropy_mean ops/cross_entropy_sum ops/cross_entropy_none losses/class_weights_mean losses/class_weights_sum "
          "losses/class_weights_none",
          one, [targets](const Tensors& x) { return cross_entropy(x[0], targets, {.label_smoothing = 0.1}); }));
  rows.push_back(row("cross_entropy", "cross_entropy(logits, distributions)",
                     "losses/soft_targets_mean losses/soft_targets_sum losses/soft_targets_none", {matrix, positive({3, 5})},
                     [](const Tensors& x) { return cross_entropy(x[0], x[1]); }));
  rows.push_back(row("nll_loss", "nll_loss(x, classes)", "losses/nll_mean losses/nll_sum losses/nll_none", one,
                     [targets](const Tensors& x) { return nll_loss(x[0], targets); }));
  rows.push_back(row("linear_cross_entropy", "linear_cross_entropy(h, weight, classes)", "ops/linear_cross_entropy_",
                     {drawn({3, 4}), drawn({5, 4}, 2)}, [targets](const Tensors& x) { return linear_cross_entropy(x[0], x[1], targets); }));
}

void products_and_movement(Rows& rows) {
  rows.push_back(row("matmul", "matmul(a, b)", "ops/matmul_", {drawn({2, 3, 4}), drawn({4, 5}, 2)},
                     [](const Tensors& x) { return matmul(x[0], x[1]); }));
  rows.push_back(row("linear", "linear(x, weight, bias)", "ops/linear_", {drawn({3, 4}), drawn({5, 4}, 2), drawn({5}, 3)},
                     [](const Tensors& x) { return linear(x[0], x[1], x[2]); }));
  const Inputs cube{drawn({2, 3, 4})};
  rows.push_back(row("reshape", "reshape(x, shape)", "ops/reshape", cube, [](const Tensors& x) { return reshape(x[0], {6, -1}); }));
  rows.push_back(row("permute", "permute(x, axes)", "ops/permute_", cube, [](const Tensors& x) { return permute(x[0], {2, 0, 1}); }));
  rows.push_back(
      row("transpose", "transpose(x, a, b)", "selection/transpose", cube, [](const Tensors& x) { return transpose(x[0], 0, -1); }));
  rows.push_back(row("slice", "slice(x, axis, begin, end)", "ops/slice_", cube, [](const Tensors& x) { return slice(x[0], 1, 1, 3); }));
  rows.push_back(
      row("slice", "slice(x, axis, begin, end, step)", "movement/steps_", cube, [](const Tensors& x) { return slice(x[0], 2, 0, 4, -2); }));
  rows.push_back(row("concat", "concat(parts, axis)", "ops/concat_", {matrix, drawn({2, 5}, 2)}, [](const Tensors& x) {
    return concat({x[0], x[1]}, 0);
  }));
  const Ids lens{2, 1};
  rows.push_back(
      row("pack_rows", "pack_rows(x, lens)", "selection/pack_rows", cube, [lens](const Tensors& x) { return pack_rows(x[0], lens); }));
  rows.push_back(row("unpack_rows", "unpack_rows(x, lens, length)", "selection/unpack_rows", one,
                     [lens](const Tensors& x) { return unpack_rows(x[0], lens, 3); }));
  rows.push_back(row("keep_rows", "keep_rows(x, keep)", "selection/keep_rows", cube, [](const Tensors& x) {
    return keep_rows(x[0], Ids::rows({{1, 0, 1}, {0, 1, 1}}));
  }));
}

void rearranging(Rows& rows) {
  const Inputs thin{drawn({3, 1, 4})};
  rows.push_back(row("squeeze", "squeeze(x, axis)", "movement/squeeze", thin, [](const Tensors& x) { return squeeze(x[0], 1); }));
  rows.push_back(row("unsqueeze", "unsqueeze(x, axis)", "movement/unsqueeze", one, [](const Tensors& x) { return unsqueeze(x[0], 1); }));
  rows.push_back(row("split", "split(x, size, axis)", "movement/split", one, [](const Tensors& x) {
    const std::vector<Tensor> parts = split(x[0], 2, 1);
    return concat({parts[2], parts[0]}, 1);
  }));
  rows.push_back(row("stack", "stack(parts, axis)", "movement/stack_", pair, [](const Tensors& x) { return stack({x[0], x[1]}, 1); }));
  rows.push_back(row("broadcast_to", "broadcast_to(x, shape)", "movement/broadcast_to", thin, [](const Tensors& x) {
    return broadcast_to(x[0], {2, 3, 2, 4});
  }));
  rows.push_back(row("repeat", "repeat(x, counts)", "movement/repeat_", one, [](const Tensors& x) { return repeat(x[0], {2, 3}); }));
  rows.push_back(row("repeat_interleave", "repeat_interleave(x, count, axis)", "movement/interleave_", one,
                     [](const Tensors& x) { return repeat_interleave(x[0], 3, 0); }));
  rows.push_back(row("pad", "pad(x, axis, before, after)", "movement/pad_", one, [](const Tensors& x) { return pad(x[0], 1, 2, 1); }));
  rows.push_back(row("flip", "flip(x, axes)", "movement/flip_", one, [](const Tensors& x) { return flip(x[0], {0, 1}); }));
  rows.push_back(row("tril", "tril(x, diagonal)", "movement/tril_", one, [](const Tensors& x) { return tril(x[0], 1); }));
  rows.push_back(row("triu", "triu(x, diagonal)", "movement/triu_", one, [](const Tensors& x) { return triu(x[0], 1); }));
}

void reductions(Rows& rows) {
  rows.push_back(row("sum", "sum(x, axes)", "ops/sum_ ops/sum_all", one, [](const Tensors& x) { return sum(x[0], {1}); }));
  rows.push_back(row("mean", "mean(x, axes)", "ops/mean_ ops/mean_all", one, [](const Tensors& x) { return mean(x[0], {1}); }));
  rows.push_back(row("var", "var(x, axes)", "reductions/var_", one, [](const Tensors& x) { return var(x[0], {1}); }));
  rows.push_back(row("stddev", "stddev(x, axes)", "reductions/stddev_", one, [](const Tensors& x) { return stddev(x[0], {1}); }));
  rows.push_back(row("norm", "norm(x, axes)", "reductions/norm_", one, [](const Tensors& x) { return norm(x[0], {1}); }));
  rows.push_back(row("max", "max(x, axes)", "reductions/max_", one, [](const Tensors& x) { return max(x[0], {1}); }));
  rows.push_back(row("min", "min(x, axes)", "reductions/min_", one, [](const Tensors& x) { return min(x[0], {1}); }));
  rows.push_back(row("prod", "prod(x, axes)", "reductions/prod_", one, [](const Tensors& x) { return prod(x[0], {1}); }));
  rows.push_back(
      row("logsumexp", "logsumexp(x, axes)", "reductions/logsumexp_", one, [](const Tensors& x) { return logsumexp(x[0], {1}); }));
  rows.push_back(row("cumsum", "cumsum(x, axis)", "reductions/cumsum_", one, [](const Tensors& x) { return cumsum(x[0], 1); }));
}

void selection(Rows& rows) {
  rows.push_back(
      row("argmax", "argmax(x, axis)", "selection/argmax_ selection/argmax_all", one, [](const Tensors& x) { return argmax(x[0], 1); }));
  rows.push_back(
      row("argmin", "argmin(x, axis)", "selection/argmin_ selection/argmin_all", one, [](const Tensors& x) { return argmin(x[0], 1); }));
  rows.push_back(row("sort", "sort(x, axis)", "selection/sort_", one, [](const Tensors& x) { return sort(x[0], 1); }));
  rows.push_back(row("argsort", "argsort(x, axis)", "selection/sort_", one, [](const Tensors& x) { return argsort(x[0], 1); }));
  rows.push_back(row("topk", "topk(x, k, axis)", "selection/topk_", one, [](const Tensors& x) { return topk(x[0], 2, 1); }));
  const Ids ids{2, 0, 2};
  rows.push_back(row("one_hot", "one_hot(ids, classes)", "selection/one_hot", {}, [ids](const Tensors&) { return one_hot(ids, 4); }));
  rows.push_back(row("bincount", "bincount(ids)", "selection/bincount_", {}, [ids](const Tensors&) { return bincount(ids); }));
}

void softmaxes(Rows& rows) {
  rows.push_back(row("softmax", "softmax(x, axis)", "ops/softmax_", one, [](const Tensors& x) { return softmax(x[0], 1); }));
  rows.push_back(
      row("log_softmax", "log_softmax(x, axis)", "ops/log_softmax_", one, [](const Tensors& x) { return log_softmax(x[0], 1); }));
  rows.push_back(row("masked_softmax", "masked_softmax(scores, mask)",
                     "ops/masked_softmax_allow ops/masked_softmax_causal ops/masked_softmax_lens ops/masked_softmax_query_lens",
                     {drawn({2, 3, 4})}, [](const Tensors& x) {
                       return masked_softmax(x[0], Mask::causal() & Mask::valid_lens({3, 0}));
                     }));
}

}  // namespace

std::vector<Row> rows() {
  Rows all;
  for (const auto add : {activation, arithmetic, attentions, comparison, gathering, losses_of_pairs, functions, norms, losses_of_classes,
                         products_and_movement, rearranging, reductions, selection, softmaxes})
    add(all);
  return all;
}

}  // namespace op_table
