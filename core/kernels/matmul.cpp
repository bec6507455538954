#include "kernels/matmul.hpp"

#include <algorithm>
#include <tapeform/core/parallel.hpp>

#include "kernels/gemm.hpp"
#include "kernels/gemm_tiles.hpp"

namespace tapeform::kernels {
namespace {

// Leading axes with the steps of x, y and z along each, in numbers; 0 where one is broadcast.
struct Axes {
  int rank = 0;
  Dim size[Shape::max_rank], x[Shape::max_rank], y[Shape::max_rank], z[Shape::max_rank];

  void add(Dim s, Dim step_x, Dim step_y, Dim step_z) {
    size[rank] = s;
    x[rank] = step_x;
    y[rank] = step_y;
    z[rank++] = step_z;
  }
  Dim count() const {
    Dim product = 1;
    for (int i = 0; i < rank; ++i) product *= size[i];
    return product;
  }
};

struct Offsets {
  Dim x = 0, y = 0, z = 0;
};

Offsets at(const Axes& axes, Dim index, Offsets from) {
  for (int i = 0; i < axes.rank; ++i) {
    const Dim place = index % axes.size[i];
    index /= axes.size[i];
    from.x += place * axes.x[i];
    from.y += place * axes.y[i];
    from.z += place * axes.z[i];
  }
  return from;
}

// Everything that a product of batches is, but for the numbers.
struct Batches {
  Dim m, n, k, ldx, ldy;
  bool trans_x, trans_y;
  Axes items, summed;  // innermost axis first; z has a matrix for each item, and adds up the products over `summed`
};

Dim leading_size(const Shape& shape, int from_right) {
  const int axis = shape.rank() - 3 - from_right;
  return axis < 0 ? 1 : shape[axis];
}

Batches batches(const Shape& x, bool trans_x, const Shape& y, bool trans_y, const Shape& z) {
  Batches b{z[-2], z[-1], trans_x ? x[-2] : x[-1], x[-1], y[-1], trans_x, trans_y, {}, {}};
  const int rank = std::max({x.rank(), y.rank(), z.rank()}) - 2;
  Dim step_x = x[-2] * x[-1], step_y = y[-2] * y[-1], step_z = z[-2] * z[-1];
  for (int i = 0; i < rank; ++i) {
    const Dim in_x = leading_size(x, i), in_y = leading_size(y, i), in_z = leading_size(z, i);
    const Dim size = in_x != 1 ? in_x : in_y != 1 ? in_y : in_z;
    Axes& axes = in_z == size ? b.items : b.summed;
    if (size != 1) axes.add(size, in_x == 1 ? 0 : step_x, in_y == 1 ? 0 : step_y, in_z == 1 ? 0 : step_z);
    step_x *= in_x;
    step_y *= in_y;
    step_z *= in_z;
  }
  return b;
}

// A batch of x against one y is one tall product; sums of xᵀ·y over whole batches are one product along a longer k.
void fold(Batches& b, const Shape& x, const Shape& y, const Shape& z) {
  const auto matrices = [](const Shape& s) { return s.numel(0, s.rank() - 2); };
  const Dim in_x = matrices(x), in_y = matrices(y), in_z = matrices(z);
  if (!b.trans_x && in_y == 1 && in_x == in_z && b.summed.rank == 0) {
    b.m *= in_z;
    b.items.rank = 0;
  } else if (b.trans_x && !b.trans_y && in_z == 1 && in_x == in_y && in_x == b.summed.count()) {
    b.k *= in_x;
    b.summed.rank = 0;
  }
}

template <class T>
void multiply(const Batches& b, const T* x, const T* y, T* z) {
  const Dim items = b.items.count(), sums = b.summed.count();
  Tiling tiles = tiling(b.m, b.n, b.k * sums);
  if (items >= 8 && tiles.count <= 8) tiles = {true, 1, b.m};  // the items are work enough to share
  const double flops = 2.0 * static_cast<double>(b.m) * static_cast<double>(b.n) * static_cast<double>(b.k * sums);
  const Dim grain = std::max<Dim>(1, static_cast<Dim>(1e6 / std::max(flops, 1.0)));
  detail::count_flop(flops * static_cast<double>(items));
  parallel_for(items * tiles.count, tiles.count > 1 ? 1 : grain, [&](Dim begin, Dim end) {
    for (Dim chunk = begin; chunk < end; ++chunk) {
      const Offsets item = at(b.items, chunk / tiles.count, {});
      const Tile t = tile_at(tiles, b.m, b.n, chunk % tiles.count);
      T* const to = z + item.z + t.row * b.n + t.column;
      for (Dim s = 0; s < sums; ++s) {
        const Offsets from = at(b.summed, s, item);
        const T* const x_tile = x + from.x + (b.trans_x ? t.row : t.row * b.ldx);
        const T* const y_tile = y + from.y + (b.trans_y ? t.column * b.ldy : t.column);
        gemm(b.trans_x, b.trans_y, t.rows, t.columns, b.k, T{1}, x_tile, b.ldx, y_tile, b.ldy, s == 0 ? T{0} : T{1}, to, b.n);
      }
    }
  });
}

}  // namespace

Array matmul(const Array& x, bool trans_x, const Array& y, bool trans_y, const Shape& z_shape) {
  Batches b = batches(x.shape(), trans_x, y.shape(), trans_y, z_shape);
  fold(b, x.shape(), y.shape(), z_shape);
  if (b.k == 0 || b.summed.count() == 0) return Array::zeros(z_shape, x.dtype());
  Array z(z_shape, x.dtype());
  if (z.numel() == 0) return z;
  dispatch(x.dtype(), [&]<class T>(T) { multiply(b, x.data<T>(), y.data<T>(), z.mutable_data<T>()); });
  return z;
}

}  // namespace tapeform::kernels
