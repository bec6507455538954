#include "snake.hpp"

#include <cmath>
#include <string>

using namespace tapeform;

namespace {

void check(const Tensor& x, const Tensor& a) {
  if (x.rank() == 0 || a.shape() != Shape{x.dim(-1)})
    throw ShapeError("snake: x must be [..., D] and a [D]; got x " + x.shape().str() + ", a " + a.shape().str());
  if (x.dtype() != a.dtype())
    throw DTypeError(std::string("snake: dtypes must agree; got x ") + name(x.dtype()) + ", a " + name(a.dtype()) + ". Use cast()");
}

Array forward(const Array& x, const Array& a) {
  Array y(x.shape(), x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    const T *const from = x.data<T>(), *const frequency = a.data<T>();
    T* const to = y.mutable_data<T>();
    const Dim width = a.numel();
    parallel_for(x.numel(), 4096, [&](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) {
        const T f = frequency[i % width], sine = std::sin(f * from[i]);
        to[i] = from[i] + sine * sine / f;
      }
    });
  });
  return y;
}

// Both gradients need sin 2ax, so one pass makes both.
Grads<2> backward(const Array& x, const Array& a, const Array& dy, const Needs<2>& need) {
  Array dx(x.shape(), x.dtype()), da = Array::zeros(a.shape(), a.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    const T *const from = x.data<T>(), *const frequency = a.data<T>(), *const above = dy.data<T>();
    T *const below = dx.mutable_data<T>(), *const sums = da.mutable_data<T>();
    const Dim width = a.numel();
    for (Dim i = 0; i < x.numel(); ++i) {
      const T f = frequency[i % width], sine = std::sin(f * from[i]), twice = std::sin(2 * f * from[i]);
      below[i] = above[i] * (1 + twice);
      if (need[1]) sums[i % width] += above[i] * (from[i] * twice - sine * sine / f) / f;
    }
  });
  return {dx, da};
}

}  // namespace

Tensor snake(const Tensor& x, const Tensor& a) {
  check(x, a);
  return record("snake", forward(x.value(), a.value()),
                wrt({x, a}, [X = x.value(), A = a.value()](const Array& dy, const Needs<2>& need) { return backward(X, A, dy, need); }));
}
