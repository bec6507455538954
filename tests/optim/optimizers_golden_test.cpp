#include <tapeform/optim/adagrad.hpp>
#include <tapeform/optim/adam.hpp>
#include <tapeform/optim/adamw.hpp>
#include <tapeform/optim/lion.hpp>
#include <tapeform/optim/rmsprop.hpp>
#include <tapeform/optim/sgd.hpp>

#include "catch.hpp"
#include "golden.hpp"
#include "optim/trails.hpp"

using namespace tapeform;
using golden::Case;
using golden::Runner;

namespace {

/// curvature·w, the gradient of ½ Σ curvature·w².
Array steep_slope(const Array& curvature, const Array& w) {
  std::vector<double> g = w.to_vector();
  for (std::size_t i = 0; i < g.size(); ++i) g[i] *= curvature.at({static_cast<Dim>(i)});
  return Array::of(w.shape(), std::span<const double>(g)).cast(w.dtype());
}

/// The gradient of Rosenbrock's valley (1 − x)² + 100·(y − x²)².
Array valley(const Array& b) {
  const double x = b.at({0}), y = b.at({1});
  return Array::of({2}, {-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)}, b.dtype());
}

/// The 20 updates of a case; the weights after each of them are compared.
void train(Case& c, optim::Optimizer& optimizer, const Parameter& weight, const Parameter& bias) {
  std::vector<Array> weights, biases;
  for (Dim t = 0; t < 20; ++t) {
    if (c.has("in/curvature")) {
      weight.ref().grad() = steep_slope(c.array("curvature"), weight.value());
      bias.ref().grad() = valley(bias.value());
    } else {
      weight.ref().grad() = step_of(c.array("dweight"), t);
      if (!c.has("in/present") || c.ids("present")[t] == 1) bias.ref().grad() = step_of(c.array("dbias"), t);
    }
    optimizer.step();
    optimizer.zero_grad();
    weights.push_back(weight.value());
    biases.push_back(bias.value());
  }
  c.check_numbers("out/weight", stack(weights, c.dtype()));
  c.check_numbers("out/bias", stack(biases, c.dtype()));
}

template <class O>
void run(Case& c, const typename O::Options& options) {
  const Parameter weight(c.array("weight")), bias(c.array("bias"));
  std::vector<optim::ParameterGroup> groups(2);
  groups[0].parameters = {{"weight", weight.ref()}};
  groups[1].parameters = {{"bias", bias.ref()}};
  if (c.name().ends_with("groups")) groups[1].lr_factor = 0.5, groups[1].weight_decay_factor = 0;
  O optimizer(groups, options);
  train(c, optimizer, weight, bias);
}

void sgd(Case& c) {
  run<optim::SGD>(c, {.lr = c.option("lr", 0),
                      .momentum = c.option("momentum", 0),
                      .dampening = c.option("dampening", 0),
                      .weight_decay = c.option("weight_decay", 0),
                      .nesterov = c.option("nesterov", 0) == 1});
}

template <class O>
void adam(Case& c) {
  run<O>(c, {.lr = c.option("lr", 0),
             .beta1 = c.option("beta1", 0),
             .beta2 = c.option("beta2", 0),
             .eps = c.option("eps", 0),
             .weight_decay = c.option("weight_decay", 0),
             .amsgrad = c.option("amsgrad", 0) == 1});
}

void rmsprop(Case& c) {
  run<optim::RMSprop>(c, {.lr = c.option("lr", 0),
                          .alpha = c.option("alpha", 0),
                          .eps = c.option("eps", 0),
                          .weight_decay = c.option("weight_decay", 0),
                          .momentum = c.option("momentum", 0),
                          .centered = c.option("centered", 0) == 1});
}

void adagrad(Case& c) {
  run<optim::Adagrad>(c, {.lr = c.option("lr", 0),
                          .lr_decay = c.option("lr_decay", 0),
                          .weight_decay = c.option("weight_decay", 0),
                          .initial_accumulator_value = c.option("initial_accumulator_value", 0),
                          .eps = c.option("eps", 0)});
}

void lion(Case& c) {
  run<optim::Lion>(
      c,
      {.lr = c.option("lr", 0), .beta1 = c.option("beta1", 0), .beta2 = c.option("beta2", 0), .weight_decay = c.option("weight_decay", 0)});
}

const std::vector<Runner> runners{{"sgd_", sgd},         {"adam_", adam<optim::Adam>}, {"adamw_", adam<optim::AdamW>},
                                  {"rmsprop_", rmsprop}, {"adagrad_", adagrad},        {"lion_", lion}};

}  // namespace

TEST_CASE("golden: 20 updates of every optimizer agree with PyTorch's in float64") {
  golden::run_file("optimizers", DType::float64, runners);
}
TEST_CASE("golden: 20 updates of every optimizer agree with PyTorch's in float32") {
  golden::run_file("optimizers", DType::float32, runners);
}
