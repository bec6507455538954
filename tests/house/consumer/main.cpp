#include <tapeform/tapeform.hpp>

#include <cstdio>

// A program of somebody else: it finds the installed package, and a backward pass runs in it.
int main() {
  tapeform::Tape tape;
  const tapeform::Tensor x = tape.watch(tapeform::Array::full({}, 3.0));
  tape.backward(x);
  const bool right = tape.grad(x).item() == 1.0;
  std::printf("%s %s\n", tapeform::version(), right ? "ok" : "wrong");
  return right ? 0 : 1;
}
