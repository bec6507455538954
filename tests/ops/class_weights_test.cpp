#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "ops/numbers.hpp"

using namespace tapeform;

namespace {

constexpr std::int64_t ignored = -100;
using Numbers = std::vector<double>;
const Reduction reductions[] = {Reduction::mean, Reduction::sum, Reduction::none};
const GradcheckOptions wide{.step = 0x1p-9};  // the loss is large beside its slopes, so its rounding shows

// 0, 0.5, 1, 1.5, 2, 0, …
Array weights_for(Dim V, DType dtype = DType::float64) {
  Array weights({V}, DType::float64);
  for (Dim v = 0; v < V; ++v) weights.mutable_data<double>()[v] = 0.5 * static_cast<double>(v % 5);
  return weights.cast(dtype);
}

Ids targets_for(Dim rows, Dim V) {
  std::vector<std::int64_t> ids;
  for (Dim r = 0; r < rows; ++r) ids.push_back(r % 4 == 1 ? ignored : (r * 7 + 1) % V);
  return Ids(ids);
}

// w·q of every row by the definition, [rows, V], and what a mean divides by.
struct Weighted {
  Array q;
  double count = 0;
  Weighted(const Ids& targets, const Array& weights, const CrossEntropyOptions& options) {
    const Dim V = weights.dim(0), rows = targets.numel();
    q = Array::zeros({rows, V}, DType::float64);
    double* to = q.mutable_data<double>();
    for (Dim r = 0; r < rows; ++r, to += V) {
      const std::int64_t target = targets[r];
      if (target == ignored) continue;
      count += weights.at({target});
      fill_row(to, target, V, options);
      for (Dim v = 0; v < V; ++v) to[v] *= weights.at({v});
    }
  }
  static void fill_row(double* q, std::int64_t target, Dim V, const CrossEntropyOptions& options) {
    const double e = options.label_smoothing;
    std::vector<bool> takes(static_cast<std::size_t>(V), true);
    for (const std::int64_t id : options.smoothing_excludes) takes[static_cast<std::size_t>(id)] = false;
    const bool some_left_out = !options.smoothing_excludes.empty();
    if (some_left_out) takes[static_cast<std::size_t>(target)] = false;
    double takers = 0;
    for (const bool one : takes) takers += one ? 1 : 0;
    for (Dim v = 0; v < V; ++v) q[v] = takes[static_cast<std::size_t>(v)] ? e / takers : 0;
    q[target] += takers > 0 ? 1 - e : 1;
  }
};

struct Run {
  Array loss, dlogits;
};
template <class Targets>
Run run(const Array& x, const Targets& targets, const CrossEntropyOptions& options) {
  Tape tape;
  const Tensor logits = tape.watch(x), loss = cross_entropy(logits, targets, options);
  tape.backward(loss, Array::ones(loss.shape(), x.dtype()));
  return {loss.value(), tape.grad(logits)};
}

}  // namespace

TEST_CASE("class weights: cross_entropy and its gradient by the definition, with smoothing, classes left out, ignored rows") {
  for (const DType dtype : {DType::float32, DType::float64})
    for (const Dim V : numbers::widths)
      for (const double smoothing : {0.0, 0.2, 1.0})
        for (const bool left_out : {false, true})
          for (const Reduction reduction : reductions) {
            const Array x = numbers::random({7, V}, 61, dtype);
            const Ids targets = targets_for(7, V);
            CrossEntropyOptions options{
                .ignore_id = ignored, .label_smoothing = smoothing, .reduction = reduction, .class_weights = weights_for(V, dtype)};
            if (left_out) options.smoothing_excludes = {0, V - 1};
            const Weighted weighted(targets, weights_for(V), options);
            const Tensor log_p = log_softmax(Tensor(x.cast(DType::float64)));
            const Array each = sum(-(Tensor(weighted.q) * log_p), {-1}).value(), p = exp(log_p).value();
            const Array mass = sum(Tensor(weighted.q), {-1}, {.keepdims = true}).value();
            const Array slope = (Tensor(p) * Tensor(mass) - Tensor(weighted.q)).value();
            const double divisor = reduction == Reduction::mean ? weighted.count : 1;
            if (divisor == 0) continue;
            const Run got = run(x, targets, options);
            const double tolerance = 8 * numbers::tolerance(dtype);
            CAPTURE(V, smoothing, left_out, name(dtype), static_cast<int>(reduction));
            if (reduction == Reduction::none)
              CHECK(numbers::distance(got.loss, each) <= tolerance);
            else
              CHECK(got.loss.item() == Catch::Approx(sum(Tensor(each)).item() / divisor).epsilon(tolerance).margin(tolerance));
            CHECK(numbers::distance(got.dlogits, (Tensor(slope) / divisor).value()) <= tolerance);
          }
}

TEST_CASE("class weights: gradcheck, and linear_cross_entropy agrees") {
  for (const Dim V : {2, 7, 8, 9, 17, 33}) {
    const Array h = numbers::random({6, 3}, 1), w = numbers::random({V, 3}, 2);
    const Ids targets = targets_for(6, V);
    for (const Reduction reduction : reductions) {
      const CrossEntropyOptions options{
          .ignore_id = ignored, .label_smoothing = .2, .reduction = reduction, .class_weights = weights_for(V)};
      CAPTURE(V, static_cast<int>(reduction));
      CHECK(gradcheck([&](const Tensor& x) { return cross_entropy(x, targets, options); }, {numbers::random({6, V}, 3)}, wide).error <=
            1e-11);
      const auto fused = [&](const Tensor& a, const Tensor& b) { return linear_cross_entropy(a, b, targets, options); };
      CHECK(gradcheck(fused, {h, w}, wide).error <= 1e-11);
      CHECK(numbers::distance(fused(h, w).value(), cross_entropy(linear(h, w), targets, options).value()) <= 1e-13);
    }
  }
}

TEST_CASE("class weights: targets of weight 0 alone have loss 0 and gradient 0") {
  const Array x = numbers::random({3, 5}, 4);
  const Array weights = Array::of({5}, {0, 1, 1, 1, 1}, DType::float64);
  const Run got = run(x, Ids{0, 0, 0}, {.class_weights = weights});
  CHECK(got.loss.item() == 0);
  CHECK(got.dlogits.to_vector() == Numbers(15, 0.0));
}

TEST_CASE("soft targets: one-hot distributions are classes") {
  const Array x = numbers::random({4, 9}, 5);
  const Ids targets{3, 0, 8, 3};
  Array q = Array::zeros({4, 9}, DType::float64);
  for (Dim r = 0; r < 4; ++r) q.mutable_data<double>()[r * 9 + targets[r]] = 1;
  for (const Reduction reduction : reductions)
    for (const double smoothing : {0.0, 0.3}) {
      const CrossEntropyOptions options{.label_smoothing = smoothing, .reduction = reduction};
      const Run soft = run(x, Tensor(q), options), hard = run(x, targets, options);
      CHECK(numbers::distance(soft.loss, hard.loss) <= 1e-14);
      CHECK(numbers::distance(soft.dlogits, hard.dlogits) <= 1e-14);
    }
}

TEST_CASE("soft targets: gradcheck of logits and targets") {
  for (const Dim V : {1, 2, 7, 8, 9, 17, 33}) {
    const Array x = numbers::random({2, 3, V}, 6), q = softmax(Tensor(numbers::random({2, 3, V}, 7))).value();
    for (const Reduction reduction : reductions)
      for (const bool weighted : {false, true}) {
        const CrossEntropyOptions options{
            .label_smoothing = .2, .reduction = reduction, .class_weights = weighted ? weights_for(V) : Array()};
        const GradcheckReport report =
            gradcheck([&](const Tensor& a, const Tensor& b) { return cross_entropy(a, b, options); }, {x, q}, wide);
        INFO("V " << V << ": " << report.str());
        CHECK(report.ok(1e-11));
      }
  }
}

TEST_CASE("soft targets: huge logits; what has probability 0 may be -inf; a row of -inf has no gradient; nothing") {
  const Array two = Array::of({1, 2}, {.5, .5});
  const Run huge = run(Array::of({1, 2}, {1e8, 1e8}), Tensor(two), {});
  CHECK(huge.loss.item() == Catch::Approx(0.6931472).epsilon(1e-7));
  CHECK(numbers::distance(huge.dlogits, {0, 0}) <= 1e-7);
  const Run hidden = run(Array::of({1, 3}, {1, -numbers::inf, 1}), Tensor(Array::of({1, 3}, {.5, 0, .5})), {});
  CHECK(hidden.loss.item() == Catch::Approx(0.6931472).epsilon(1e-7));
  CHECK(numbers::distance(hidden.dlogits, {0, 0, 0}) <= 1e-7);
  CHECK(hidden.dlogits.at({0, 1}) == 0);
  const Run nowhere = run(Array::full({1, 2}, -numbers::inf), Tensor(two), {});
  CHECK(nowhere.loss.item() == numbers::inf);
  CHECK(nowhere.dlogits.to_vector() == Numbers{0, 0});
  CHECK(cross_entropy(Array({0, 3}), Tensor(Array({0, 3}))).item() == 0);
  CHECK(cross_entropy(Array({0, 3}), Tensor(Array({0, 3})), {.reduction = Reduction::none}).shape() == Shape{0});
  CHECK(std::isnan(cross_entropy(Array::of({1, 2}, {numbers::nan, 0}), Tensor(two)).item()));
}

TEST_CASE("nll_loss: after log_softmax it is the cross-entropy; gradcheck; ignored rows are not read") {
  for (const Dim V : {1, 2, 7, 8, 9, 33}) {
    const Array x = numbers::random({6, V}, 8);
    const Ids targets = targets_for(6, V);
    for (const Reduction reduction : reductions)
      for (const bool weighted : {false, true}) {
        const Array weights = weighted ? weights_for(V) : Array();
        const NllLossOptions options{.ignore_id = ignored, .class_weights = weights, .reduction = reduction};
        const CrossEntropyOptions same{.ignore_id = ignored, .reduction = reduction, .class_weights = weights};
        CHECK(numbers::distance(nll_loss(log_softmax(x), targets, options).value(), cross_entropy(x, targets, same).value()) <= 1e-14);
        CHECK(gradcheck([&](const Tensor& v) { return nll_loss(v, targets, options); }, {x}).error <= 1e-11);
      }
  }
  for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
    const NllLossOptions options{.ignore_id = ignored, .reduction = reduction};
    CHECK(nll_loss(Array::full({2, 3}, numbers::nan), Ids{ignored, ignored}, options).item() == 0);
  }
  CHECK(nll_loss(Array({0, 5}), Ids()).item() == 0);
  Tape tape;
  const Tensor x = tape.watch(Array::of({2, 2}, {-1, -2, -3, -4}));
  tape.backward(nll_loss(x, Ids{1, 0}));
  CHECK(tape.grad(x).to_vector() == Numbers{0, -.5, -.5, 0});
}

TEST_CASE("class weights, soft targets and nll_loss: errors") {
  const Array x({2, 3}), q({2, 3});
  const auto weighted = [](const Array& weights) { return CrossEntropyOptions{.class_weights = weights}; };
  CHECK(message<ShapeError>([&] {
          cross_entropy(x, Ids{0, 1}, weighted(Array::ones({2})));
        }) == "cross_entropy: class_weights must be [3], one for every class; got class_weights [2]");
  CHECK(message<DTypeError>([&] {
          cross_entropy(x, Ids{0, 1}, weighted(weights_for(3)));
        }) == "cross_entropy: dtypes must agree; got input float32, class_weights float64. Convert one with cast()");
  CHECK(message<ValueError>([&] {
          cross_entropy(x, Ids{0, 1}, weighted(Array::of({3}, {1, -1, 1})));
        }) == "cross_entropy: class_weights must be finite and not negative; got -1 for class 1");
  CHECK(message<ValueError>([&] {
          cross_entropy(x, Tensor(q), weighted(Array::of({3}, {1, 1, numbers::inf})));
        }) == "cross_entropy: class_weights must be finite and not negative; got inf for class 2");
  CHECK(message<ShapeError>([&] {
          linear_cross_entropy(x, Array({4, 3}), Ids{0, 1}, weighted(Array::ones({3})));
        }) == "linear_cross_entropy: class_weights must be [4], one for every class; got class_weights [3]");
  CHECK(message<ShapeError>([&] { cross_entropy(x, Tensor(Array({3}))); }) ==
        "cross_entropy: targets that are distributions must be [..., V] as the logits are; got logits [2, 3], targets [3]");
  CHECK(message<DTypeError>([&] {
          cross_entropy(x, Tensor(Array({2, 3}, DType::float64)));
        }) == "cross_entropy: dtypes must agree; got logits float32, targets float64. Convert one with cast()");
  CHECK(message<ValueError>([&] { cross_entropy(x, Tensor(q), {.ignore_id = 0}); }) ==
        "cross_entropy: ignore_id and smoothing_excludes are for targets that are classes; got targets [2, 3] of probabilities");
  CHECK(message<ValueError>([&] { cross_entropy(x, Tensor(q), {.label_smoothing = -1}); }) ==
        "cross_entropy: label_smoothing must be from 0 to 1; got label_smoothing = -1");
  CHECK(message<ShapeError>([&] {
          nll_loss(x, Ids{1, 2, 0});
        }) == "nll_loss: targets must be [...] for x [..., V]; got x [2, 3], targets [3]");
  CHECK(message<ValueError>([&] {
          nll_loss(x, Ids{1, 3});
        }) ==
        "nll_loss: a target must be a class from 0 to 2 (V = 3); got 3 at [1] of targets [2]. Give .ignore_id for ids that do not count");
}
