#include <tapeform/optim/adamw.hpp>
#include <tapeform/optim/clip.hpp>
#include <tapeform/optim/schedule.hpp>

#include "catch.hpp"
#include "golden.hpp"
#include "optim/trails.hpp"

using namespace tapeform;
using golden::Case;
using golden::Runner;

namespace {

/// The 20 updates of a case; every update's weights are compared.
void train(Case& c, optim::AdamW& adamw, const Parameter& weight, const Parameter& bias) {
  const Array dweight = c.array("dweight"), dbias = c.array("dbias");
  std::vector<Array> weights, biases, norms;
  for (Dim t = 0; t < dweight.dim(0); ++t) {
    weight.ref().grad() = step_of(dweight, t);
    bias.ref().grad() = step_of(dbias, t);
    if (c.has("in/limit")) {
      norms.push_back(Array::full({}, optim::clip_grad_norm({weight.ref(), bias.ref()}, c.option("limit", 1)), c.dtype()));
    }
    adamw.step();
    weights.push_back(weight.value());
    biases.push_back(bias.value());
  }
  c.check_numbers("out/weight", stack(weights, c.dtype()));
  c.check_numbers("out/bias", stack(biases, c.dtype()));
  if (!norms.empty()) c.check_numbers("out/norm", stack(norms, c.dtype()));
}

optim::AdamWOptions adamw_options(const Case& c) {
  return {.lr = c.option("lr", 0),
          .beta1 = c.option("beta1", 0),
          .beta2 = c.option("beta2", 0),
          .eps = c.option("eps", 0),
          .weight_decay = c.option("weight_decay", 0)};
}

void adamw(Case& c) {
  const Parameter weight(c.array("weight")), bias(c.array("bias"));
  optim::AdamW adamw({weight.ref(), bias.ref()}, adamw_options(c));
  train(c, adamw, weight, bias);
}

void adamw_groups(Case& c) {
  const Parameter weight(c.array("weight")), bias(c.array("bias"));
  std::vector<optim::ParameterGroup> groups(2);
  groups[0].parameters = {{"weight", weight.ref()}};
  groups[1] = {.parameters = {{"bias", bias.ref()}}, .lr_factor = 0.5, .weight_decay_factor = 0};
  optim::AdamW adamw(groups, adamw_options(c));
  train(c, adamw, weight, bias);
}

void cosine(Case& c) {
  const optim::CosineSchedule schedule({.lr = c.option("lr", 0),
                                        .min_lr = c.option("min_lr", 0),
                                        .warmup = static_cast<std::int64_t>(c.option("warmup", 0)),
                                        .total = static_cast<std::int64_t>(c.option("total", 0))});
  std::vector<Array> rates;
  for (std::int64_t step = 0; step <= schedule.options().total; ++step) rates.push_back(Array::full({}, schedule.lr(step), DType::float64));
  c.check_numbers("out/lr", stack(rates, c.dtype()));
}

void clip(Case& c) {
  const Parameter a(Array::zeros({3, 4}, c.dtype())), b(Array::zeros({5}, c.dtype())), d(Array::zeros({2, 2, 2}, c.dtype()));
  a.ref().grad() = c.array("da");
  b.ref().grad() = c.array("db");
  d.ref().grad() = c.array("dc");
  const double norm = optim::clip_grad_norm({a.ref(), b.ref(), d.ref()}, c.option("limit", 0));
  c.check_numbers("out/norm", Array::full({}, norm, c.dtype()));
  c.check_numbers("out/da", a.grad());
  c.check_numbers("out/db", b.grad());
  c.check_numbers("out/dc", d.grad());
}

const std::vector<Runner> runners{{"adamw_", adamw}, {"adamw_groups", adamw_groups}, {"cosine_", cosine}, {"clip_", clip}};

}  // namespace

TEST_CASE("golden: AdamW, clipping and the cosine schedule agree with PyTorch in float64") {
  golden::run_file("optim", DType::float64, runners);
}
TEST_CASE("golden: AdamW, clipping and the cosine schedule agree with PyTorch in float32") {
  golden::run_file("optim", DType::float32, runners);
}
