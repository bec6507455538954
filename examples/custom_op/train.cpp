#include <cstdio>

#include "snake.hpp"

using namespace tapeform;

/// Learns x + sin 4x on [−2, 2] from numbers alone.
int main() {
  Rng rng(1);
  const Wave wave(16, rng);
  const auto parameters = nn::parameters(wave);
  optim::AdamW adamw(parameters, {.lr = 1e-2});
  for (int update = 1; update <= 1000; ++update) {
    const Array x = uniform({64, 1}, -2, 2, rng);
    const Array y = (Tensor(x) + sin(Tensor(x) * 4.0)).value();
    Tape tape;
    const Tensor error = wave(x) - y, loss = mean(error * error);
    tape.backward(loss);
    adamw.step();
    adamw.zero_grad();
    if (update % 250 == 0) std::printf("update %d  loss %.4f\n", update, loss.item());
  }
}
