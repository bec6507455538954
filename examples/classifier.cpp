// The ten-minute start: a small network learns on which of three arms of a spiral a point lies.
#include <fmt/format.h>
#include <cmath>
#include <numbers>
#include <tapeform/tapeform.hpp>

#include "common/command_line.hpp"

using namespace tapeform;
constexpr Dim count = 1500, classes = 3;

struct Mlp : nn::Module<Mlp> {
  nn::Linear in, middle, out;
  Mlp(Dim width, Rng& rng) : in(2, width, rng), middle(width, width, rng), out(width, classes, rng) {}
  Tensor forward(const Tensor& x) const { return out(relu(middle(relu(in(x))))); }  // [B, 2] -> [B, classes]
  void visit(nn::Fields& field) { field("in", in), field("middle", middle), field("out", out); }
};

static Array draw_points(const Ids& arms, Rng& rng) {  // [count, 2]
  std::vector<float> xy;
  for (const std::int64_t arm : arms.values()) {
    const double along = rng.uniform(), noise = 0.1 * rng.normal();
    const double angle = 2 * std::numbers::pi * (0.75 * along + static_cast<double>(arm) / classes) + noise;
    for (const double x : {along * std::cos(angle), along * std::sin(angle)}) xy.push_back(static_cast<float>(x));
  }
  return Array::of({count, 2}, xy);
}

static int body(int argc, const char* const* argv) {
  examples::CommandLine options("classifier", "Trains a small network to tell the arms of a spiral apart.");
  std::int64_t epochs = 30;
  options.add("--epochs", epochs, "how often the network sees every point", 0, 100'000);
  options.parse(argc, argv);
  Rng rng(options.seed);
  Ids arms = Ids::arange(count);
  arms.write([](auto arm) {
    for (auto& i : arm) i %= classes;
  });
  const Array points = draw_points(arms, rng);
  const auto [train, valid] = nn::train_valid_split(count, 0.2, rng);

  Mlp model(64, rng);
  optim::AdamW adamw(nn::parameters(model), {.lr = 1e-2});
  nn::Minibatches batches(train, {.batch = 50, .seed = options.seed});
  while (batches.epoch() < epochs) {
    const Ids rows = batches.next();
    Tape tape(rng);  // records until backward
    const Tensor loss = cross_entropy(model(nn::take_rows(points, rows)), nn::take_rows(arms, rows));
    tape.backward(loss);
    adamw.step();
    adamw.zero_grad();
  }
  const Ids said = argmax(model(nn::take_rows(points, valid)), 1), right = nn::take_rows(arms, valid);  // no tape: nothing is recorded
  nn::RunningMean accuracy;
  for (Dim i = 0; i < said.numel(); ++i) accuracy.add(said[i] == right[i], 1);
  fmt::print("validation accuracy: {:.1f} % of {} points\n", 100 * accuracy.value(), accuracy.count());
  return 0;
}

int main(int argc, char** argv) { return examples::run("classifier", body, argc, argv); }
