#include <tapeform/core/error.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/tape.hpp>
#include <tapeform/core/update.hpp>
#include <tapeform/optim/adamw.hpp>
#include <tapeform/optim/clip.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;
using optim::AdamW;

namespace {

Array numbers(std::initializer_list<double> values, DType dtype = DType::float64) {
  return Array::of({static_cast<Dim>(values.size())}, values, dtype);
}

struct Norm {
  Parameter weight, bias;
  void visit(Fields& field) {
    field("weight", weight);
    field("bias", bias);
  }
};
struct Layer {
  Norm layer_norm, LayerNorm;
  Parameter matrix;
  void visit(Fields& field) {
    field("layer_norm", layer_norm);
    field("LayerNorm", LayerNorm);
    field("matrix", matrix);
  }
};

// The update written out, one number at a time, in the order of torch's.
void reference(double& w, double g, double& m, double& v, const AdamStep& s) {
  w *= 1 - s.lr * s.weight_decay;
  m = s.beta1 * m + (1 - s.beta1) * g;
  v = s.beta2 * v + (1 - s.beta2) * g * g;
  const double t = static_cast<double>(s.step);
  const double corrected_m = m / (1 - std::pow(s.beta1, t)), corrected_v = v / (1 - std::pow(s.beta2, t));
  w -= s.lr * corrected_m / (std::sqrt(corrected_v) + s.eps);
}

}  // namespace

TEST_CASE("AdamW takes torch's steps, and counts those of each parameter") {
  Parameter p(numbers({1.0, -2.0, 0.5})), q(numbers({0.3}));
  AdamW adamw(std::vector{p.ref(), q.ref()}, {.lr = 0.01, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.1});
  const Array gradients[] = {numbers({0.1, -0.2, 3.0}), numbers({0.5, 0.4, -1.0}), numbers({0.0, 1e-4, 2.0})};
  for (int i = 0; i < 3; ++i) {
    p.ref().grad() = gradients[i];
    if (i > 0) q.ref().grad() = numbers({i == 1 ? 1.0 : -0.25});
    adamw.step();
    adamw.zero_grad();
    CHECK_FALSE(p.grad());
  }
  // torch.optim.AdamW, 2.15, float64
  const double expected[] = {0.9718751665020655, -1.9912966772468024, 0.479045063659096};
  for (Dim i = 0; i < 3; ++i) CHECK(p.value().at({i}) == Catch::Approx(expected[i]).epsilon(1e-14));
  CHECK(q.value().at({0}) == Catch::Approx(0.28518572589855173).epsilon(1e-14));
  CHECK(adamw.slots()[0].moments[0].at({0}) == Catch::Approx(0.0928).epsilon(1e-14));
  CHECK(adamw.slots()[0].moments[1].at({2}) == Catch::Approx(0.653625).epsilon(1e-14));
  CHECK(adamw.slots()[0].steps == 3);
  CHECK(adamw.slots()[1].steps == 2);
}

TEST_CASE("one pass equals the update written out, at every length") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const Dim n : {0, 1, 7, 8, 9, 17, 33, 65, (1 << 14) - 1, 1 << 14, (1 << 14) + 1}) {
      Rng rng(static_cast<std::uint64_t>(n) + 1);
      Array w = normal({n}, 0, 1, rng, dtype), m = Array::zeros({n}, dtype), v = Array::zeros({n}, dtype);
      std::vector<double> rw = w.to_vector(), rm(rw.size(), 0.0), rv(rw.size(), 0.0);
      for (std::int64_t step = 1; step <= 3; ++step) {
        const Array g = normal({n}, 0, 1, rng, dtype);
        const AdamStep numbers{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-3, .weight_decay = 0.2, .step = step};
        adam_update(w, g, m, v, nullptr, numbers);
        const std::vector<double> gradient = g.to_vector();
        for (std::size_t i = 0; i < rw.size(); ++i) reference(rw[i], gradient[i], rm[i], rv[i], numbers);
      }
      const double tolerance = dtype == DType::float32 ? 2e-6 : 1e-14;
      double worst = 0;
      const std::vector<double> got = w.to_vector(), got_v = v.to_vector();
      for (std::size_t i = 0; i < rw.size(); ++i) worst = std::max({worst, std::abs(got[i] - rw[i]), std::abs(got_v[i] - rv[i])});
      INFO(name(dtype) << " " << n);
      CHECK(worst <= tolerance);
    }
  }
}

TEST_CASE("an update has the same bits with 1 and 2 threads") {
  const Dim n = 100'003;
  Rng rng(4);
  const Array start = normal({n}, 0, 1, rng), g = normal({n}, 0, 1, rng);
  Array results[2];
  const int before = threads();
  for (const int count : {1, 2}) {
    set_threads(count);
    Array w = start, m = Array::zeros({n}), v = Array::zeros({n});
    for (std::int64_t step = 1; step <= 3; ++step) adam_update(w, g, m, v, nullptr, {.weight_decay = 0.1, .step = step});
    multiply_in_place(w, 1 / l2_norm(w));
    results[count - 1] = w;
  }
  set_threads(before);
  CHECK(same_bits(results[0], results[1]));
  CHECK(l2_norm(results[0]) == Catch::Approx(1.0).epsilon(1e-6));
}

TEST_CASE("OP-01: Adam epsilon place", "[case]") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    Parameter p(numbers({1.0}, dtype));
    AdamW adam(std::vector{p.ref()}, {.lr = 0.1, .eps = 0.01, .weight_decay = 0});
    p.ref().grad() = numbers({0.01}, dtype);
    adam.step();
    CHECK(1.0 - p.value().item() == Catch::Approx(0.05).epsilon(dtype == DType::float32 ? 1e-5 : 1e-12));
  }
}

TEST_CASE("OP-03: L2 in place of decoupled decay", "[case]") {
  Parameter p(numbers({1.0}));
  AdamW adamw(std::vector{p.ref()}, {.lr = 0.1, .weight_decay = 0.1});
  p.ref().grad() = numbers({0.0});
  adamw.step();
  CHECK(p.value().item() == Catch::Approx(0.99).epsilon(1e-15));
  CHECK(adamw.slots()[0].moments[0].item() == 0.0);
}

TEST_CASE("OP-05: decay reaches norms and biases", "[case]") {
  const Array one = numbers({1.0}), matrix = Array::ones({1, 1}, DType::float64);
  const Norm norm{Parameter(one), Parameter(one)};
  const Layer layer{norm, norm, Parameter(matrix)};
  AdamW adamw(optim::decay_groups(layer), {.lr = 0.1, .weight_decay = 0.1});
  for (const ParameterRef& parameter : parameters(layer)) parameter.grad() = Array::zeros(parameter.shape(), DType::float64);
  adamw.step();
  CHECK(layer.matrix.value().item() == Catch::Approx(0.99).epsilon(1e-15));
  for (const Norm* each : {&layer.layer_norm, &layer.LayerNorm}) {
    CHECK(each->weight.value().item() == 1.0);
    CHECK(each->bias.value().item() == 1.0);
  }
}

TEST_CASE("groups have their own rate and decay") {
  const Norm norm{Parameter(numbers({1.0})), Parameter(numbers({1.0}))};
  auto [weights, others] = optim::split(named_parameters(norm), [](const NamedParameter& p) { return p.name == "weight"; });
  others.lr_factor = 0.5;
  others.weight_decay_factor = 3;
  AdamW adamw({weights, others}, {.lr = 0.1, .weight_decay = 0.1});
  for (const ParameterRef& parameter : parameters(norm)) parameter.grad() = numbers({0.0});
  adamw.step();
  CHECK(norm.weight.value().item() == Catch::Approx(0.99));
  CHECK(norm.bias.value().item() == Catch::Approx(1 - 0.05 * 0.3));
  adamw.set_lr(0.0);
  adamw.step();
  CHECK(norm.weight.value().item() == Catch::Approx(0.99));
}

TEST_CASE("OP-07: decay without a gradient", "[case]") {
  Parameter used(numbers({1.0})), unused(numbers({1.0}));
  AdamW adamw(std::vector{used.ref(), unused.ref()}, {.lr = 0.1, .weight_decay = 0.1});
  for (int i = 0; i < 10; ++i) {
    used.ref().grad() = numbers({0.5});
    adamw.step();
  }
  CHECK(unused.value().item() == 1.0);
  CHECK_FALSE(adamw.slots()[1].moments[0]);
  CHECK(adamw.slots()[1].steps == 0);
  CHECK(adamw.slots()[0].steps == 10);
}

TEST_CASE("OP-09: shared weight updated twice", "[case]") {
  struct Tied {
    Parameter w;
    void visit(Fields& field) {
      field("first", w);
      field("second", w);
    }
  };
  const Tied model{Parameter(numbers({1.0}))};
  const auto all = parameters(model);
  CHECK(all.size() == 1);
  const std::vector<ParameterRef> twice{model.w.ref(), model.w.ref()};
  AdamW adam(twice, {.lr = 0.1, .eps = 0, .weight_decay = 0});
  CHECK(adam.slots().size() == 1);
  Tape tape;
  tape.backward(plus(scaled(model.w, 1.0), scaled(model.w, 2.0)));
  CHECK(model.w.grad().item() == 3.0);
  CHECK(optim::clip_grad_norm(all, 100.0) == 3.0);
  CHECK(optim::clip_grad_norm(twice, 100.0) == 3.0);
  CHECK(optim::clip_grad_norm(twice, 1.5) == 3.0);
  CHECK(model.w.grad().item() == Catch::Approx(1.5).epsilon(1e-6));
  adam.step();
  CHECK(model.w.value().item() == Catch::Approx(0.9));
  CHECK(adam.slots()[0].steps == 1);
}

TEST_CASE("AG-08: 0-dimensional tensor; an optimizer step keeps its shape", "[case]") {
  Parameter v(Array::full({}, 2.0, DType::float64));
  AdamW adamw(std::vector{v.ref()}, {.lr = 0.1});
  v.ref().grad() = Array::full({}, 1.0, DType::float64);
  adamw.step();
  CHECK(v.value().shape() == Shape{});
  CHECK(v.value().item() < 1.91);
}

TEST_CASE("an optimizer keeps training a model that is assigned to, and refuses one that is gone") {
  struct Model {
    Parameter up;
    void visit(Fields& field) { field("up", up); }
  };
  Model model{Parameter(numbers({1.0}))};
  const Model other{Parameter(numbers({5.0}))};
  AdamW adamw(named_parameters(model), {.lr = 0.1, .weight_decay = 0.1});
  model = other;
  model.up.ref().grad() = numbers({0.0});
  adamw.step();
  CHECK(model.up.value().item() == Catch::Approx(4.95));
  CHECK(other.up.value().item() == 5.0);

  const std::string gone =
      "AdamW: 'up' belongs to a module that was destroyed or replaced by a move, so no model uses it. Make the optimizer again from "
      "nn::parameters(model), or copy-assign models instead of moving them";
  model = Model{Parameter(numbers({7.0}))};
  CHECK(message<ValueError>([&] { adamw.step(); }) == gone);
  CHECK(message<ValueError>([&] { AdamW late(std::vector{adamw.slots()[0].parameter}); }).starts_with("AdamW: 'parameter 0' belongs"));
}

TEST_CASE("AdamW names the option, parameter or gradient that does not fit") {
  Parameter p(numbers({1.0, 2.0}));
  const std::vector<ParameterRef> one{p.ref()};
  CHECK(message<ValueError>([&] { AdamW(one, {.lr = -1}); }) == "AdamW: lr must be a number, at least 0; got -1");
  CHECK(message<ValueError>([&] { AdamW(one, {.lr = NAN}); }) == "AdamW: lr must be a number, at least 0; got nan");
  CHECK(message<ValueError>([&] { AdamW(one, {.beta2 = 1}); }) == "AdamW: beta2 must be a number, at least 0 and below 1; got 1");
  AdamW adamw(one);
  CHECK(message<ValueError>([&] { adamw.set_lr(INFINITY); }) == "AdamW: lr must be a number, at least 0; got inf");
  CHECK(adamw.lr() == 1e-3);

  const NamedParameter named{"w", p.ref()};
  CHECK(message<ValueError>([&] {
          AdamW(std::vector<optim::ParameterGroup>{{.parameters = {named}}, {.parameters = {named}}});
        }) == "AdamW: a parameter may be in one group only; got 'w' [2] in group 1 and in an earlier one");
  p.ref().grad() = numbers({1.0});
  CHECK(message<ShapeError>([&] { adamw.step(); }) ==
        "AdamW: a gradient must have its parameter's shape; got 'parameter 0' [2], gradient [1]");
  p.ref().grad() = numbers({1.0, 1.0}, DType::float32);
  CHECK(message<DTypeError>([&] { adamw.step(); }) ==
        "AdamW: a gradient must have its parameter's dtype; got 'parameter 0' float64, gradient float32");
  CHECK(p.value().to_vector() == std::vector<double>{1, 2});
  CHECK(adamw.slots()[0].steps == 0);
  p.ref().grad() = numbers({1.0, 1.0});
  adamw.step();
  p.ref().value() = numbers({1.0, 1.0}, DType::float32);
  p.ref().grad() = numbers({1.0, 1.0}, DType::float32);
  CHECK(message<ValueError>([&] { adamw.step(); }) ==
        "AdamW: 'parameter 0' has become [2] float32 since its last update. Make the optimizer again from nn::parameters(model)");

  Array w = numbers({1.0}), m = numbers({0.0}), v = numbers({0.0, 0.0});
  CHECK(message<ShapeError>([&] { adam_update(w, w, m, v, nullptr, {}); }) == "adam_update: v must have w's shape; got w [1], v [2]");
}

TEST_CASE("a steady step copies nothing and takes no memory") {
  Parameter a(Array::ones({300})), b(Array::ones({20'000}));
  const std::vector<ParameterRef> both{a.ref(), b.ref()};
  AdamW adamw(both);
  MemoryStats before;
  for (int i = 0; i < 20; ++i) {
    if (i == 10) before = memory_stats();
    for (const ParameterRef& parameter : both) parameter.grad() = Array::full(parameter.shape(), 0.1);
    optim::clip_grad_norm(both, 1.0);
    adamw.step();
    adamw.zero_grad();
  }
  const MemoryStats after = memory_stats();
  CHECK(after.live_bytes == before.live_bytes);
  CHECK(after.copies == before.copies);
#ifndef TAPEFORM_SANITIZE_MEMORY
  CHECK(after.system_allocations == before.system_allocations);
#endif
}
