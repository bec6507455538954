#include <cmath>
#include <functional>
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

using Numbers = std::vector<double>;
using Loss = std::function<Tensor(const Tensor& x, const Tensor& target, Reduction)>;
const DType dtypes[] = {DType::float32, DType::float64};
const Reduction reductions[] = {Reduction::mean, Reduction::sum, Reduction::none};

struct Named {
  const char* op;
  Loss f;
};

const std::vector<Named> losses = {
    {"mse_loss", [](const Tensor& x, const Tensor& t, Reduction r) { return mse_loss(x, t, {.reduction = r}); }},
    {"l1_loss", [](const Tensor& x, const Tensor& t, Reduction r) { return l1_loss(x, t, {.reduction = r}); }},
    {"huber_loss", [](const Tensor& x, const Tensor& t, Reduction r) { return huber_loss(x, t, {.delta = .75, .reduction = r}); }},
    {"smooth_l1_loss", [](const Tensor& x, const Tensor& t, Reduction r) { return smooth_l1_loss(x, t, {.beta = .75, .reduction = r}); }},
    {"bce_with_logits", [](const Tensor& x, const Tensor& t, Reduction r) { return bce_with_logits(x, t, {.reduction = r}); }},
    {"bce_with_logits",
     [](const Tensor& x, const Tensor& t, Reduction r) {
       return bce_with_logits(x, t, {.pos_weight = Array::full({}, 2.5, (x ? x : t).dtype()), .reduction = r});
     }},
    {"kl_div", [](const Tensor& x, const Tensor& t, Reduction r) { return kl_div(x, t, {.reduction = r}); }},
    {"kl_div", [](const Tensor& x, const Tensor& t, Reduction r) { return kl_div(x, t, {.log_target = true, .reduction = r}); }}};

// x and a target at distances of which none is near 0 or ±0.75, where some losses bend; targets far enough from 0 for the logarithm in
// kl_div.
std::vector<Array> inputs(const Shape& shape) {
  Array x(shape, DType::float64), target(shape, DType::float64);
  for (Dim i = 0; i < x.numel(); ++i) {
    const double t = 0.9 + 0.09 * static_cast<double>(i % 8), d = 0.3 + 0.8 * static_cast<double>(i % 3);
    target.mutable_data<double>()[i] = t;
    x.mutable_data<double>()[i] = i % 2 == 0 ? t + d : t - d;
  }
  return {x, target};
}

struct Run {
  Array loss, dx, dtarget;
};
Run run(const Loss& f, const Array& x0, const Array& t0, Reduction reduction = Reduction::none) {
  Tape tape;
  const Tensor x = tape.watch(x0), t = tape.watch(t0), loss = f(x, t, reduction);
  tape.backward(loss, Array::ones(loss.shape(), x0.dtype()));
  return {loss.value(), tape.grad(x), tape.grad(t)};
}

Array f64(std::initializer_list<double> values) { return Array::of({static_cast<Dim>(values.size())}, values, DType::float64); }

}  // namespace

TEST_CASE("elementwise losses: gradcheck of input and target, every reduction and width") {
  for (const Named& loss : losses)
    for (const Reduction reduction : reductions)
      for (const Shape& shape : {Shape{1}, Shape{7}, Shape{8}, Shape{9}, Shape{3, 5}, Shape{17}, Shape{33}, Shape{}}) {
        const GradcheckReport report =
            gradcheck([&](const Tensor& x, const Tensor& t) { return loss.f(x, t, reduction); }, inputs(shape), {.step = 0x1p-10});
        INFO(loss.op << ", shape " << shape.str() << ": " << report.str());
        CHECK(report.ok(1e-11));
      }
}

TEST_CASE("elementwise losses: a mean divides by the number of elements, a mean of nothing is 0") {
  for (const Named& loss : losses)
    for (const DType dtype : dtypes) {
      std::vector<Array> in = inputs({3, 9});
      for (Array& a : in) a = a.cast(dtype);
      const Run each = run(loss.f, in[0], in[1]), sum = run(loss.f, in[0], in[1], Reduction::sum),
                mean = run(loss.f, in[0], in[1], Reduction::mean);
      CHECK(each.loss.shape() == Shape{3, 9});
      CHECK(sum.loss.shape() == Shape{});
      CHECK(sum.loss.item() == Catch::Approx(tapeform::sum(Tensor(each.loss)).item()).epsilon(1e-6));
      CHECK(mean.loss.item() == Catch::Approx(sum.loss.item() / 27).epsilon(1e-6));
      CHECK(same_bits(sum.dx, each.dx));
      CHECK(mean.dtarget.at({1, 2}) == Catch::Approx(sum.dtarget.at({1, 2}) / 27).epsilon(1e-6));
      const Run none = run(loss.f, Array(Shape{0, 3}, dtype), Array(Shape{0, 3}, dtype), Reduction::mean);
      CHECK(none.loss.item() == 0);
      CHECK(none.dx.shape() == Shape{0, 3});
    }
}

TEST_CASE("elementwise losses: values, and gradients at the bends") {
  const Run squares = run(losses[0].f, f64({1, 2, -1}), f64({1, 5, 1}));
  CHECK(squares.loss.to_vector() == Numbers{0, 9, 4});
  CHECK(squares.dx.to_vector() == Numbers{0, -6, -4});
  CHECK(squares.dtarget.to_vector() == Numbers{0, 6, 4});
  const Run absolute = run(losses[1].f, f64({1, 2, 7}), f64({1, 5, 1}));
  CHECK(absolute.loss.to_vector() == Numbers{0, 3, 6});
  CHECK(absolute.dx.to_vector() == Numbers{0, -1, 1});
  const Run huber = run(losses[2].f, f64({0, .5, .75, 3, -3}), f64({0, 0, 0, 0, 0}));
  CHECK(huber.loss.to_vector() == Numbers{0, .125, .28125, .75 * 2.625, .75 * 2.625});
  CHECK(huber.dx.to_vector() == Numbers{0, .5, .75, .75, -.75});
  const Run smooth = run(losses[3].f, f64({0, .375, .75, 3, -3}), f64({0, 0, 0, 0, 0}));
  CHECK(smooth.loss.to_vector() == Numbers{0, .09375, .375, 2.625, 2.625});
  CHECK(smooth.dx.to_vector() == Numbers{0, .5, 1, 1, -1});
  const Run corner = run([](const Tensor& x, const Tensor& t, Reduction r) { return smooth_l1_loss(x, t, {.beta = 0, .reduction = r}); },
                         f64({0, 2, -3}), f64({0, 0, 0}));
  CHECK(corner.loss.to_vector() == Numbers{0, 2, 3});
  CHECK(corner.dx.to_vector() == Numbers{0, 1, -1});
}

TEST_CASE("bce_with_logits: both tails keep their bits, in float32 too; a part of weight 0 takes no part") {
  for (const DType dtype : dtypes) {
    const Array x = Array::of({6}, {100, -100, -60, 60, numbers::inf, -numbers::inf}, dtype), t = Array::of({6}, {0, 1, 0, 1, 1, 0}, dtype);
    const Run got = run(losses[4].f, x, t);
    CHECK(got.loss.at({0}) == 100);
    CHECK(got.loss.at({1}) == 100);
    CHECK(got.loss.at({2}) == Catch::Approx(std::exp(-60)).epsilon(1e-6));
    CHECK(got.loss.at({3}) == Catch::Approx(std::exp(-60)).epsilon(1e-6));
    CHECK(got.loss.at({4}) == 0);
    CHECK(got.loss.at({5}) == 0);
    CHECK(got.dx.at({0}) == 1);
    CHECK(got.dx.at({1}) == -1);
    CHECK(got.dx.at({2}) == Catch::Approx(std::exp(-60)).epsilon(1e-6));
    CHECK(got.dx.at({3}) == Catch::Approx(-std::exp(-60)).epsilon(1e-6));
    CHECK(got.dx.at({4}) == 0);
    CHECK(got.dx.at({5}) == 0);
  }
}

TEST_CASE("bce_with_logits: pos_weight broadcasts and weighs the part of target 1") {
  const Array x = numbers::random({2, 3}, 1), ones = Array::ones({2, 3}, DType::float64), zeros = Array::zeros({2, 3}, DType::float64);
  const Array weights = f64({2, 3, 4});
  const auto loss = [&](const Array& target, const Array& pos_weight) {
    return bce_with_logits(x, target, {.pos_weight = pos_weight, .reduction = Reduction::none}).value();
  };
  const Array plain = loss(ones, {}), weighted = loss(ones, weights);
  for (Dim i = 0; i < 2; ++i)
    for (Dim j = 0; j < 3; ++j) CHECK(weighted.at({i, j}) == Catch::Approx(plain.at({i, j}) * (2 + static_cast<double>(j))).epsilon(1e-14));
  CHECK(same_bits(loss(zeros, weights), loss(zeros, {})));
  const GradcheckReport report = gradcheck([&](const Tensor& v, const Tensor& t) { return bce_with_logits(v, t, {.pos_weight = weights}); },
                                           {x, Array::full({2, 3}, .3, DType::float64)});
  INFO(report.str());
  CHECK(report.ok(1e-11));
}

TEST_CASE("kl_div: what the target gives probability 0 takes no part; equal distributions have divergence 0") {
  const double nowhere = -numbers::inf;
  const Run plain = run(losses[6].f, f64({nowhere, std::log(.5), -1}), f64({0, .5, 0}));
  CHECK(plain.loss.to_vector() == Numbers{0, 0, 0});
  CHECK(plain.dx.to_vector() == Numbers{0, -.5, 0});
  const Run logs = run(losses[7].f, f64({nowhere, std::log(.5), -1}), f64({nowhere, std::log(.5), nowhere}));
  CHECK(logs.loss.to_vector() == Numbers{0, 0, 0});
  CHECK(logs.dx.to_vector() == Numbers{0, -.5, 0});
  CHECK(logs.dtarget.to_vector() == Numbers{0, .5, 0});
}

TEST_CASE("elementwise losses: a NaN stays a NaN") {
  for (const Named& loss : losses) CHECK(std::isnan(run(loss.f, f64({numbers::nan}), f64({.5})).loss.item()));
}

TEST_CASE("SL-11: losses of [3] against [3, 1] are refused", "[case]") {
  const Array a = Array::of({3}, {1, 2, 3}), b = Array::of({3, 1}, {1, 2, 3});
  for (const Named& loss : losses) {
    const std::string rest = ": target must have x's shape; got x [3], target [3, 1]. Nothing broadcasts in a loss: reshape one of them";
    CHECK(message<ShapeError>([&] { loss.f(a, b, Reduction::mean); }) == loss.op + rest);
    CHECK(message<ShapeError>([&] { loss.f(a, Array::ones({}), Reduction::mean); }) ==
          std::string(loss.op) + ": target must have x's shape; got x [3], target []. Nothing broadcasts in a loss: reshape one of them");
    CHECK(message<DTypeError>([&] { loss.f(a, a.cast(DType::float64), Reduction::mean); }) ==
          std::string(loss.op) + ": dtypes must agree; got x float32, target float64. Convert one with cast()");
    CHECK(message<ValueError>([&] { loss.f(a, Tensor(), Reduction::mean); }).starts_with(std::string(loss.op) + ": target holds nothing"));
    CHECK(message<ValueError>([&] { loss.f(Tensor(), a, Reduction::mean); }).starts_with(std::string(loss.op) + ": x holds nothing"));
  }
}

TEST_CASE("elementwise losses: options outside their range") {
  const Array x = Array::ones({2, 3});
  CHECK(message<ValueError>([&] { huber_loss(x, x, {.delta = 0}); }) == "huber_loss: delta must be positive and finite; got delta = 0");
  CHECK(message<ValueError>([&] { smooth_l1_loss(x, x, {.beta = -1}); }) ==
        "smooth_l1_loss: beta must be finite and not negative; got beta = -1");
  CHECK(message<ShapeError>([&] { bce_with_logits(x, x, {.pos_weight = Array::ones({2})}); }) ==
        "bce_with_logits: shapes must broadcast; got x [2, 3], pos_weight [2]. Aligned at the last axis, sizes must be equal or one of "
        "them 1");
  CHECK(message<ShapeError>([&] {
          bce_with_logits(x, x, {.pos_weight = Array::ones({4, 1, 1})});
        }) == "bce_with_logits: pos_weight must broadcast to x; got x [2, 3], pos_weight [4, 1, 1]");
  CHECK(message<DTypeError>([&] { bce_with_logits(x, x, {.pos_weight = Array::ones({3}, DType::float64)}); }) ==
        "bce_with_logits: dtypes must agree; got x float32, pos_weight float64. Convert one with cast()");
}

TEST_CASE("elementwise losses: same bits on one thread and two") {
  const Array x = numbers::random({301, 258}, 5, DType::float32), t = numbers::random({301, 258}, 6, DType::float32);
  CHECK(numbers::same_on_two_threads([&]() -> std::vector<Array> {
    const Run got = run(losses[2].f, x, t, Reduction::mean);
    return {got.loss, got.dx, got.dtarget};
  }));
}
