#include "kernels/select.hpp"

#include <tapeform/core/parallel.hpp>

#include "kernels/broadcast.hpp"

namespace tapeform::kernels {

// An operand gives one number for each element, or the same one again and again (stride 0).
template <class T>
static void select_to(const Ids& condition, const T* a, Dim a_stride, const T* b, Dim b_stride, T* to) {
  const std::int64_t* const chosen = condition.values().data();
  parallel_for(condition.numel(), 1 << 15, [=](Dim begin, Dim end) {
    for (Dim i = begin; i < end; ++i) to[i] = chosen[i] != 0 ? a[i * a_stride] : b[i * b_stride];
  });
}

Array select(const Ids& condition, const Array& a, const Array& b) {
  Array y(a.shape(), a.dtype());
  dispatch(a.dtype(), [&]<class T>(T) { select_to(condition, a.data<T>(), 1, b.data<T>(), 1, y.mutable_data<T>()); });
  return y;
}

Array select(const Ids& condition, const Array& a, double b) {
  Array y(a.shape(), a.dtype());
  dispatch(a.dtype(), [&]<class T>(T) {
    const T number = static_cast<T>(b);
    select_to(condition, a.data<T>(), 1, &number, 0, y.mutable_data<T>());
  });
  return y;
}

Array select(const Ids& condition, double a, const Array& b) {
  Array y(b.shape(), b.dtype());
  dispatch(b.dtype(), [&]<class T>(T) {
    const T number = static_cast<T>(a);
    select_to(condition, &number, 0, b.data<T>(), 1, y.mutable_data<T>());
  });
  return y;
}

Ids broadcast_to(const Ids& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Ids y = Ids::full(shape, 0);
  if (y.numel() > 0)
    y.write([&](std::span<std::int64_t> to) {
      repeat_to(Broadcast(x.shape(), shape, shape), x.values().data(), to.data(), static_cast<Dim>(to.size()));
    });
  return y;
}

}  // namespace tapeform::kernels
