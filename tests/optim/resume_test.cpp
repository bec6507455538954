#include <fmt/format.h>
#include <sys/wait.h>
#include <tapeform/tapeform.hpp>
#include <unistd.h>
#include <vector>

#include "catch.hpp"
#include "core/files.hpp"
#include "message.hpp"
#include "threads.hpp"

using namespace tapeform;

namespace {

/// A training loop as a program writes it: what it needs to go on is listed once, for saving and for loading.
struct Training {
  Rng rng, data;
  nn::CausalLM model;
  std::vector<ParameterRef> parameters;
  optim::AdamW adamw;
  optim::CosineSchedule schedule{{.lr = 3e-3, .warmup = 5, .total = 40}};
  std::int64_t updates = 0;
  std::vector<double> losses;

  explicit Training(std::uint64_t seed)
      : rng(seed),
        data(Rng(seed).stream(1)),
        model(20, rng, {.num_hiddens = 32, .num_heads = 2, .num_layers = 2, .max_len = 16, .dropout = 0.2}),
        parameters(nn::parameters(model)),
        adamw(optim::decay_groups(model), {.weight_decay = 0.1}) {}

  void state(StateFields& field) {
    field("model", model);
    field("adamw", adamw);
    field("schedule", schedule);
    field("rng", rng);
    field("data", data);
    field("updates", updates);
    field("losses", losses);
  }

  void update() {
    Ids ids = Ids::full({4, 16}, 0);
    ids.write([this](std::span<std::int64_t> each) {
      for (std::int64_t& id : each) id = data.below(20);
    });
    adamw.set_lr(schedule.lr(updates++));
    Tape tape(rng);
    const Tensor loss = model.loss(ids, ids);
    tape.backward(loss);
    optim::clip_grad_norm(parameters, 1.0);
    adamw.step();
    adamw.zero_grad();
    losses.push_back(loss.item());
  }
};

std::vector<std::vector<double>> weights(const Training& training) {
  std::vector<std::vector<double>> all;
  for (const ParameterRef& parameter : training.parameters) all.push_back(parameter.value().to_vector());
  return all;
}

}  // namespace

TEST_CASE("checkpoint: a training run that is saved, stopped and resumed has the bits of one that was not") {
  const TemporaryFile file("resume.safetensors");
  const int count = GENERATE(1, 2);
  const Threads use(count);
  Training whole(1);
  for (int i = 0; i < 20; ++i) whole.update();
  {
    Training first(1);
    for (int i = 0; i < 7; ++i) first.update();
    io::save_checkpoint(file.path, first);
    first.update();  // lost with the program
  }
  Training second(2);  // another seed: all of it comes from the file
  second.update();
  io::load_checkpoint(file.path, second);
  CHECK(second.updates == 7);
  while (second.updates < 20) second.update();
  CHECK(second.losses == whole.losses);
  CHECK(weights(second) == weights(whole));
  CHECK(second.rng.state() == whole.rng.state());
}

TEST_CASE("OP-19: optimizer state lost on resume; 5 updates, a checkpoint, another process, 5 updates", "[case][fork]") {
  const TemporaryFile file("other_process.safetensors");
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    Training first(1);
    for (int i = 0; i < 5; ++i) first.update();
    io::save_checkpoint(file.path, first);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(status == 0);
  Training whole(1), second(2);
  for (int i = 0; i < 10; ++i) whole.update();
  io::load_checkpoint(file.path, second);
  while (second.updates < 10) second.update();
  CHECK(second.losses == whole.losses);
  CHECK(weights(second) == weights(whole));
  for (std::size_t i = 0; i < whole.adamw.slots().size(); ++i) {
    CHECK(second.adamw.slots()[i].steps == 10);
    CHECK(same_bits(second.adamw.slots()[i].moments[1], whole.adamw.slots()[i].moments[1]));
  }
}

TEST_CASE("AdamW: its state holds steps and moments of every parameter, and nothing for one that was never updated") {
  const TemporaryFile file("adamw.safetensors");
  const Parameter trained(Array::of({2}, {1, 2})), left_out(Array::zeros({3}));
  const std::vector<NamedParameter> named{{"trained", trained.ref()}, {"left_out", left_out.ref()}};
  optim::AdamW adamw(named);
  for (int i = 0; i < 3; ++i) {
    trained.ref().grad() = Array::of({2}, {0.5, -1});
    adamw.step();
  }
  adamw.set_lr(0.125);
  io::save_checkpoint(file.path, {{"adamw", adamw}});
  const io::SafeTensors tensors = io::read_safetensors(file.path);
  CHECK(tensors.names() == std::vector<std::string>{"adamw.left_out.steps", "adamw.lr", "adamw.trained.exp_avg", "adamw.trained.exp_avg_sq",
                                                    "adamw.trained.steps"});
  optim::AdamW other(named);
  left_out.ref().grad() = Array::ones({3});
  other.step();
  io::load_checkpoint(file.path, {{"adamw", other}});
  CHECK(other.lr() == 0.125);
  CHECK(other.slots()[0].steps == 3);
  CHECK(same_bits(other.slots()[0].moments[0], adamw.slots()[0].moments[0]));
  CHECK(same_bits(other.slots()[0].moments[1], adamw.slots()[0].moments[1]));
  CHECK(other.slots()[1].steps == 0);
  CHECK_FALSE(other.slots()[1].moments[0]);
  // A moment of another shape.
  const Parameter longer(Array::zeros({4}));
  optim::AdamW wrong(std::vector<NamedParameter>{{"trained", longer.ref()}, {"left_out", left_out.ref()}});
  CHECK_THAT(
      message<IoError>([&] {
        io::load_checkpoint(file.path, {{"adamw", wrong}});
      }),
      Contains("another shape: adamw.trained.exp_avg [2] in the file, [4] here, adamw.trained.exp_avg_sq [2] in the file, [4] here"));
}

TEST_CASE("AdamW: the state of one whose module is gone is not saved") {
  const TemporaryFile file("orphan.safetensors");
  auto parameter = std::make_unique<Parameter>(Array::zeros({1}));
  optim::AdamW adamw(std::vector<NamedParameter>{{"w", parameter->ref()}});
  parameter.reset();
  CHECK_THAT(message<ValueError>([&] { io::save_checkpoint(file.path, {{"adamw", adamw}}); }), Contains("'w'"));
}

TEST_CASE("CosineSchedule: a resumed run keeps the curve that it began with") {
  const TemporaryFile file("schedule.safetensors");
  io::save_checkpoint(file.path, {{"schedule", optim::CosineSchedule({.lr = 0.5, .min_lr = 0.25, .warmup = 3, .total = 9})}});
  optim::CosineSchedule schedule({.lr = 1, .total = 2});
  io::load_checkpoint(file.path, {{"schedule", schedule}});
  const optim::CosineOptions& options = schedule.options();
  CHECK((options.lr == 0.5 && options.min_lr == 0.25 && options.warmup == 3 && options.total == 9));
}
