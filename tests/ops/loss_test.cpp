#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/loss.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "ops/numbers.hpp"

using namespace tapeform;

namespace {

constexpr std::int64_t ignored = -100;
const std::vector<DType> dtypes{DType::float32, DType::float64};

struct Run {
  Array loss, dlogits;
};
Run run(const Array& x, const Ids& targets, const CrossEntropyOptions& options, Array dloss = {}) {
  Tape tape;
  const Tensor logits = tape.watch(x), loss = cross_entropy(logits, targets, options);
  tape.backward(loss, dloss ? dloss : Array::ones(loss.shape(), x.dtype()));
  return {loss.value(), tape.grad(logits)};
}

Ids targets_for(Dim rows, Dim V, bool some_ignored) {
  std::vector<std::int64_t> ids;
  for (Dim r = 0; r < rows; ++r) ids.push_back(some_ignored && r % 3 == 1 ? ignored : (r * 7 + 1) % V);
  return Ids(ids);
}

// Losses and their gradients by the definition, from the target distribution written out.
struct Reference {
  std::vector<double> losses, dlogits;
  Reference(const Array& logits, const Ids& targets, const CrossEntropyOptions& options) {
    const auto V = static_cast<std::size_t>(logits.dim(-1));
    const std::vector<double> x = logits.to_vector();
    dlogits.assign(x.size(), 0);
    for (std::size_t r = 0; r < x.size() / V; ++r) {
      losses.push_back(0);
      const std::int64_t target = targets.values()[r];
      if (target == options.ignore_id) continue;
      const std::vector<double> q = distribution(static_cast<std::size_t>(target), V, options);
      long double max = x[r * V], sum = 0;
      for (std::size_t v = 0; v < V; ++v) max = std::max(max, static_cast<long double>(x[r * V + v]));
      for (std::size_t v = 0; v < V; ++v) sum += std::exp(x[r * V + v] - max);
      long double loss = 0;
      for (std::size_t v = 0; v < V; ++v) {
        loss -= q[v] * (x[r * V + v] - max - std::log(sum));
        dlogits[r * V + v] = static_cast<double>(std::exp(x[r * V + v] - max) / sum - q[v]);
      }
      losses.back() = static_cast<double>(loss);
    }
  }
  static std::vector<double> distribution(std::size_t target, std::size_t V, const CrossEntropyOptions& options) {
    const double e = options.label_smoothing;
    std::vector<double> q(V, e / static_cast<double>(V));
    q[target] += 1 - e;
    if (options.smoothing_excludes.empty()) return q;
    std::vector<bool> takes(V, true);
    for (const std::int64_t id : options.smoothing_excludes) takes[static_cast<std::size_t>(id)] = false;
    takes[target] = false;
    const auto takers = static_cast<double>(std::count(takes.begin(), takes.end(), true));
    for (std::size_t v = 0; v < V; ++v) q[v] = takes[v] ? e / takers : 0;
    q[target] = takers > 0 ? 1 - e : 1;
    return q;
  }
};

double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double v : values) total += v;
  return total;
}

std::vector<double> times(std::vector<double> values, double factor) {
  for (double& v : values) v *= factor;
  return values;
}

}  // namespace

TEST_CASE("cross_entropy and its gradient by the definition: smoothing, classes left out, ignored rows, reductions") {
  for (const DType dtype : dtypes)
    for (const Dim V : numbers::widths)
      for (const double smoothing : {0.0, 0.1, 1.0})
        for (const bool some_ignored : {false, true})
          for (const bool left_out : {false, true}) {
            const Array x = numbers::random({7, V}, 61, dtype);
            const Ids targets = targets_for(7, V, some_ignored);
            CrossEntropyOptions options{.ignore_id = ignored, .label_smoothing = smoothing};
            if (left_out) options.smoothing_excludes = {0, V - 1, 0};
            const Reference right(x, targets, options);
            const double counted = some_ignored ? 5 : 7, tolerance = 4 * numbers::tolerance(dtype);
            CAPTURE(V, smoothing, some_ignored, left_out, name(dtype));

            const Run mean = run(x, targets, options);
            CHECK(mean.loss.shape() == Shape{});
            CHECK(mean.loss.item() == Catch::Approx(sum(right.losses) / counted).epsilon(tolerance).margin(tolerance));
            CHECK(numbers::distance(mean.dlogits, times(right.dlogits, 1 / counted)) <= tolerance);

            options.reduction = Reduction::sum;
            const Run total = run(x, targets, options, Array::full({}, 3, dtype));
            CHECK(total.loss.item() == Catch::Approx(sum(right.losses)).epsilon(tolerance).margin(tolerance));
            CHECK(numbers::distance(total.dlogits, times(right.dlogits, 3)) <= 3 * tolerance);

            options.reduction = Reduction::none;
            const Run each = run(x, targets, options, Array::of({7}, {1, 2, 3, 4, 5, 6, 7}, dtype));
            CHECK(numbers::distance(each.loss, right.losses) <= tolerance);
            std::vector<double> weighted = right.dlogits;
            for (std::size_t i = 0; i < weighted.size(); ++i) weighted[i] *= static_cast<double>(i / static_cast<std::size_t>(V) + 1);
            CHECK(numbers::distance(each.dlogits, weighted) <= 7 * tolerance);
          }
}

TEST_CASE("cross_entropy: gradcheck") {
  const GradcheckOptions wide{.step = 0x1p-9};  // the loss is large beside its slopes, so its rounding shows
  for (const Dim V : {2, 7, 8, 9, 17, 33, 65}) {
    CAPTURE(V);
    const Array x = numbers::random({2, 3, V}, 62);
    const Ids targets = targets_for(6, V, true).reshape({2, 3});
    for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none})
      for (const std::vector<std::int64_t>& excludes : {std::vector<std::int64_t>{}, std::vector<std::int64_t>{0, 1}}) {
        const CrossEntropyOptions options{
            .ignore_id = ignored, .label_smoothing = .2, .smoothing_excludes = excludes, .reduction = reduction};
        CHECK(gradcheck([&](const Tensor& logits) { return cross_entropy(logits, targets, options); }, {x}, wide).error <= 1e-11);
      }
  }
}

TEST_CASE("SL-02: large equal logits", "[case]") {
  const Run got = run(Array::of({1, 2}, {1e8, 1e8}), {1}, {});
  CHECK(got.loss.item() == Catch::Approx(0.6931472).epsilon(1e-7));
  CHECK(got.dlogits.to_vector() == std::vector<double>{.5, -.5});
}

TEST_CASE("SL-03: cross-entropy backward overflow", "[case]") {
  for (const DType dtype : dtypes) {
    const Run got = run(Array::of({1, 3}, {-431, 279, 427}, dtype), {0}, {});
    CHECK(got.loss.item() == 858);
    CHECK(numbers::distance(got.dlogits, {-1, 0, 1}) <= 1e-60);
  }
}

TEST_CASE("SL-04: every target ignored", "[case]") {
  const std::vector<double> zeros(6, 0.0);
  for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
    const CrossEntropyOptions options{.ignore_id = ignored, .reduction = reduction};
    const Run got = run(Array::zeros({2, 3}), {ignored, ignored}, options);
    CHECK(got.loss.item() == 0);
    CHECK(got.dlogits.to_vector() == zeros);
    // What an ignored row holds is not read.
    CHECK(run(Array::full({2, 3}, numbers::nan), {ignored, ignored}, options).loss.item() == 0);
    CHECK(run(Array::full({2, 3}, numbers::nan), {ignored, ignored}, options).dlogits.to_vector() == zeros);

    Parameter weight(Array::of({3, 2}, {1, 2, 3, 4, 5, 6}));
    Tape tape;
    tape.backward(linear_cross_entropy(numbers::random({2, 2}, 63, DType::float32), weight, {ignored, ignored}, options));
    CHECK(weight.grad().to_vector() == zeros);
  }
}

TEST_CASE("SL-06: label smoothing counts ignored rows", "[case]") {
  const Array x = Array::of({2, 3}, {0, 0, 0, 5, 0, -5}, DType::float64);
  const Run got = run(x, {0, ignored}, {.ignore_id = ignored, .label_smoothing = .3});
  CHECK(got.loss.item() == Catch::Approx(1.0986123).epsilon(1e-7));
  for (Dim v = 0; v < 3; ++v) CHECK(got.dlogits.at({1, v}) == 0);
}

TEST_CASE("SL-08: pad class receives smoothing mass", "[case]") {
  const Array x = Array::zeros({1, 5}, DType::float64);  // softmax is .2 everywhere
  const Run got = run(x, {2}, {.label_smoothing = .1, .smoothing_excludes = {0}});
  const std::vector<double> right{0, .1 / 3, .9, .1 / 3, .1 / 3};
  double total = 0;
  for (Dim v = 0; v < 5; ++v) {
    const double q = .2 - got.dlogits.at({0, v});
    CHECK(q == Catch::Approx(right[static_cast<std::size_t>(v)]).margin(1e-15));
    total += q;
  }
  CHECK(total == Catch::Approx(1).epsilon(1e-14));
}

TEST_CASE("a class left out of the smoothing may be -inf") {
  const Array x = Array::of({1, 4}, {-numbers::inf, 1, 2, 3}, DType::float64);
  const Run got = run(x, {3}, {.label_smoothing = .1, .smoothing_excludes = {0}});
  const Run without = run(Array::of({1, 3}, {1, 2, 3}, DType::float64), {2}, {.label_smoothing = .15});  // .05 each beside the target
  CHECK(got.loss.item() == Catch::Approx(without.loss.item()).epsilon(1e-14));
  CHECK(got.dlogits.at({0, 0}) == 0);
}

TEST_CASE("SL-09: target out of range", "[case]") {
  const Array x = numbers::random({3, 5}, 64), h = numbers::random({3, 2}, 65), w = numbers::random({5, 2}, 66);
  const std::string rest = " of targets [3]. Give .ignore_id for ids that do not count";
  CHECK(message<ValueError>([&] {
          cross_entropy(x, {1, 0, 5});
        }) == "cross_entropy: a target must be a class from 0 to 4 (V = 5); got 5 at [2]" + rest);
  CHECK(message<ValueError>([&] {
          cross_entropy(x, {1, -1, 4});
        }) == "cross_entropy: a target must be a class from 0 to 4 (V = 5); got -1 at [1]" + rest);
  CHECK(message<ValueError>([&] {
          cross_entropy(x.reshape({1, 3, 5}), Ids::rows({{1, 0, 7}}));
        }) ==
        "cross_entropy: a target must be a class from 0 to 4 (V = 5); got 7 at [0, 2] of targets [1, 3]. Give .ignore_id for ids that do "
        "not count");
  CHECK(message<ValueError>([&] {
          linear_cross_entropy(h, w, {1, 0, 5});
        }) == "linear_cross_entropy: a target must be a class from 0 to 4 (V = 5); got 5 at [2]" + rest);
  CHECK(std::isfinite(cross_entropy(x, {1, -1, 4}, {.ignore_id = -1}).item()));
}

TEST_CASE("SL-11: loss broadcasts (N) with (N,1)", "[case]") {
  const Array x({3, 5});
  CHECK(message<ShapeError>([&] {
          cross_entropy(x, Ids({1, 2, 3}).reshape({3, 1}));
        }) == "cross_entropy: targets must be [...] for logits [..., V]; got logits [3, 5], targets [3, 1]");
  CHECK(message<ShapeError>([&] {
          cross_entropy(Array({3, 1, 5}), {1, 2, 3});
        }) == "cross_entropy: targets must be [...] for logits [..., V]; got logits [3, 1, 5], targets [3]");
  CHECK(message<ShapeError>([&] { cross_entropy(Array::ones({}), {1}); }) ==
        "cross_entropy: targets must be [...] for logits [..., V]; got logits [], targets [1]");
}

TEST_CASE("SL-13: gradient accumulation: mean of means", "[case]") {
  // Of W = [[0, 100], [z, 0]], h = [1, 0] sees the logits [0, z] and h = [0, 1] sees [100, 0].
  const double z = std::log(std::exp(4.0) - 1);
  const Array value = Array::of({2, 2}, {0, 100, z, 0}, DType::float64);
  const Array h = Array::of({4, 2}, {1, 0, 0, 1, 0, 1, 0, 1}, DType::float64);
  const Ids targets{0, 0, 0, 0};
  Parameter joint(value), weight(value);
  {
    Tape tape;
    const Tensor loss = linear_cross_entropy(h, joint, targets);
    CHECK(loss.item() == Catch::Approx(1).epsilon(1e-12));
    tape.backward(loss);
  }
  double effective = 0;
  const Array share = Array::full({}, .25, DType::float64);  // one over the targets of all batches
  for (const auto& [begin, end] : {std::pair<Dim, Dim>{0, 1}, {1, 4}}) {
    Tape tape;
    const Tensor loss = linear_cross_entropy(h.rows(begin, end), weight, Ids::full({end - begin}, 0), {.reduction = Reduction::sum});
    tape.backward(loss, share);
    effective += loss.item() / 4;
  }
  CHECK(effective == Catch::Approx(1).epsilon(1e-12));
  CHECK(numbers::distance(weight.grad(), joint.grad()) <= 1e-15);
}

TEST_CASE("cross_entropy: a row of -inf has an infinite loss and no gradient; a NaN stays a NaN") {
  const Run got = run(Array::full({1, 9}, -numbers::inf, DType::float64), {0}, {});
  CHECK(got.loss.item() == numbers::inf);
  CHECK(got.dlogits.to_vector() == std::vector<double>(9, 0.0));
  Array x = Array::full({1, 9}, -numbers::inf, DType::float64);
  x.mutable_data<double>()[4] = numbers::nan;
  CHECK(std::isnan(cross_entropy(x, {0}).item()));
}

TEST_CASE("cross_entropy of nothing and of one row") {
  CHECK(cross_entropy(Array({0, 5}), Ids()).item() == 0);
  CHECK(cross_entropy(Array({0, 5}), Ids(), {.reduction = Reduction::none}).shape() == Shape{0});
  const std::int64_t one[] = {2};
  CHECK(cross_entropy(Array::zeros({5}), Ids(Shape{}, one)).item() == Catch::Approx(std::log(5)));
}

TEST_CASE("losses: options outside their range") {
  const Array x({1, 3});
  CHECK(message<ValueError>([&] { cross_entropy(x, {1}, {.label_smoothing = 1.5}); }) ==
        "cross_entropy: label_smoothing must be from 0 to 1; got label_smoothing = 1.5");
  CHECK(message<ValueError>([&] { cross_entropy(x, {1}, {.label_smoothing = .1, .smoothing_excludes = {3}}); }) ==
        "cross_entropy: smoothing_excludes must hold classes from 0 to 2 (V = 3); got 3");
}

TEST_CASE("cross_entropy: same bits on one thread and two") {
  const Array x = numbers::random({401, 129}, 67, DType::float32);
  const Ids targets = targets_for(401, 129, true);
  CHECK(numbers::same_on_two_threads([&]() -> std::vector<Array> {
    const Run got = run(x, targets, {.ignore_id = ignored, .label_smoothing = .1});
    return {got.loss, got.dlogits};
  }));
}
