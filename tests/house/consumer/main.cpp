#include <tapeform/tapeform.hpp>

#include <cstdio>
#include <vector>

// A program of somebody else: it finds the library, and a backward pass, a module and an optimizer run in it.
int main() {
  tapeform::Tape tape;
  const tapeform::Tensor x = tape.watch(tapeform::Array::ones({40, 30}));
  const tapeform::Array weight = tapeform::Array::ones({20, 30});
  tape.backward(tapeform::sum(tapeform::linear(x, weight)));
  const tapeform::Array dx = tape.grad(x);
  bool right = dx.shape() == tapeform::Shape{40, 30} && dx.to_vector() == std::vector<double>(1200, 20.0);

  tapeform::Rng rng(1);
  const tapeform::nn::Linear layer(30, 2, rng);
  tapeform::optim::SGD sgd(tapeform::nn::parameters(layer), {.lr = 0.1});
  const double before = layer.weight.value().at({0, 0});
  tapeform::Tape second;
  second.backward(tapeform::sum(layer(tapeform::Array::ones({1, 30}))));
  sgd.step();
  right = right && layer.weight.value().at({0, 0}) < before;
  std::printf("%s: %s\n", tapeform::build_info().c_str(), right ? "ok" : "wrong");
  return right ? 0 : 1;
}
