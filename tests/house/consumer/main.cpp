#include <tapeform/tapeform.hpp>

#include <cstdio>
#include <vector>

// A program of somebody else: it finds the installed package, and a backward pass runs in it.
int main() {
  tapeform::Tape tape;
  const tapeform::Tensor x = tape.watch(tapeform::Array::ones({40, 30}));
  const tapeform::Array weight = tapeform::Array::ones({20, 30});
  tape.backward(tapeform::sum(tapeform::linear(x, weight)));
  const tapeform::Array dx = tape.grad(x);
  const bool right = dx.shape() == tapeform::Shape{40, 30} && dx.to_vector() == std::vector<double>(1200, 20.0);
  std::printf("%s %s\n", tapeform::version(), right ? "ok" : "wrong");
  return right ? 0 : 1;
}
