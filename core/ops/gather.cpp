#include <tapeform/core/ops/gather.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/rearrange.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/id_rules.hpp"
#include "detail/shape_rules.hpp"
#include "kernels/gather.hpp"

namespace tapeform {
namespace {

void check_ids(const char* op, const Tensor& x, int axis, const Ids& ids) {
  if (const Dim at = shapes::first_outside(ids, x.dim(axis)); at >= 0)
    throw ValueError(fmt::format("{}: ids must lie in [0, {}), axis {} of x; got {}, x {}", op, x.dim(axis), axis,
                                 shapes::described(ids, at), x.shape().str()));
}

// True when `fits(size of x, size of ids)` beside the axis. False for two ranks.
template <class F>
bool fit_beside(const Shape& x, int axis, const Shape& ids, F fits) {
  bool all = x.rank() == ids.rank();
  for (int i = 0; all && i < x.rank(); ++i) all = i == axis || fits(x[i], ids[i]);
  return all;
}

[[noreturn]] void throw_beside(const char* op, const char* rule, const Tensor& x, int axis, const Ids& ids) {
  throw ShapeError(fmt::format("{}: ids must have x's rank and, beside axis {}, {}; got ids {}, x {}", op, axis, rule, ids.shape().str(),
                               x.shape().str()));
}

// y = x[ids]      dx[ids] += dy      for ids of x's shape beside the axis
Tensor gathered(const char* op, const Tensor& x, int axis, const Ids& ids) {
  const kernels::AxisSplit split(x.shape(), axis);
  return record(op, kernels::gather_along(x.value(), split, ids),
                wrt(x, [ids, split](const Array& dy, Array& dx) { kernels::scatter_add_along(dx, split, ids, dy); }));
}

Ids broadcast_ids(const Ids& ids, const Shape& shape) {
  if (ids.shape() == shape) return ids;
  const Shape& from = ids.shape();
  Ids all = Ids::full(shape, 0);
  all.write([&](std::span<std::int64_t> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      Dim at = 0, step = 1, rest = static_cast<Dim>(i);
      for (int axis = shape.rank(); axis-- > 0; rest /= shape[axis], step *= from[axis])
        if (from[axis] != 1) at += rest % shape[axis] * step;
      values[i] = ids.values()[static_cast<std::size_t>(at)];
    }
  });
  return all;
}

}  // namespace

Tensor gather(const Tensor& x, int axis, const Ids& ids) {
  shapes::filled("gather", "x", x);
  const int at = shapes::axis("gather", x.shape(), axis);
  if (!fit_beside(x.shape(), at, ids.shape(), [](Dim of_x, Dim of_ids) { return of_ids <= of_x; }))
    throw_beside("gather", "be no larger than x", x, at, ids);
  check_ids("gather", x, at, ids);
  Tensor part = x;
  for (int i = 0; i < x.rank(); ++i)
    if (i != at && ids.dim(i) < x.dim(i)) part = slice(part, i, 0, ids.dim(i));
  return gathered("gather", part, at, ids);
}

Tensor take_along_axis(const Tensor& x, const Ids& ids, int axis) {
  shapes::filled("take_along_axis", "x", x);
  const int at = shapes::axis("take_along_axis", x.shape(), axis);
  if (!fit_beside(x.shape(), at, ids.shape(), [](Dim of_x, Dim of_ids) { return of_x == of_ids || of_x == 1 || of_ids == 1; }))
    throw_beside("take_along_axis", "sizes equal to x's or one of the two 1", x, at, ids);
  check_ids("take_along_axis", x, at, ids);
  Shape whole_x = x.shape(), whole_ids = ids.shape();
  for (int i = 0; i < x.rank(); ++i) {
    if (i == at) continue;
    const Dim size = x.dim(i) == 1 ? ids.dim(i) : x.dim(i);
    whole_x.set(i, size);
    whole_ids.set(i, size);
  }
  return gathered("take_along_axis", whole_x == x.shape() ? x : broadcast_to(x, whole_x), at, broadcast_ids(ids, whole_ids));
}

// y[o, i, :] = x[o, ids[i], :]      dx[o, ids[i], :] += dy[o, i, :]
Tensor index_select(const Tensor& x, int axis, const Ids& ids) {
  shapes::filled("index_select", "x", x);
  const int at = shapes::axis("index_select", x.shape(), axis);
  if (ids.rank() != 1)
    throw ShapeError(fmt::format("index_select: ids must have one axis; got ids {}, x {}", ids.shape().str(), x.shape().str()));
  check_ids("index_select", x, at, ids);
  Shape shape = x.shape();
  shape.set(at, ids.numel());  // [.., N, ..]
  const kernels::AxisSplit split(x.shape(), at);
  return record("index_select", kernels::gather_rows(x.value(), split, ids.values(), shape),
                wrt(x, [ids, split](const Array& dy, Array& dx) { kernels::scatter_add_rows(dx, split, ids.values(), dy, -1); }));
}

// y = x, y[ids] += src      dx = dy, dsrc = dy[ids]
Tensor scatter_add(const Tensor& x, int axis, const Ids& ids, const Tensor& src) {
  shapes::filled("scatter_add", "x", x);
  shapes::filled("scatter_add", "src", src);
  const int at = shapes::axis("scatter_add", x.shape(), axis);
  if (!fit_beside(x.shape(), at, ids.shape(), [](Dim of_x, Dim of_ids) { return of_x == of_ids; }))
    throw_beside("scatter_add", "x's sizes", x, at, ids);
  if (src.shape() != ids.shape())
    throw ShapeError(fmt::format("scatter_add: src must have the shape of ids; got src {}, ids {}", src.shape().str(), ids.shape().str()));
  if (x.dtype() != src.dtype())
    throw DTypeError(
        fmt::format("scatter_add: dtypes must agree; got x {}, src {}. Convert one with cast()", name(x.dtype()), name(src.dtype())));
  check_ids("scatter_add", x, at, ids);
  const kernels::AxisSplit split(x.shape(), at);
  Array y = x.value();
  kernels::scatter_add_along(y, split, ids, src.value());
  return record("scatter_add", std::move(y), wrt(x, [](const Array& dy) { return dy; }),
                wrt(src, [ids, split](const Array& dy) { return kernels::gather_along(dy, split, ids); }));
}

}  // namespace tapeform
