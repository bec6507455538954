#include "kernels/elementwise.hpp"

#include <algorithm>
#include <tapeform/core/parallel.hpp>

#include "kernels/broadcast.hpp"

namespace tapeform::kernels {
namespace {

// Elements in one piece of parallel work: 10 to 20 µs, against about 2 for handing it out. Below that nothing is split.
constexpr Dim grain = 1 << 15;
constexpr Dim grain_of_functions = 1 << 13;

Dim grain_for(Unary op) { return op == Unary::neg || op == Unary::sqrt || op == Unary::relu ? grain : grain_of_functions; }
Dim grain_for(Binary op) { return op >= Binary::gelu_erf_gradient ? grain_of_functions : grain; }

template <class T>
void run_flat(Binary op, const BinaryRows<T>& one_row) {
  parallel_for(one_row.n, grain_for(op), [op, &one_row](Dim begin, Dim end) {
    BinaryRows<T> piece = one_row;
    piece.a += one_row.a_repeats ? 0 : begin;
    piece.b += one_row.b_repeats ? 0 : begin;
    piece.c += begin;
    piece.n = end - begin;
    run_binary(op, piece);
  });
}

// Where an operand's rows begin for one index of the axes beyond the inner two.
struct PairOffsets {
  Dim a = 0, b = 0;
};
PairOffsets outer_offsets(const Broadcast& plan, Dim index) {
  PairOffsets at;
  for (int i = 2; i < plan.rank; ++i) {
    const Broadcast::Axis& axis = plan.axes[i];
    at.a += index % axis.size * axis.a_stride;
    at.b += index % axis.size * axis.b_stride;
    index /= axis.size;
  }
  return at;
}

template <class T>
void run_broadcast(Binary op, const T* a, const T* b, T* c, const Broadcast& plan) {
  const Broadcast::Axis inner = plan.rank > 0 ? plan.axes[0] : Broadcast::Axis{1, 1, 1};
  const bool a_repeats = inner.a_stride == 0, b_repeats = inner.b_stride == 0;
  if (plan.rank < 2) return run_flat<T>(op, {a, b, c, 1, inner.size, 0, 0, a_repeats, b_repeats});
  const Broadcast::Axis middle = plan.axes[1];
  Dim all_rows = 1;
  for (int i = 1; i < plan.rank; ++i) all_rows *= plan.axes[i].size;
  parallel_for(all_rows, std::max<Dim>(1, grain / inner.size), [&](Dim begin, Dim end) {
    while (begin < end) {
      const Dim first = begin % middle.size;
      const Dim rows = std::min(middle.size - first, end - begin);
      const PairOffsets at = outer_offsets(plan, begin / middle.size);
      run_binary(op, BinaryRows<T>{a + at.a + first * middle.a_stride, b + at.b + first * middle.b_stride, c + begin * inner.size, rows,
                                   inner.size, middle.a_stride, middle.b_stride, a_repeats, b_repeats});
      begin += rows;
    }
  });
}

}  // namespace

Array binary(Binary op, const Array& a, const Array& b) {
  Array c(a.shape(), a.dtype());
  dispatch(a.dtype(), [&]<class T>(T) {
    run_flat<T>(op, {a.data<T>(), b.data<T>(), c.mutable_data<T>(), 1, c.numel(), 0, 0, false, false});
  });
  return c;
}

Array binary(Binary op, const Array& a, const Array& b, const Shape& shape) {
  if (a.shape() == b.shape()) return binary(op, a, b);
  Array c(shape, a.dtype());
  if (c.numel() == 0) return c;
  const Broadcast plan(a.shape(), b.shape(), shape);
  dispatch(a.dtype(), [&]<class T>(T) { run_broadcast(op, a.data<T>(), b.data<T>(), c.mutable_data<T>(), plan); });
  return c;
}

Array binary(Binary op, const Array& a, double b) {
  Array c(a.shape(), a.dtype());
  dispatch(a.dtype(), [&]<class T>(T) {
    const T number = static_cast<T>(b);
    run_flat<T>(op, {a.data<T>(), &number, c.mutable_data<T>(), 1, c.numel(), 0, 0, false, true});
  });
  return c;
}

Array binary(Binary op, double a, const Array& b) {
  Array c(b.shape(), b.dtype());
  dispatch(b.dtype(), [&]<class T>(T) {
    const T number = static_cast<T>(a);
    run_flat<T>(op, {&number, b.data<T>(), c.mutable_data<T>(), 1, c.numel(), 0, 0, true, false});
  });
  return c;
}

Array unary(Unary op, const Array& x) {
  Array y(x.shape(), x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = x.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(x.numel(), grain_for(op), [=](Dim begin, Dim end) { run_unary(op, from + begin, to + begin, end - begin); });
  });
  return y;
}

void add_scaled_into(Array& y, double s, const Array& x) {
  dispatch(y.dtype(), [&]<class T>(T) {
    T* const to = y.mutable_data<T>();
    const T* const from = x.data<T>();
    const T factor = static_cast<T>(s);
    parallel_for(y.numel(), grain, [=](Dim begin, Dim end) { run_add_scaled(to + begin, factor, from + begin, end - begin); });
  });
}

Array broadcast_to(const Array& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Array y(shape, x.dtype());
  if (y.numel() == 0) return y;
  dispatch(x.dtype(), [&]<class T>(T) { repeat_to(Broadcast(x.shape(), shape, shape), x.data<T>(), y.mutable_data<T>(), y.numel()); });
  return y;
}

}  // namespace tapeform::kernels
