#include <cmath>
#include <tapeform/core/ops/ops.hpp>

#include "catch.hpp"
#include "ops/golden_runners.hpp"

using namespace tapeform;
using golden::Case;
using golden::Runner;

namespace {

/// A runner of an op that needs nothing but its inputs.
template <class F>
Runner unary(const char* prefix, F f) {
  return {prefix, [f](Case& c) { c.check("y", f(c.x("x"))); }};
}

template <class F>
Runner binary(const char* prefix, F f) {
  return {prefix, [f](Case& c) {
            const Tensor a = c.x("a"), b = c.x("b");
            c.check("y", f(a, b));
          }};
}

std::vector<Runner> elementwise() {
  return {binary("add_", [](const Tensor& a, const Tensor& b) { return a + b; }),
          binary("sub_", [](const Tensor& a, const Tensor& b) { return a - b; }),
          binary("mul_", [](const Tensor& a, const Tensor& b) { return a * b; }),
          binary("div_", [](const Tensor& a, const Tensor& b) { return a / b; }),
          unary("neg", [](const Tensor& x) { return -x; }),
          unary("exp_", [](const Tensor& x) { return exp(x); }),
          unary("log_", [](const Tensor& x) { return log(x); }),
          unary("sqrt_", [](const Tensor& x) { return sqrt(x); }),
          unary("tanh_", [](const Tensor& x) { return tanh(x); }),
          unary("relu_", [](const Tensor& x) { return relu(x); }),
          unary("gelu_erf_", [](const Tensor& x) { return gelu(x); }),
          unary("gelu_tanh_", [](const Tensor& x) { return gelu(x, {.approximate = GeluForm::tanh}); }),
          unary("sum_all", [](const Tensor& x) { return sum(x); }),
          unary("mean_all", [](const Tensor& x) { return mean(x); }),
          {"sum_", [](Case& c) { c.check("y", sum(c.x("x"), c.axes("axes"), {.keepdims = c.option("keep", 0) != 0})); }},
          {"mean_", [](Case& c) { c.check("y", mean(c.x("x"), c.axes("axes"), {.keepdims = c.option("keep", 0) != 0})); }}};
}

std::vector<Runner> products_and_movement() {
  return {{"matmul_",
           [](Case& c) {
             const Tensor a = c.x("a"), b = c.x("b");
             c.check("y", matmul(a, b, {.transpose_a = c.option("transpose_a", 0) != 0, .transpose_b = c.option("transpose_b", 0) != 0}));
           }},
          {"linear_",
           [](Case& c) {
             const Tensor x = c.x("x"), weight = c.x("weight"), bias = c.x("bias");
             c.check("y", linear(x, weight, bias));
           }},
          unary("reshape",
                [](const Tensor& x) {
                  return reshape(x, {6, -1});
                }),
          {"permute_", [](Case& c) { c.check("y", permute(c.x("x"), c.axes("axes"))); }},
          {"slice_",
           [](Case& c) {
             const Ids range = c.ids("range");
             c.check("y", slice(c.x("x"), static_cast<int>(range[0]), range[1], range[2]));
           }},
          {"concat_",
           [](Case& c) {
             const Tensor a = c.x("x0"), b = c.x("x1"), d = c.x("x2");
             c.check("y", concat({a, b, d}, static_cast<int>(c.option("axis", 0))));
           }},
          {"embedding_", [](Case& c) {
             c.check("y", embedding(c.x("weight"), c.ids("ids"), {.padding_id = static_cast<std::int64_t>(c.option("padding_id", -1))}));
           }}};
}

std::vector<Runner> softmax_and_norm() {
  return {{"softmax_", [](Case& c) { c.check("y", softmax(c.x("x"), static_cast<int>(c.option("axis", -1)))); }},
          {"log_softmax_", [](Case& c) { c.check("y", log_softmax(c.x("x"), static_cast<int>(c.option("axis", -1)))); }},
          {"masked_softmax_lens", [](Case& c) { c.check("y", masked_softmax(c.x("x"), Mask::valid_lens(c.ids("lens")))); }},
          {"masked_softmax_query_lens", [](Case& c) { c.check("y", masked_softmax(c.x("x"), Mask::valid_lens(c.ids("lens")))); }},
          {"masked_softmax_allow", [](Case& c) { c.check("y", masked_softmax(c.x("x"), c.allow("allow"))); }},
          unary("masked_softmax_causal", [](const Tensor& x) { return masked_softmax(x, Mask::causal()); }),
          {"layer_norm_", [](Case& c) {
             const Tensor x = c.x("x"), weight = c.x("weight"), bias = c.x("bias");
             c.check("y", layer_norm(x, weight, bias, {.eps = c.option("eps", 1e-5)}));
           }}};
}

CrossEntropyOptions loss_options(const Case& c, Reduction reduction) {
  CrossEntropyOptions options{.label_smoothing = c.option("smoothing", 0), .reduction = reduction};
  if (const double ignored = c.option("ignore_id", -100); ignored != -100) options.ignore_id = static_cast<std::int64_t>(ignored);
  if (c.has("in/left_out"))
    for (const std::int64_t id : c.ids("left_out").values()) options.smoothing_excludes.push_back(id);
  return options;
}

Runner loss(const char* prefix, Reduction reduction) {
  return {prefix, [reduction](Case& c) { c.check("y", cross_entropy(c.x("logits"), c.ids("targets"), loss_options(c, reduction))); }};
}

std::vector<Runner> losses() {
  return {loss("cross_entropy_mean", Reduction::mean),
          loss("cross_entropy_sum", Reduction::sum),
          loss("cross_entropy_none", Reduction::none),
          {"linear_cross_entropy_", [](Case& c) {
             const Tensor h = c.x("h"), weight = c.x("weight");
             c.check("y", linear_cross_entropy(h, weight, c.ids("targets"), loss_options(c, Reduction::mean)));
           }}};
}

/// Runs an attention case with this mask: the projection is packed where the case has it packed.
void attend(Case& c, const Mask& mask) {
  Array weights;
  const Tensor bias = c.x("bias");
  AttentionOptions options{
      .heads = static_cast<Dim>(c.option("heads", 1)), .mask = mask, .bias = bias, .weights = c.has("out/weights") ? &weights : nullptr};
  if (c.has("in/q_lens")) options.q_lens = c.ids("q_lens"), options.k_lens = c.ids("k_lens");
  Tensor y;
  if (c.has("in/qkv")) {
    y = attention_qkv(c.x("qkv"), options);
  } else if (c.has("in/kv")) {
    const Tensor q = c.x("q"), kv = c.x("kv");
    y = attention_kv(q, kv, options);
  } else {
    const Tensor q = c.x("q"), k = c.x("k"), v = c.x("v");
    y = attention(q, k, v, options);
  }
  if (c.has("out/weights")) c.check_numbers("out/weights", weights);
  c.check("y", y);
}

}  // namespace

std::vector<Runner> golden::attention_runners() {
  return {{"plain_", [](Case& c) { attend(c, {}); }},
          {"bias_", [](Case& c) { attend(c, {}); }},
          {"packed", [](Case& c) { attend(c, {}); }},
          {"packed_causal", [](Case& c) { attend(c, Mask::causal()); }},
          {"causal_", [](Case& c) { attend(c, Mask::causal()); }},
          {"causal_lens", [](Case& c) { attend(c, Mask::causal() & Mask::valid_lens(c.ids("lens"))); }},
          {"lens", [](Case& c) { attend(c, Mask::valid_lens(c.ids("lens"))); }},
          {"allow", [](Case& c) { attend(c, c.allow("allow")); }}};
}

std::vector<Runner> golden::op_runners() {
  std::vector<Runner> all;
  for (const auto& part : {elementwise(), products_and_movement(), softmax_and_norm(), losses()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST_CASE("golden: every op agrees with PyTorch in float64, forward and backward") {
  golden::run_file("ops", DType::float64, golden::op_runners());
}
TEST_CASE("golden: every op agrees with PyTorch in float32, forward and backward") {
  golden::run_file("ops", DType::float32, golden::op_runners());
}

TEST_CASE("golden: attention agrees with PyTorch in float64, forward and backward") {
  golden::run_file("attention", DType::float64, golden::attention_runners());
}
TEST_CASE("golden: attention agrees with PyTorch in float32, forward and backward") {
  golden::run_file("attention", DType::float32, golden::attention_runners());
}

TEST_CASE("golden: the comparison tells what is wrong") {
  const Array torch = Array::of({2, 2}, {1.0, -2.0, 0.0, 1e-9}, DType::float64);
  CHECK(golden::difference(torch, torch, 0) == "");
  CHECK(golden::difference(Array::of({2, 2}, {1.0, -2.0, 1e-12, 1e-9}, DType::float64), torch, 1e-12) == "");
  CHECK(golden::difference(Array::of({2, 2}, {1.0, -2.0, 4e-12, 1e-9}, DType::float64), torch, 1e-12) ==
        "at [1, 0]: ours 3.9999999999999999e-12, torch 0; that is 2e-12 of the largest entry, 2; allowed 1e-12");
  CHECK_THAT(golden::difference(Array::of({2, 2}, {1.0, std::nan(""), 0.0, 0.0}, DType::float64), torch, 1e-12),
             Contains("at [0, 1]: ours nan"));
  CHECK(golden::error(Array::of({2, 2}, {1.0, -2.5, 0.25, 0.0}, DType::float64), torch) == 0.25);
  CHECK(std::isinf(golden::error(Array::of({2, 2}, {1.0, std::nan(""), 0.0, 0.0}, DType::float64), torch)));
  CHECK(std::isinf(golden::error(torch.reshape({4}), torch)));
  CHECK(golden::difference(torch.reshape({4}), torch, 1) == "has shape [4], torch [2, 2]");
  CHECK(golden::difference(Array(), torch, 1) == "holds nothing");
  const Array rounding = Array::of({1}, {1e-17}, DType::float64);
  CHECK(golden::difference(Array::of({1}, {0.0}, DType::float64), rounding, 1e-12) == "");
  CHECK_THAT(golden::difference(Array::of({1}, {1e-11}, DType::float64), rounding, 1e-12), Contains("at [0]: ours 9.99"));
}
