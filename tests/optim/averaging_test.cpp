#include <cmath>
#include <limits>
#include <memory>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/checkpoint.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/optim/averaging.hpp>
#include <tapeform/optim/sgd.hpp>
#include <vector>

#include "catch.hpp"
#include "core/files.hpp"
#include "message.hpp"

using namespace tapeform;
using optim::WeightAverage;
using optim::WeightEma;

namespace {

struct Model {
  Parameter w, b;
  explicit Model(DType dtype = DType::float64) : w(Array::zeros({3}, dtype)), b(Array::zeros({1}, dtype)) {}
  void visit(Fields& field) {
    field("w", w);
    field("b", b);
  }
  /// Weights that stand for time t.
  void set(int t) const {
    Rng rng(static_cast<std::uint64_t>(t));
    w.ref().value() = normal({3}, 0, 1, rng, w.dtype());
    b.ref().value() = Array::full({1}, t, b.dtype());
  }
};

std::vector<double> mean_at(std::initializer_list<int> times) {
  const Model model;
  std::vector<double> mean(3, 0.0);
  for (const int t : times) {
    model.set(t);
    for (std::size_t i = 0; i < 3; ++i) mean[i] += model.w.value().at({static_cast<Dim>(i)}) / static_cast<double>(times.size());
  }
  return mean;
}

void check_mean(const WeightAverage& average, std::initializer_list<int> times) {
  const Model averaged;
  average.assign_to(parameters(averaged));
  const std::vector<double> expected = mean_at(times);
  for (std::size_t i = 0; i < 3; ++i) CHECK(averaged.w.value().at({static_cast<Dim>(i)}) == Catch::Approx(expected[i]).epsilon(1e-14));
}

}  // namespace

TEST_CASE("WeightEma begins as the weights and follows them") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Model model(dtype), averaged(dtype);
    WeightEma ema(named_parameters(model), {.decay = 0.75});
    double expected = 1;
    for (int t = 1; t <= 20; ++t) {
      model.set(t);
      ema.update();
      expected = t == 1 ? 1 : 0.75 * expected + 0.25 * t;
    }
    ema.assign_to(parameters(averaged));
    CHECK(averaged.b.value().item() == Catch::Approx(expected).epsilon(dtype == DType::float32 ? 1e-6 : 1e-14));
    CHECK(model.b.value().item() == 20);  // the model itself keeps its weights
    CHECK(ema.averages()[0].name == "w");
    model.set(21);
    ema.update();
    CHECK(averaged.b.value().item() == Catch::Approx(expected).epsilon(1e-6));  // and what was handed out stays
  }
  const Model model;
  WeightEma last(parameters(model), {.decay = 0});
  for (const int t : {3, 4}) {
    model.set(t);
    last.update();
  }
  CHECK(same_bits(last.averages()[0].value, model.w.value()));
}

TEST_CASE("WeightEma beside an optimizer: a tied weight once, and the model trains on") {
  const Parameter w(Array::ones({2}, DType::float64));
  optim::SGD sgd({w.ref()}, {.lr = 0.5});
  WeightEma ema(std::vector{w.ref(), w.ref()}, {.decay = 0.5});
  CHECK(ema.averages().size() == 1);
  for (int t = 0; t < 2; ++t) {
    w.ref().grad() = Array::ones({2}, DType::float64);
    sgd.step();
    ema.update();
  }
  CHECK(w.value().to_vector() == std::vector<double>{0.0, 0.0});
  CHECK(ema.averages()[0].value.to_vector() == std::vector<double>{0.25, 0.25});
}

TEST_CASE("WeightAverage of the last sets") {
  const Model model;
  WeightAverage average(parameters(model), {.keep = 3});
  const auto at = [&](int t) {
    model.set(t);
    average.add();
  };
  at(1);
  check_mean(average, {1});
  at(2);
  CHECK(average.count() == 2);
  check_mean(average, {1, 2});
  for (int t = 3; t <= 7; ++t) at(t);
  CHECK(average.count() == 3);
  CHECK(average.scores().empty());
  check_mean(average, {5, 6, 7});
}

TEST_CASE("WeightAverage of the best sets") {
  for (const bool maximize : {false, true}) {
    const Model model;
    WeightAverage average(named_parameters(model), {.keep = 2, .maximize = maximize});
    const double sign = maximize ? -1 : 1;
    const auto at = [&](int t, double loss) {
      model.set(t);
      return average.add(sign * loss);
    };
    CHECK_FALSE(at(9, std::numeric_limits<double>::quiet_NaN()));
    CHECK(average.count() == 0);
    CHECK(at(1, 3.0));
    CHECK(at(2, 5.0));
    CHECK_FALSE(at(3, 6.0));
    CHECK_FALSE(at(4, 5.0));  // no better: the earlier one stays
    CHECK(at(5, 4.0));
    CHECK(average.scores() == std::vector<double>{sign * 3.0, sign * 4.0});
    check_mean(average, {1, 5});
    CHECK(at(6, 1.0));
    check_mean(average, {1, 6});
  }
}

TEST_CASE("averages are saved and restored") {
  const TemporaryFile file("averages.safetensors");
  const Model model;
  WeightEma ema(named_parameters(model), {.decay = 0.5}), other_ema(named_parameters(model), {.decay = 0.5});
  WeightAverage best(named_parameters(model), {.keep = 3}), other_best(named_parameters(model), {.keep = 3});
  WeightAverage last(named_parameters(model), {.keep = 2}), other_last(named_parameters(model), {.keep = 2});
  for (int t = 1; t <= 3; ++t) {
    model.set(t);
    ema.update();
    last.add();
    if (t < 3) best.add(t);
  }
  io::save_checkpoint(file.path, {{"ema", ema}, {"best", best}, {"last", last}});
  io::load_checkpoint(file.path, {{"ema", other_ema}, {"best", other_best}, {"last", other_last}});
  CHECK(same_bits(other_ema.averages()[0].value, ema.averages()[0].value));
  CHECK(other_best.count() == 2);
  model.set(4);
  for (WeightAverage* const each : {&best, &other_best}) CHECK(each->add(0.5));
  for (WeightAverage* const each : {&last, &other_last}) each->add();
  CHECK(other_best.scores() == std::vector<double>{1, 2, 0.5});
  check_mean(other_best, {1, 2, 4});
  check_mean(other_last, {3, 4});
}

TEST_CASE("averages name what does not fit") {
  const Model model;
  const auto refs = parameters(model);
  CHECK(message<ValueError>([&] { WeightEma(refs, {.decay = 1}); }) == "WeightEma: decay must be a number, at least 0 and below 1; got 1");
  CHECK(message<ValueError>([&] { WeightAverage(refs, {.keep = 0}); }) == "WeightAverage: keep must be at least 1; got 0");
  WeightEma ema(named_parameters(model));
  WeightAverage average(named_parameters(model));
  CHECK(message<ValueError>([&] { ema.assign_to(refs); }) == "WeightEma: there is no average before the first update(); got none");
  CHECK(message<ValueError>([&] { average.assign_to(refs); }) == "WeightAverage: there is no average before the first add(); got none");
  ema.update();
  average.add();
  CHECK(message<ValueError>([&] { average.add(0.5); }) ==
        "WeightAverage: either all sets of weights have a score or none has; got one with a score after 1 without one");
  CHECK(message<ValueError>([&] { ema.assign_to({refs[0]}); }) ==
        "WeightEma: there must be a parameter for each average; got 1 parameters, 2 averages");
  CHECK(message<ShapeError>([&] {
          average.assign_to({refs[1], refs[0]});
        }) == "WeightAverage: a weight must have the shape that is kept; got 'w' [1], kept [3]");
  const Model narrow(DType::float32);
  CHECK(message<DTypeError>([&] { ema.assign_to(parameters(narrow)); }) ==
        "WeightEma: a weight must have the dtype that is kept; got 'w' float32, kept float64");
  model.w.ref().value() = Array::zeros({4}, DType::float64);
  CHECK(message<ShapeError>([&] { ema.update(); }) == "WeightEma: a weight must have the shape that is kept; got 'w' [4], kept [3]");
  auto gone = std::make_unique<Parameter>(Array::zeros({1}));
  WeightEma orphan(std::vector<NamedParameter>{{"w", gone->ref()}});
  gone.reset();
  CHECK(message<ValueError>([&] { orphan.update(); }).starts_with("WeightEma: 'w' belongs to a module that was destroyed"));
}
