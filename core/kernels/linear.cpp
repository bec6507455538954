#include "kernels/linear.hpp"

#include <algorithm>
#include <tapeform/core/parallel.hpp>

#include "kernels/chunks.hpp"
#include "kernels/gemm.hpp"
#include "kernels/gemm_small.hpp"
#include "kernels/gemm_tiles.hpp"

namespace tapeform::kernels {
namespace {

Shape with_last(const Shape& shape, Dim size) {
  Shape result = shape;
  result.set(-1, size);
  return result;
}

}  // namespace

Array linear(const Array& x, const Array& weight, const Array& bias) {
  const Dim rows = rows_of(x), in = weight.dim(1), out = weight.dim(0);
  Array y(with_last(x.shape(), out), x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = x.data<T>();
    const T* const w = weight.data<T>();
    const T* const b = bias ? bias.data<T>() : nullptr;
    T* const to = y.mutable_data<T>();
    for_each_tile(rows, out, in, [=](const Tile& t) {
      T* const tile = to + t.row * out + t.column;
      // The product is added to a tile of biases: the BLAS would spend the same pass on setting it to zero.
      for (Dim i = 0; b && i < t.rows; ++i) std::copy_n(b + t.column, t.columns, tile + i * out);
      gemm(false, true, t.rows, t.columns, in, T{1}, from + t.row * in, in, w + t.column * in, in, b ? T{1} : T{0}, tile, out);
    });
  });
  return y;
}

Array linear_dx(const Array& dy, const Array& weight, const Shape& x_shape) {
  const Dim out = weight.dim(0), in = weight.dim(1);
  Array dx(x_shape, dy.dtype());
  dispatch(dy.dtype(), [&]<class T>(T) {
    gemm_parallel(false, false, rows_of(dy), in, out, T{1}, dy.data<T>(), out, weight.data<T>(), in, T{0}, dx.mutable_data<T>(), in);
  });
  return dx;
}

Array linear_dweight(const Array& dy, const Array& x) {
  const Dim out = dy.dim(-1), in = x.dim(-1);
  Array dweight({out, in}, dy.dtype());
  dispatch(dy.dtype(), [&]<class T>(T) {
    gemm_parallel(true, false, out, in, rows_of(x), T{1}, dy.data<T>(), out, x.data<T>(), in, T{0}, dweight.mutable_data<T>(), in);
  });
  return dweight;
}

Array linear_dbias(const Array& dy) {
  const Dim out = dy.dim(-1), rows = rows_of(dy);
  Array dbias = Array::zeros({out}, dy.dtype());
  dispatch(dy.dtype(), [&]<class T>(T) {
    const T* const from = dy.data<T>();
    T* const to = dbias.mutable_data<T>();
    const Dim columns = (std::max<Dim>(32768 / std::max<Dim>(rows, 1), 1) + 15) / 16 * 16;  // 64-byte lines, so threads share none
    parallel_for(out, columns, [=](Dim begin, Dim end) { add_column_sums(from + begin, rows, end - begin, out, to + begin); });
  });
  return dbias;
}

}  // namespace tapeform::kernels
