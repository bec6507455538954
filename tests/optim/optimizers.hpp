#pragma once
#include <functional>
#include <memory>
#include <string>
#include <tapeform/optim/adagrad.hpp>
#include <tapeform/optim/adam.hpp>
#include <tapeform/optim/adamw.hpp>
#include <tapeform/optim/lion.hpp>
#include <tapeform/optim/rmsprop.hpp>
#include <tapeform/optim/sgd.hpp>
#include <vector>

/// Every optimizer, with all that it can keep, for tests of what they have in common.
namespace {

struct Maker {
  std::string name;
  std::function<std::unique_ptr<tapeform::optim::Optimizer>(const std::vector<tapeform::NamedParameter>&)> make;
};

template <class O>
Maker maker(const std::string& name, const typename O::Options& options) {
  return {name, [options](const std::vector<tapeform::NamedParameter>& parameters) { return std::make_unique<O>(parameters, options); }};
}

[[maybe_unused]] const std::vector<Maker>& makers() {
  using namespace tapeform::optim;
  static const std::vector<Maker> all{
      maker<SGD>("SGD", {.lr = 0.1, .weight_decay = 0.1}),
      maker<SGD>("SGD with momentum", {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true}),
      maker<Adam>("Adam", {.lr = 0.1, .weight_decay = 0.1}),
      maker<AdamW>("AdamW with amsgrad", {.lr = 0.1, .weight_decay = 0.1, .amsgrad = true}),
      maker<RMSprop>("RMSprop", {.lr = 0.1, .weight_decay = 0.1}),
      maker<RMSprop>("RMSprop, centred, with momentum", {.lr = 0.01, .weight_decay = 0.1, .momentum = 0.9, .centered = true}),
      maker<Adagrad>("Adagrad", {.lr = 0.1, .lr_decay = 0.1, .weight_decay = 0.1, .initial_accumulator_value = 0.5}),
      maker<Lion>("Lion", {.lr = 0.1, .weight_decay = 0.1}),
  };
  return all;
}

}  // namespace
