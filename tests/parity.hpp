#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <tapeform/tapeform.hpp>
#include <vector>

/// The training run of tests/golden/parity_cases.py, here.
namespace parity {

using namespace tapeform;

struct Recipe {
  Dim vocabulary = 0, layers = 0, heads = 0, width = 0, context = 0;
  std::int64_t updates = 0, warmup = 0;  ///< of the schedule
  double lr = 1e-3, min_lr = 1e-4, beta1 = 0.9, beta2 = 0.99, decay = 0.1, clip = 1.0;
  double adam_eps = 1e-8, norm_eps = 1e-5;
  nn::Activation activation = nn::Activation::gelu;
};

/// A recipe that is wrong in one place: `tanh`, `adam_eps`, `norm_eps` or `no_decay`.
inline const std::vector<std::string> variants{"tanh", "adam_eps", "norm_eps", "no_decay"};
inline Recipe variant_of(Recipe recipe, const std::string& name) {
  if (name == "tanh") recipe.activation = nn::Activation::gelu_tanh;
  if (name == "adam_eps") recipe.adam_eps = 1e-7;
  if (name == "norm_eps") recipe.norm_eps = 1e-6;
  if (name == "no_decay") recipe.decay = 0;
  return recipe;
}

inline nn::CausalLM make_model(const Recipe& recipe) {
  Rng rng(1);  // the caller replaces what it draws
  return nn::CausalLM(recipe.vocabulary, rng,
                      {.num_hiddens = recipe.width,
                       .num_heads = recipe.heads,
                       .num_layers = recipe.layers,
                       .max_len = recipe.context,
                       .activation = recipe.activation,
                       .layer_norm_eps = recipe.norm_eps,
                       .bias = false});
}

/// Windows [first, last) of ids [..., T + 1], as inputs and targets [last − first, T].
inline std::pair<Ids, Ids> split(const Ids& windows, Dim first, Dim last) {
  const Dim length = windows.shape()[-1];
  std::vector<std::int64_t> inputs, targets;
  const auto values = windows.values();
  for (Dim i = first; i < last; ++i) {
    const auto window = values.begin() + i * length;
    inputs.insert(inputs.end(), window, window + length - 1);
    targets.insert(targets.end(), window + 1, window + length);
  }
  const Shape shape{last - first, length - 1};
  return {Ids(shape, inputs), Ids(shape, targets)};
}

/// The loss before each of `updates` updates on windows [≥ updates, B, T + 1].
inline std::vector<double> train(const Recipe& recipe, const nn::CausalLM& model, const Ids& windows, std::int64_t updates) {
  const auto parameters = nn::parameters(model);
  optim::AdamW adamw(optim::decay_groups(model),
                     {.lr = recipe.lr, .beta1 = recipe.beta1, .beta2 = recipe.beta2, .eps = recipe.adam_eps, .weight_decay = recipe.decay});
  const optim::CosineSchedule schedule({.lr = recipe.lr, .min_lr = recipe.min_lr, .warmup = recipe.warmup, .total = recipe.updates});
  const Dim batch = windows.shape()[1];
  std::vector<double> losses;
  for (std::int64_t update = 0; update < updates; ++update) {
    const auto [inputs, targets] = split(windows, update * batch, (update + 1) * batch);
    adamw.set_lr(schedule.lr(update));
    Tape tape;
    const Tensor loss = model.loss(inputs, targets);
    tape.backward(loss);
    optim::clip_grad_norm(parameters, recipe.clip);
    adamw.step();
    adamw.zero_grad();
    losses.push_back(loss.item());
  }
  return losses;
}

/// Mean loss over windows [N, T + 1].
inline double validation(const nn::CausalLM& model, const Ids& windows) {
  const Dim count = windows.shape()[0], at_once = 64;
  double sum = 0;
  for (Dim first = 0; first < count; first += at_once) {
    const auto [inputs, targets] = split(windows, first, std::min(count, first + at_once));
    sum += model.loss(inputs, targets, {.reduction = Reduction::sum}).item();
  }
  return sum / static_cast<double>(count * (windows.shape()[1] - 1));
}

/// How far losses lie apart at most, in the updates that both have; infinite when one of them is no number.
inline double largest_gap(std::span<const double> ours, std::span<const double> theirs) {
  double largest = 0;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    const double gap = std::abs(ours[i] - theirs[i]);
    largest = std::isnan(gap) ? INFINITY : std::max(largest, gap);
  }
  return largest;
}

/// What the first 100 losses may differ by.
inline double allowed_gap(DType dtype) { return dtype == DType::float64 ? 1e-9 : 2e-5; }
/// What the loss on held-out text may differ by at the end.
constexpr double allowed_validation_gap = 1e-3;

}  // namespace parity
