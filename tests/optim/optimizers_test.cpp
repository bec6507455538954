#include "optim/optimizers.hpp"

#include <cmath>
#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/checkpoint.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/update.hpp>

#include "catch.hpp"
#include "core/common.hpp"
#include "core/files.hpp"
#include "threads.hpp"

using namespace tapeform;
using optim::Optimizer;

namespace {

Array numbers(std::initializer_list<double> values, DType dtype = DType::float64) {
  return Array::of({static_cast<Dim>(values.size())}, values, dtype);
}

}  // namespace

TEST_CASE("OP-21: Nesterov form", "[case]") {
  Parameter p(numbers({0.0}));
  optim::SGD sgd(std::vector{p.ref()}, {.lr = 0.1, .momentum = 0.9, .nesterov = true});
  for (const double expected : {-0.19, -0.461, -0.8049}) {
    p.ref().grad() = numbers({1.0});
    sgd.step();
    CHECK(p.value().item() == Catch::Approx(expected).epsilon(1e-14));
  }
}

TEST_CASE("OP-03: L2 in place of decoupled decay; Adam's decay is L2", "[case]") {
  Parameter p(numbers({1.0}));
  optim::Adam adam(std::vector{p.ref()}, {.lr = 0.1, .weight_decay = 0.1});
  p.ref().grad() = numbers({0.0});
  adam.step();
  CHECK(p.value().item() == Catch::Approx(0.9).epsilon(1e-7));
  CHECK(adam.slots()[0].moments[0].item() == Catch::Approx(0.01));
}

TEST_CASE("OP-09: shared weight updated twice; by gradient descent", "[case]") {
  struct Tied {
    Parameter w;
    void visit(Fields& field) {
      field("first", w);
      field("second", w);
    }
  };
  const Tied model{Parameter(numbers({1.0}))};
  optim::SGD sgd({model.w.ref(), model.w.ref()}, {.lr = 0.1});
  Tape tape;
  tape.backward(plus(scaled(model.w, 1.0), scaled(model.w, 2.0)));
  sgd.step();
  CHECK(model.w.value().item() == Catch::Approx(0.7).epsilon(1e-15));
}

TEST_CASE("OP-07: decay without a gradient; no optimizer touches the parameter, and each counts its own steps", "[case]") {
  for (const Maker& maker : makers()) {
    INFO(maker.name);
    const Parameter used(numbers({1.0, -2.0})), late(numbers({3.0}));
    const auto optimizer = maker.make({{"used", used.ref()}, {"late", late.ref()}});
    for (int i = 0; i < 10; ++i) {
      used.ref().grad() = numbers({0.5, 0.25});
      optimizer->step();
    }
    CHECK(late.value().item() == 3.0);
    const optim::Slot& slot = optimizer->slots()[1];
    CHECK(slot.steps == 0);
    for (const Array& moment : slot.moments) CHECK_FALSE(moment);
    late.ref().grad() = numbers({0.5});
    optimizer->step();
    CHECK(slot.steps == 1);
    CHECK(optimizer->slots()[0].steps == 11);
    // The first step of the late one is the first step of a new optimizer.
    const Parameter fresh(numbers({3.0}));
    fresh.ref().grad() = numbers({0.5});
    maker.make({{"fresh", fresh.ref()}})->step();
    CHECK(same_bits(late.value(), fresh.value()));
  }
}

TEST_CASE("every optimizer goes on to the same bits from a file of its state") {
  const TemporaryFile file("optimizers.safetensors");
  const auto gradient = [](int t, Dim n) {
    Rng rng(static_cast<std::uint64_t>(t) + 1);
    return normal({n}, 0, 1, rng);
  };
  for (const Maker& maker : makers()) {
    INFO(maker.name);
    const auto train = [&](Optimizer& optimizer, const Parameter& w, const Parameter& b, int begin, int end) {
      for (int t = begin; t < end; ++t) {
        optimizer.set_lr(0.1 / (1 + t));
        w.ref().grad() = gradient(t, 9);
        if (t % 3 == 1) b.ref().grad() = gradient(100 + t, 2);
        optimizer.step();
        optimizer.zero_grad();
      }
    };
    struct Run {
      Parameter w{Array::ones({9})}, b{Array::ones({2})};
      std::unique_ptr<Optimizer> optimizer;
      explicit Run(const Maker& of) : optimizer(of.make({{"w", w.ref()}, {"b", b.ref()}})) {}
      void state(StateFields& field) {
        field("w", w);
        field("b", b);
        field("optimizer", *optimizer);
      }
    };
    Run whole(maker), first(maker), second(maker);
    train(*whole.optimizer, whole.w, whole.b, 0, 10);
    train(*first.optimizer, first.w, first.b, 0, 5);
    io::save_checkpoint(file.path, first);
    train(*second.optimizer, second.w, second.b, 3, 5);  // all of it comes from the file
    io::load_checkpoint(file.path, second);
    CHECK(second.optimizer->lr() == first.optimizer->lr());
    CHECK(second.optimizer->slots()[1].steps == 2);
    train(*second.optimizer, second.w, second.b, 5, 10);
    CHECK(same_bits(second.w.value(), whole.w.value()));
    CHECK(same_bits(second.b.value(), whole.b.value()));
  }
}

TEST_CASE("optimizers keep what torch keeps, by torch's names") {
  const Parameter p(numbers({1.0}));
  const std::vector<ParameterRef> one{p.ref()};
  using Names = std::vector<std::string>;
  CHECK(optim::SGD(one).moment_names().empty());
  CHECK(optim::SGD(one, {.momentum = 0.9}).moment_names() == Names{"momentum_buffer"});
  CHECK(optim::Adam(one).moment_names() == Names{"exp_avg", "exp_avg_sq"});
  CHECK(optim::AdamW(one, {.amsgrad = true}).moment_names() == Names{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"});
  CHECK(optim::RMSprop(one).moment_names() == Names{"square_avg"});
  CHECK(optim::RMSprop(one, {.momentum = 0.9, .centered = true}).moment_names() == Names{"square_avg", "grad_avg", "momentum_buffer"});
  CHECK(optim::RMSprop(one, {.momentum = 0.9}).moment_names() == Names{"square_avg", "momentum_buffer"});
  CHECK(optim::Adagrad(one).moment_names() == Names{"sum"});
  CHECK(optim::Lion(one).moment_names() == Names{"exp_avg"});
}

TEST_CASE("every optimizer: a step has the same bits with 1 and 2 threads, whatever stands beside a number, and takes no memory") {
  const Dim n = 40'003;  // more than two pieces
  for (const Maker& maker : makers()) {
    INFO(maker.name);
    Rng rng(4);
    const Array start = normal({n}, 0, 1, rng), g = normal({n}, 0, 1, rng);
    Array results[2];
    for (const int count : {1, 2}) {
      const Threads use(count);
      const Parameter p(start);
      const auto optimizer = maker.make({{"p", p.ref()}});
      MemoryStats before;
      for (int i = 0; i < 4; ++i) {
        p.ref().grad() = g;
        if (i == 2) before = memory_stats();
        optimizer->step();
      }
      CHECK(memory_stats().live_bytes == before.live_bytes);
      CHECK(memory_stats().copies == before.copies);
      results[count - 1] = p.value();
    }
    CHECK(same_bits(results[0], results[1]));
    // One number at a time: the last vector of a piece computes as the whole ones do.
    for (const Dim i : {Dim{0}, Dim{5}, n - 1}) {
      const Parameter alone(start.rows(i, i + 1));
      const auto optimizer = maker.make({{"p", alone.ref()}});
      for (int t = 0; t < 4; ++t) {
        alone.ref().grad() = g.rows(i, i + 1);
        optimizer->step();
      }
      CHECK(alone.value().item() == results[0].at({i}));
    }
  }
}

TEST_CASE("every optimizer: lengths around a vector's, and gradients that are 0, tiny, huge or NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Maker& maker : makers())
    for (const DType dtype : {DType::float32, DType::float64})
      for (const Dim n : {0, 1, 7, 8, 9, 17, 33, 65}) {
        INFO(maker.name << " " << name(dtype) << " " << n);
        const Parameter p(Array::ones({n}, dtype));
        const auto optimizer = maker.make({{"p", p.ref()}});
        std::vector<double> g(static_cast<std::size_t>(n));
        const double kinds[] = {0.0, 1e-30, 1e15, -1.0, nan};
        for (std::size_t i = 0; i < g.size(); ++i) g[i] = kinds[i % 5];
        for (int t = 0; t < 3; ++t) {
          p.ref().grad() = Array::of({n}, std::span<const double>(g)).cast(dtype);
          optimizer->step();
          for (double& each : g) each = std::isnan(each) ? 1 : each;  // a NaN that came once stays
        }
        const std::vector<double> w = p.value().to_vector();
        for (std::size_t i = 0; i < w.size(); ++i) CHECK(std::isnan(w[i]) == (i % 5 == 4));
      }
}

TEST_CASE("centred RMSprop: a variance that rounding makes negative counts as 0") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Parameter p(Array::full({8}, 1.0, dtype));
    optim::RMSprop rmsprop({p.ref()}, {.lr = 1e-12, .alpha = 0.5, .centered = true});
    for (int t = 0; t < 200; ++t) {
      p.ref().grad() = Array::of({8}, {0.1, 0.3, 0.7, 1.1, 1.3, 1.7, 1.9, 2.3}, dtype);
      rmsprop.step();
    }
    for (const double w : p.value().to_vector()) CHECK(std::isfinite(w));
  }
}

TEST_CASE("Lion moves by the rate, up or down, and stays where there is no sign") {
  const Parameter p(numbers({1.0, 1.0, 1.0, 1.0}));
  optim::Lion lion({p.ref()}, {.lr = 0.25});
  p.ref().grad() = numbers({1e-300, -1e300, 0.0, -0.0});
  lion.step();
  CHECK(p.value().to_vector() == std::vector<double>{0.75, 1.25, 1.0, 1.0});
}

TEST_CASE("an optimizer of one's own says what happens to one parameter") {
  class SignDescent final : public Optimizer {
   public:
    explicit SignDescent(const std::vector<NamedParameter>& parameters)
        : Optimizer("SignDescent", optim::detail::one_group(parameters), 0.5, {"last"}) {}

   protected:
    void update(optim::Slot& slot, double lr) override {
      slot.moments[0] = slot.parameter.grad();
      lion_update(slot.parameter.value(), slot.parameter.grad(), slot.moments[0], {.lr = lr});
    }
  };
  const Parameter p(numbers({1.0, 2.0}));
  SignDescent optimizer(std::vector<NamedParameter>{{"p", p.ref()}});
  p.ref().grad() = numbers({-3.0, 4.0});
  optimizer.step();
  CHECK(p.value().to_vector() == std::vector<double>{1.5, 1.5});
  p.ref().grad() = numbers({1.0});
  CHECK(message<ShapeError>([&] { optimizer.step(); }) ==
        "SignDescent: a gradient must have its parameter's shape; got 'p' [2], gradient [1]");
}

TEST_CASE("optimizers name the option that does not fit") {
  const Parameter p(numbers({1.0}));
  const std::vector<ParameterRef> one{p.ref()};
  CHECK(message<ValueError>([&] { optim::SGD(one, {.lr = -1}); }) == "SGD: lr must be a number, at least 0; got -1");
  CHECK(message<ValueError>([&] { optim::SGD(one, {.momentum = -0.5}); }) == "SGD: momentum must be a number, at least 0; got -0.5");
  CHECK(message<ValueError>([&] { optim::SGD(one, {.nesterov = true}); }) ==
        "SGD: nesterov needs momentum above 0 and dampening 0; got momentum 0, dampening 0");
  CHECK(message<ValueError>([&] { optim::SGD(one, {.momentum = 0.9, .dampening = 0.5, .nesterov = true}); }) ==
        "SGD: nesterov needs momentum above 0 and dampening 0; got momentum 0.9, dampening 0.5");
  CHECK(message<ValueError>([&] { optim::Adam(one, {.beta1 = 1}); }) == "Adam: beta1 must be a number, at least 0 and below 1; got 1");
  CHECK(message<ValueError>([&] { optim::Adam(one, {.weight_decay = NAN}); }) ==
        "Adam: weight_decay must be a number, at least 0; got nan");
  CHECK(message<ValueError>([&] { optim::AdamW(one, {.eps = -1e-8}); }) == "AdamW: eps must be a number, at least 0; got -1e-08");
  CHECK(message<ValueError>([&] { optim::RMSprop(one, {.alpha = 1.5}); }) ==
        "RMSprop: alpha must be a number, at least 0 and below 1; got 1.5");
  CHECK(message<ValueError>([&] { optim::Adagrad(one, {.lr_decay = -1}); }) == "Adagrad: lr_decay must be a number, at least 0; got -1");
  CHECK(message<ValueError>([&] { optim::Lion(one, {.beta2 = 1}); }) == "Lion: beta2 must be a number, at least 0 and below 1; got 1");
  optim::Lion lion(one);
  CHECK(message<ValueError>([&] { lion.set_lr(-1); }) == "Lion: lr must be a number, at least 0; got -1");

  Array w = numbers({1.0}), two = numbers({0.0, 0.0}), narrow = numbers({0.0}, DType::float32);
  CHECK(message<ShapeError>([&] { sgd_update(w, w, &two, {}); }) == "sgd_update: buffer must have w's shape; got w [1], buffer [2]");
  CHECK(message<DTypeError>([&] { adagrad_update(w, w, narrow, {}); }) ==
        "adagrad_update: sum must have w's dtype; got w float64, sum float32");
  CHECK(message<ShapeError>([&] { rmsprop_update(w, w, w, &two, nullptr, {}); }) ==
        "rmsprop_update: mean must have w's shape; got w [1], mean [2]");
  CHECK(message<ShapeError>([&] { lion_update(w, two, w, {}); }) == "lion_update: g must have w's shape; got w [1], g [2]");
}
