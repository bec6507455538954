#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <tapeform/core/creation.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

#include "catch.hpp"
#include "ops/numbers.hpp"

/// The proof that the gradient check checks: real ops whose derivatives have been altered as people err, each of them caught.

using namespace tapeform;

namespace {

using Tensors = std::vector<Tensor>;
using Op = std::function<Tensor(const Tensors&)>;

/// What an altered derivative may use: the right one, the gradient that comes in, the result and the inputs; all of them constants.
struct Known {
  Tensor dx, dy, y;
  Tensors x;
};
using Alteration = std::function<Tensor(const Known&)>;

struct Case {
  std::string op, what;
  Op f;
  int input;  // whose derivative is altered
  std::vector<Array> inputs;
  Alteration wrong;
  std::function<bool(const std::vector<Dim>&)> at = [](const std::vector<Dim>&) { return true; };  // where it may be found
};

/// The derivatives of f at x, times dy.
std::vector<Array> right_derivatives(const Op& f, const std::vector<Array>& x, const Array& dy) {
  Tape tape(Tape::no_dropout);
  Tensors watched;
  for (const Array& each : x) watched.push_back(tape.watch(each));
  tape.backward(f(watched), dy);
  std::vector<Array> dx;
  for (std::size_t i = 0; i < x.size(); ++i)
    dx.push_back(tape.grad(watched[i]) ? tape.grad(watched[i]) : Array::zeros(x[i].shape(), x[i].dtype()));
  return dx;
}

std::vector<Array> derivatives(const Case& c, const std::vector<Array>& x, const Array& y, const Array& dy) {
  std::vector<Array> dx = right_derivatives(c.f, x, dy);
  Array& altered = dx[static_cast<std::size_t>(c.input)];
  if (c.wrong) altered = c.wrong({altered, dy, y, Tensors(x.begin(), x.end())}).value();
  return dx;
}

/// The op of a case, recorded under its name with its altered derivative.
Tensor altered(const Case& c, const Tensors& x) {
  std::vector<Array> values;
  for (const Tensor& each : x) values.push_back(each.value());
  const Array y = [&] {
    const NoTape off;
    return c.f(Tensors(values.begin(), values.end())).value();
  }();
  const Tensor none, a = x[0], b = x.size() > 1 ? x[1] : none, d = x.size() > 2 ? x[2] : none;
  return record(c.op.c_str(), y, wrt({a, b, d}, [&c, values, y](const Array& dy, const Needs<3>&) -> Grads<3> {
                  const std::vector<Array> dx = derivatives(c, values, y, dy);
                  return {dx[0], dx.size() > 1 ? dx[1] : Array(), dx.size() > 2 ? dx[2] : Array()};
                }));
}

Array drawn(const Shape& shape, std::uint64_t seed = 1) { return numbers::random(shape, seed); }
Array positive(const Shape& shape, std::uint64_t seed = 1) {
  Rng rng(seed);
  return uniform(shape, 0.5, 2.0, rng, DType::float64);
}

/// x with one row of its leading axes' flattened rows scaled.
Tensor scaled_rows(const Tensor& x, Dim begin, Dim end, double factor) {
  const Tensor rows = reshape(x, {-1, x.dim(-1)});
  Array factors = Array::ones({rows.dim(0), 1}, DType::float64);
  factors.write<double>([&](std::span<double> f) {
    for (Dim i = begin; i < end; ++i) f[static_cast<std::size_t>(i)] = factor;
  });
  return reshape(rows * factors, x.shape());
}

Op unary(Tensor (*f)(const Tensor&)) {
  return [f](const Tensors& x) { return f(x[0]); };
}
/// The derivative of another op at the same inputs: of one that forgot something.
Alteration derivative_of(const Op& other, std::size_t input = 0) {
  return [other, input](const Known& k) {
    std::vector<Array> x;
    for (const Tensor& each : k.x) x.push_back(each.value());
    return Tensor(right_derivatives(other, x, k.dy.value())[input]);
  };
}
Alteration times(double factor) {
  return [factor](const Known& k) { return k.dx * factor; };
}

const Array matrix = drawn({3, 5}, 2);

std::vector<Case> elementwise_cases() {
  const Op add = [](const Tensors&x) { return x[0] + x[1]; }, subtract = [](const Tensors&x) { return x[0] - x[1]; };
  const Op multiply = [](const Tensors&x) { return x[0] * x[1]; }, divide = [](const Tensors&x) { return x[0] / x[1]; };
  return {
      {"add", "broadcast sum missing", add, 1, {matrix, drawn({5})}, [](const Known& k) { return reshape(slice(k.dy, 0, 0, 1), {5}); }},
      {"add",
       "broadcast mean for sum",
       add,
       1,
       {matrix, drawn({3, 1})},
       [](const Known& k) { return mean(k.dy, {1}, {.keepdims = true}); }},
      {"subtract", "sign", subtract, 1, {matrix, drawn({3, 5})}, times(-1)},
      {"multiply", "its own operand", multiply, 0, {matrix, drawn({3, 5})}, [](const Known& k) { return k.dy * k.x[0]; }},
      {"multiply", "off by 1e-6", multiply, 0, {matrix, drawn({3, 5})}, times(1 + 1e-6)},
      {"divide", "square lost", divide, 1, {matrix, positive({3, 5})}, [](const Known& k) { return -(k.dy * k.x[0]) / k.x[1]; }},
      {"negate", "sign", [](const Tensors& x) { return -x[0]; }, 0, {matrix}, times(-1)},
      {"exp", "value lost", unary(exp), 0, {matrix}, [](const Known& k) { return k.dy; }},
      {"log", "inverse lost", unary(log), 0, {positive({7})}, [](const Known& k) { return k.dy * k.x[0]; }},
      {"sqrt", "factor 2", unary(sqrt), 0, {positive({7})}, times(2)},
      {"tanh", "square lost", unary(tanh), 0, {matrix}, [](const Known& k) { return k.dy * (1.0 - k.y); }},
      {"sin", "sign", unary(sin), 0, {matrix}, times(-1)},
      {"cos", "sign", unary(cos), 0, {matrix}, times(-1)},
      {"pow", "factor lost", [](const Tensors& x) { return pow(x[0], 3.0); }, 0, {matrix}, times(1.0 / 3)},
      {"log2", "ln 2 lost", unary(log2), 0, {positive({7})}, times(std::log(2.0))},
      {"abs", "sign of x lost", unary(abs), 0, {matrix}, [](const Known& k) { return k.dy; }},
      {"relu", "passes everything", unary(relu), 0, {matrix}, [](const Known& k) { return k.dy; }},
      {"gelu", "tanh form of the derivative", [](const Tensors& x) { return gelu(x[0]); }, 0, {matrix}, derivative_of([](const Tensors& x) {
         return gelu(x[0], {.approximate = GeluForm::tanh});
       })},
      {"sigmoid", "1 - y lost", unary(sigmoid), 0, {matrix}, [](const Known& k) { return k.dy * k.y; }},
      {"silu", "second term lost", unary(silu), 0, {matrix}, [](const Known& k) { return k.dy * sigmoid(k.x[0]); }},
      {"softplus", "relu's derivative", [](const Tensors& x) { return softplus(x[0]); }, 0, {matrix}, derivative_of(unary(relu))},
      {"leaky_relu", "slope lost", [](const Tensors& x) { return leaky_relu(x[0]); }, 0, {matrix}, derivative_of(unary(relu))},
      {"clamp",
       "passes outside",
       [](const Tensors& x) { return clamp(x[0], {.min = -0.5, .max = 0.5}); },
       0,
       {matrix},
       [](const Known& k) { return k.dy; }},
      {"maximum",
       "both get it",
       [](const Tensors& x) { return maximum(x[0], x[1]); },
       1,
       {matrix, drawn({3, 5})},
       [](const Known& k) { return k.dy; }},
      {"where",
       "the other branch",
       [](const Tensors& x) { return where(x[0] > 0.0, x[0], x[1]); },
       1,
       {matrix, drawn({3, 5})},
       [](const Known& k) { return k.dy - k.dx; }},
      {"masked_fill",
       "mask ignored",
       [](const Tensors& x) { return masked_fill(x[0], x[0] > 0.0, 2.0); },
       0,
       {matrix},
       [](const Known& k) { return k.dy; }},
  };
}

std::vector<Case> reduction_cases() {
  const auto last_row = [](const std::vector<Dim>& index) { return index[0] == 2; };
  return {
      {"sum", "mean for sum", [](const Tensors& x) { return sum(x[0], {1}); }, 0, {matrix}, times(0.2)},
      {"mean", "sum for mean", [](const Tensors& x) { return mean(x[0], {0}); }, 0, {matrix}, times(3)},
      {"mean",
       "only at the last row",
       [](const Tensors& x) { return mean(x[0]); },
       0,
       {matrix},
       [](const Known& k) { return scaled_rows(k.dx, 2, 3, 1.1); },
       last_row},
      {"var", "n for n - 1", [](const Tensors& x) { return var(x[0], {1}); }, 0, {matrix}, times(4.0 / 5)},
      {"norm",
       "of the square",
       [](const Tensors& x) { return norm(x[0], {1}, {}); },
       0,
       {matrix},
       [](const Known& k) { return 2.0 * unsqueeze(k.dy, 1) * k.x[0]; }},
      {"max", "to the least", [](const Tensors& x) { return max(x[0], {1}); }, 0, {matrix}, derivative_of([](const Tensors& x) {
         return min(x[0], {1});
       })},
      {"prod",
       "one factor too many",
       [](const Tensors& x) { return prod(x[0], {1}); },
       0,
       {matrix},
       [](const Known& k) { return k.dx * k.x[0]; }},
      {"logsumexp", "off by 1e-6", [](const Tensors& x) { return logsumexp(x[0], {1}); }, 0, {matrix}, times(1 - 1e-6)},
      {"cumsum",
       "not reversed",
       [](const Tensors& x) { return cumsum(x[0], 1); },
       0,
       {matrix},
       [](const Known& k) { return cumsum(k.dy, 1); }},
  };
}

std::vector<Case> product_cases() {
  const Op square = [](const Tensors& x) { return matmul(x[0], x[1]); };
  const Op affine = [](const Tensors& x) { return linear(x[0], x[1], x[2]); };
  const std::vector<Array> squares{drawn({4, 4}), drawn({4, 4}, 2)};
  const std::vector<Array> map{drawn({6, 4}), drawn({4, 4}, 2), drawn({4}, 3)};
  return {
      {"matmul", "operand not transposed", square, 0, squares, [](const Known& k) { return matmul(k.dy, k.x[1]); }},
      {"matmul", "result transposed", square, 1, squares, [](const Known& k) { return transpose(k.dx, 0, 1); }},
      {"matmul", "operands exchanged", square, 1, squares, [](const Known& k) { return matmul(k.dy, k.x[0], {.transpose_b = true}); }},
      {"matmul",
       "sum over the batch missing",
       square,
       1,
       {drawn({3, 2, 4}), drawn({4, 5}, 2)},
       [](const Known& k) {
         return matmul(reshape(slice(k.x[0], 0, 2, 3), {2, 4}), reshape(slice(k.dy, 0, 2, 3), {2, 5}), {.transpose_a = true});
       }},
      {"linear", "weight transposed", affine, 0, map, [](const Known& k) { return matmul(k.dy, k.x[1], {.transpose_b = true}); }},
      {"linear", "weight's gradient transposed", affine, 1, map, [](const Known& k) { return transpose(k.dx, 0, 1); }},
      {"linear", "mean for sum in the bias", affine, 2, map, times(1.0 / 6)},
      {"linear", "last row left out", affine, 1, map,
       [](const Known& k) { return matmul(slice(k.dy, 0, 0, 5), slice(k.x[0], 0, 0, 5), {.transpose_a = true}); }},
  };
}

std::vector<Case> movement_cases() {
  const Array cube = drawn({3, 3, 3}), table = drawn({4, 3});
  const Ids ids{2, 0, 2, 1, 2}, places = Ids::rows({{0, 0, 2}, {1, 1, 1}});
  const auto repeated = [](const std::vector<Dim>& index) { return index[0] == 2; };
  return {
      {"transpose",
       "not turned back",
       [](const Tensors& x) { return transpose(x[0], 0, 1); },
       0,
       {drawn({4, 4})},
       [](const Known& k) { return k.dy; }},
      {"permute",
       "forward for inverse",
       [](const Tensors& x) {
         return permute(x[0], {1, 2, 0});
       },
       0,
       {cube},
       [](const Known& k) {
         return permute(k.dy, {1, 2, 0});
       }},
      {"slice",
       "off by one row",
       [](const Tensors& x) { return slice(x[0], 0, 1, 3); },
       0,
       {table},
       [](const Known& k) {
         return concat({k.dy, Tensor(Array::zeros({2, 3}, DType::float64))}, 0);
       }},
      {"concat",
       "parts exchanged",
       [](const Tensors& x) {
         return concat({x[0], x[1]}, 0);
       },
       0,
       {table, drawn({4, 3}, 2)},
       [](const Known& k) { return slice(k.dy, 0, 4, 8); }},
      {"flip", "not turned back", [](const Tensors& x) { return flip(x[0], {0}); }, 0, {table}, [](const Known& k) { return k.dy; }},
      {"repeat",
       "first copy alone",
       [](const Tensors& x) {
         return repeat(x[0], {2, 1});
       },
       0,
       {table},
       [](const Known& k) { return slice(k.dy, 0, 0, 4); }},
      {"pad",
       "one place too far",
       [](const Tensors& x) { return pad(x[0], 0, 1, 1); },
       0,
       {table},
       [](const Known& k) { return slice(k.dy, 0, 0, 4); }},
      {"tril", "mask ignored", [](const Tensors& x) { return tril(x[0]); }, 0, {drawn({4, 4})}, [](const Known& k) { return k.dy; }},
      {"embedding",
       "stores at a repeated id",
       [ids](const Tensors& x) { return embedding(x[0], ids); },
       0,
       {table},
       [](const Known& k) {
         return concat({slice(k.dx, 0, 0, 2), slice(k.dy, 0, 4, 5), slice(k.dx, 0, 3, 4)}, 0);
       },
       repeated},
      {"take_along_axis",
       "wrong at a repeated id alone",
       [places](const Tensors& x) { return take_along_axis(x[0], places, 1); },
       0,
       {drawn({2, 3})},
       [](const Known& k) {
         return concat({slice(k.dx, 0, 0, 1), slice(k.dx, 0, 1, 2) / 3.0}, 0);
       },
       [](const std::vector<Dim>& index) {
         return index == std::vector<Dim>{1, 1};
       }},
      {"pack_rows",
       "a sample's rows shifted",
       [](const Tensors& x) {
         return pack_rows(x[0], Ids{2, 3});
       },
       0,
       {drawn({2, 3, 2})},
       [](const Known& k) { return flip(k.dx, {1}); }},
      {"keep_rows",
       "mask ignored",
       [](const Tensors& x) {
         return keep_rows(x[0], Ids::rows({{1, 0, 1}, {0, 1, 1}}));
       },
       0,
       {drawn({2, 3, 2})},
       [](const Known& k) { return k.dy; }},
  };
}

std::vector<Case> layer_cases() {
  const Op norm = [](const Tensors& x) { return layer_norm(x[0], x[1], x[2]); };
  const std::vector<Array> normed{matrix, drawn({5}, 3), drawn({5}, 4)};
  const Ids classes{1, 0, 3, 4, 2, 1}, ignored{1, 0, -100, 4, -100, 1};
  const Array logits = drawn({6, 5}), scores = drawn({2, 3, 3});
  const Op smoothed = [classes](const Tensors& x) { return cross_entropy(x[0], classes, {.label_smoothing = 0.2}); };
  const Op skipping = [ignored](const Tensors& x) { return cross_entropy(x[0], ignored, {.ignore_id = -100}); };
  return {
      {"softmax",
       "its mean not taken out",
       [](const Tensors& x) { return softmax(x[0]); },
       0,
       {matrix},
       [](const Known& k) { return k.dy * k.y; }},
      {"softmax",
       "the other axis",
       [](const Tensors& x) { return softmax(x[0], 0); },
       0,
       {drawn({4, 4})},
       [](const Known& k) { return k.y * (k.dy - sum(k.dy * k.y, {1}, {.keepdims = true})); }},
      {"log_softmax",
       "sum of dy lost",
       [](const Tensors& x) { return log_softmax(x[0]); },
       0,
       {matrix},
       [](const Known& k) { return k.dy - exp(k.y); }},
      {"masked_softmax",
       "mask ignored",
       [](const Tensors& x) { return masked_softmax(x[0], Mask::causal()); },
       0,
       {scores},
       derivative_of([](const Tensors& x) { return softmax(x[0]); })},
      {"layer_norm", "statistics taken for constants", norm, 0, normed,
       [](const Known& k) { return k.dy * k.x[1] / sqrt(var(k.x[0], {1}, {.correction = 0, .keepdims = true}) + 1e-5); }},
      {"layer_norm", "weight forgotten", norm, 0, normed, derivative_of([](const Tensors& x) { return layer_norm(x[0]); })},
      {"layer_norm", "bias's gradient for the weight's", norm, 1, normed, [](const Known& k) { return sum(k.dy, {0}); }},
      {"cross_entropy", "sum for mean", [classes](const Tensors& x) { return cross_entropy(x[0], classes); }, 0, {logits}, times(6)},
      {"cross_entropy", "smoothing ignored", smoothed, 0, {logits}, derivative_of([classes](const Tensors& x) {
         return cross_entropy(x[0], classes);
       })},
      {"cross_entropy", "divided by all targets", skipping, 0, {logits}, times(4.0 / 6)},
      {"cross_entropy",
       "off by 1e-6 at the last row",
       [classes](const Tensors& x) { return cross_entropy(x[0], classes); },
       0,
       {logits},
       [](const Known& k) { return scaled_rows(k.dx, 5, 6, 1 + 1e-6); },
       [](const std::vector<Dim>& index) { return index[0] == 5; }},
      {"linear_cross_entropy",
       "weight's gradient without the last tile's rows",
       [classes](const Tensors& x) { return linear_cross_entropy(x[0], x[1], classes); },
       1,
       {drawn({6, 2}), drawn({5, 2}, 2)},
       [](const Known& k) { return scaled_rows(k.dx, 4, 5, 0); },
       [](const std::vector<Dim>& index) { return index[0] == 4; }},
  };
}

std::vector<Case> attention_cases() {
  const auto attend = [](const AttentionOptions& options) {
    return [options](const Tensors& x) { return attention(x[0], x[1], x[2], options); };
  };
  const std::vector<Array> short_ones{drawn({2, 3, 4}), drawn({2, 3, 4}, 2), drawn({2, 3, 4}, 3)};
  // 64 queries are a tile: rows from 64 on are the second tile's.
  const std::vector<Array> long_ones{drawn({1, 70, 2}), drawn({1, 5, 2}, 2), drawn({1, 5, 2}, 3)};
  const std::vector<Array> long_keys{drawn({1, 2, 1}), drawn({1, 260, 1}, 2), drawn({1, 260, 1}, 3)};
  return {
      {"attention", "scale lost", attend({.heads = 2}), 0, short_ones, times(std::sqrt(2.0))},
      {"attention", "mask ignored", attend({.heads = 2, .mask = Mask::causal()}), 1, short_ones, derivative_of(attend({.heads = 2}), 1)},
      {"attention", "heads as one", attend({.heads = 2}), 2, short_ones, derivative_of(attend({.heads = 1}), 2)},
      {"attention", "q's gradient for k's", attend({}), 1, short_ones, derivative_of(attend({}), 0)},
      {"attention", "only for T over one tile of queries", attend({}), 0, long_ones,
       [](const Known& k) { return scaled_rows(k.dx, 64, 70, 1.001); }, [](const std::vector<Dim>& index) { return index[1] >= 64; }},
      {"attention", "only for T over one tile of keys", attend({}), 2, long_keys,
       [](const Known& k) { return scaled_rows(k.dx, 256, 260, 0.99); }, [](const std::vector<Dim>& index) { return index[1] >= 256; }},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& family : {elementwise_cases(), reduction_cases(), product_cases(), movement_cases(), layer_cases(), attention_cases()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

GradcheckReport check(const Case& c) {
  return gradcheck([&c](const Tensors& x) { return altered(c, x); }, c.inputs, {.max_entries = 300});
}

Dim position_of(const Shape& shape, const std::vector<Dim>& index) {
  Dim position = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) position = position * shape[axis] + index[static_cast<std::size_t>(axis)];
  return position;
}

}  // namespace

TEST_CASE("gradcheck catches every altered derivative, and names op, input and index") {
  const std::vector<Case> cases = all_cases();
  CHECK(cases.size() >= 40);
  for (const Case& c : cases) {
    const GradcheckReport report = check(c);
    INFO(c.op << ", " << c.what << ": " << report.str());
    CHECK_FALSE(report.ok(1e-8));
    CHECK(report.ops == std::vector<std::string>{c.op});
    CHECK(report.worst().path == "input " + std::to_string(c.input));
    CHECK(c.at(report.worst().index));
    CHECK(report.str().starts_with("gradcheck of " + c.op + ": worst of "));
    for (const GradcheckEntry& entry : report.tensors)
      if (entry.path != report.worst().path) CHECK(entry.error < 1e-10);  // the other inputs' derivatives are right

    // The index is one at which the derivative really is wrong.
    const auto x = Tensors(c.inputs.begin(), c.inputs.end());
    const Array y = c.f(x).value(), dy = drawn(y.shape(), 99);
    Case right = c;
    right.wrong = nullptr;
    const auto altered_dx = derivatives(c, c.inputs, y, dy), right_dx = derivatives(right, c.inputs, y, dy);
    const auto input = static_cast<std::size_t>(c.input);
    const Dim at = position_of(c.inputs[input].shape(), report.worst().index);
    CHECK(altered_dx[input].data<double>()[at] != right_dx[input].data<double>()[at]);
  }
}

TEST_CASE("gradcheck passes the same ops with their own derivatives") {
  for (Case c : all_cases()) {
    c.wrong = nullptr;
    const GradcheckReport report = check(c);
    INFO(c.op << ": " << report.str());
    CHECK(report.ok(1e-10));
  }
}
