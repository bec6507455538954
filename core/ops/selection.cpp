#include <tapeform/core/ops/selection.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <tapeform/core/error.hpp>

#include "detail/id_rules.hpp"
#include "detail/shape_rules.hpp"
#include "kernels/gather.hpp"
#include "kernels/order.hpp"

namespace tapeform {
namespace {

Ids place(const char* op, const Tensor& x, int axis, bool keepdims, bool largest) {
  shapes::filled(op, "x", x);
  const int at = shapes::axis(op, x.shape(), axis);
  if (x.dim(at) == 0)
    throw ShapeError(fmt::format("{}: there must be an element to choose; got x {}. Axis {} is empty", op, x.shape().str(), at));
  return kernels::place_of_extreme(x.value(), {x.shape(), at}, largest, shapes::reduced(x.shape(), 1u << at, keepdims));
}

// Among all elements, as if x had one axis.
Ids place(const char* op, const Tensor& x, bool largest) {
  shapes::filled(op, "x", x);
  return place(op, x.value().reshape(Shape{x.numel()}), 0, false, largest);
}

}  // namespace

Ids argmax(const Tensor& x, int axis, ReduceOptions options) { return place("argmax", x, axis, options.keepdims, true); }
Ids argmax(const Tensor& x) { return place("argmax", x, true); }
Ids argmin(const Tensor& x, int axis, ReduceOptions options) { return place("argmin", x, axis, options.keepdims, false); }
Ids argmin(const Tensor& x) { return place("argmin", x, false); }

Array sort(const Tensor& x, int axis, SortOptions options) {
  shapes::filled("sort", "x", x);
  const int at = shapes::axis("sort", x.shape(), axis);
  return kernels::gather_along(x.value(), {x.shape(), at}, argsort(x, at, options));
}

Ids argsort(const Tensor& x, int axis, SortOptions options) {
  shapes::filled("argsort", "x", x);
  const int at = shapes::axis("argsort", x.shape(), axis);
  return kernels::places_in_order(x.value(), {x.shape(), at}, options.descending, x.dim(at), x.shape());
}

TopK topk(const Tensor& x, Dim k, int axis, TopKOptions options) {
  shapes::filled("topk", "x", x);
  const int at = shapes::axis("topk", x.shape(), axis);
  if (k < 0 || k > x.dim(at))
    throw ValueError(
        fmt::format("topk: k must lie between 0 and {}, the size of axis {}; got k {}, x {}", x.dim(at), axis, k, x.shape().str()));
  Shape shape = x.shape();
  shape.set(at, k);
  const kernels::AxisSplit split(x.shape(), at);
  const Ids ids = kernels::places_in_order(x.value(), split, options.largest, k, shape);
  return {kernels::gather_along(x.value(), split, ids), ids};
}

Array one_hot(const Ids& ids, Dim classes, DType dtype) {
  Shape shape = ids.shape();
  if (shape.rank() == Shape::max_rank || classes < 0)
    throw ShapeError(fmt::format("one_hot: ids must have fewer than {} axes and classes must not be negative; got ids {}, classes {}",
                                 Shape::max_rank, shape.str(), classes));
  if (const Dim at = shapes::first_outside(ids, classes); at >= 0)
    throw ValueError(fmt::format("one_hot: ids must lie in [0, {}), a class each; got {}", classes, shapes::described(ids, at)));
  shape.push_back(classes);  // [.., classes]
  Array y = Array::zeros(shape, dtype);
  dispatch(dtype, [&]<class T>(T) {
    T* row = y.mutable_data<T>();
    for (const std::int64_t id : ids.values()) {
      row[id] = T{1};
      row += classes;
    }
  });
  return y;
}

Ids bincount(const Ids& ids, Dim classes) {
  if (classes < 0) throw ValueError(fmt::format("bincount: classes must not be negative; got {}", classes));
  if (const Dim at = shapes::first_outside(ids, INT64_MAX); at >= 0)
    throw ValueError(fmt::format("bincount: ids must lie in [0, {}); got {}", INT64_MAX, shapes::described(ids, at)));
  Dim size = classes;
  for (const std::int64_t id : ids.values()) size = std::max(size, id + 1);
  Ids counts = Ids::full(Shape{size}, 0);
  counts.write([&ids](std::span<std::int64_t> count) {
    for (const std::int64_t id : ids.values()) ++count[static_cast<std::size_t>(id)];
  });
  return counts;
}

}  // namespace tapeform
