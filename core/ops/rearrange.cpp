#include <tapeform/core/ops/rearrange.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/movement.hpp"
#include "kernels/reduce.hpp"
#include "kernels/strided.hpp"

namespace tapeform {
namespace {

template <class T>
std::span<const T> span_of(std::initializer_list<T> values) {
  return {values.begin(), values.size()};
}

// x's numbers under another shape, in the name of `op`.
Tensor renamed(const char* op, const Tensor& x, const Shape& shape) {
  return record(op, x.value().reshape(shape), wrt(x, [shape = x.shape()](const Array& dy) { return dy.reshape(shape); }));
}

Tensor squeezed(const Tensor& x, std::span<const int> axes) {
  shapes::filled("squeeze", "x", x);
  const std::uint32_t bits = shapes::axis_bits("squeeze", x.shape(), axes);
  for (int axis = 0; axis < x.rank(); ++axis)
    if ((bits >> axis & 1u) != 0 && x.dim(axis) != 1)
      throw ShapeError(fmt::format("squeeze: an axis must have size 1 to go; got x {}, axis {}", x.shape().str(), axis));
  return renamed("squeeze", x, shapes::reduced(x.shape(), bits, false));
}

// x's shape with a new axis of size 1.
Shape with_axis(const char* op, const Shape& x, int axis) {
  const int rank = x.rank(), at = axis < 0 ? axis + rank + 1 : axis;
  if (rank == Shape::max_rank) throw ShapeError(fmt::format("{}: at most {} axes; got x {}", op, rank, x.str()));
  if (at < 0 || at > rank)
    throw ShapeError(fmt::format("{}: the new axis must be from {} to {}; got axis {}, x {}", op, -rank - 1, rank, axis, x.str()));
  Shape shape;
  for (int i = 0; i <= rank; ++i) shape.push_back(i == at ? 1 : x[i < at ? i : i - 1]);
  return shape;
}

// size·count
Dim grown(const char* op, Dim size, Dim count, const Tensor& x) {
  Dim product = 0;
  if (count < 0 || __builtin_mul_overflow(size, count, &product))
    throw ShapeError(
        fmt::format("{}: 0 or more times, and a size that fits 63 bits; got size {} times {}, x {}", op, size, count, x.shape().str()));
  return product;
}

// [outer, n] -> [outer, count, n] -> the shape asked for
Tensor repeated(const Tensor& x, Dim outer, Dim n, Dim count, const Shape& shape) {
  return reshape(broadcast_to(reshape(x, Shape{outer, 1, n}), Shape{outer, count, n}), shape);
}

Tensor triangle_of(const char* op, const Tensor& x, bool lower, Dim diagonal) {
  shapes::filled(op, "x", x);
  if (x.rank() < 2) throw ShapeError(fmt::format("{}: x must have two axes or more; got x {}", op, x.shape().str()));
  return record(op, kernels::triangle(x.value(), lower, diagonal),
                wrt(x, [lower, diagonal](const Array& dy) { return kernels::triangle(dy, lower, diagonal); }));
}

}  // namespace

Tensor squeeze(const Tensor& x, int axis) { return squeezed(x, {&axis, 1}); }
Tensor squeeze(const Tensor& x, std::initializer_list<int> axes) { return squeezed(x, span_of(axes)); }

Tensor unsqueeze(const Tensor& x, int axis) {
  shapes::filled("unsqueeze", "x", x);
  return renamed("unsqueeze", x, with_axis("unsqueeze", x.shape(), axis));
}

std::vector<Tensor> split(const Tensor& x, Dim size, int axis) {
  shapes::filled("split", "x", x);
  const Dim whole = x.dim(shapes::axis("split", x.shape(), axis));
  if (size < 1) throw ShapeError(fmt::format("split: the size of a part must be at least 1; got {}, x {}", size, x.shape().str()));
  std::vector<Tensor> parts;
  Dim begin = 0;
  do parts.push_back(slice(x, axis, begin, begin + std::min(size, whole - begin)));
  while ((begin += parts.back().dim(axis)) < whole);
  return parts;
}

std::vector<Tensor> split(const Tensor& x, std::span<const Dim> sizes, int axis) {
  shapes::filled("split", "x", x);
  const Dim whole = x.dim(shapes::axis("split", x.shape(), axis));
  Dim left = whole;
  for (const Dim size : sizes) left = size < 0 || left < size ? -1 : left - size;
  if (left != 0)
    throw ShapeError(fmt::format("split: sizes must add up to {}, axis {} of x; got sizes [{}], x {}", whole, axis, fmt::join(sizes, ", "),
                                 x.shape().str()));
  std::vector<Tensor> parts;
  Dim begin = 0;
  for (const Dim size : sizes) {
    parts.push_back(slice(x, axis, begin, begin + size));
    begin += size;
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& x, std::initializer_list<Dim> sizes, int axis) { return split(x, span_of(sizes), axis); }

Tensor stack(std::span<const Tensor> parts, int axis) {
  if (parts.empty()) throw ShapeError("stack: at least one tensor; got none");
  for (const Tensor& part : parts) shapes::filled("stack", "a part", part);
  const Tensor& first = parts[0];
  const Shape shape = with_axis("stack", first.shape(), axis);  // [.., 1, ..]
  std::vector<Tensor> layers;
  for (const Tensor& part : parts) {
    if (part.shape() != first.shape())
      throw ShapeError(fmt::format("stack: shapes must agree; got {} and {}", first.shape().str(), part.shape().str()));
    if (part.dtype() != first.dtype())
      throw DTypeError(fmt::format("stack: dtypes must agree; got {} and {}. Use cast()", name(first.dtype()), name(part.dtype())));
    layers.push_back(renamed("stack", part, shape));
  }
  return concat(layers, axis);
}
Tensor stack(std::initializer_list<Tensor> parts, int axis) { return stack(span_of(parts), axis); }

// y = x, repeated      dx = Σ dy
Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  shapes::filled("broadcast_to", "x", x);
  bool fits = x.rank() <= shape.rank();
  for (int back = 1; fits && back <= x.rank(); ++back) fits = x.dim(-back) == shape[-back] || x.dim(-back) == 1;
  if (!fits)
    throw ShapeError(fmt::format("broadcast_to: aligned at the last axis, each size of x must be the shape's or 1; got x {}, shape {}",
                                 x.shape().str(), shape.str()));
  return record("broadcast_to", kernels::broadcast_to(x.value(), shape),
                wrt(x, [shape = x.shape()](const Array& dy) { return kernels::sum_to(dy, shape); }));
}

Tensor repeat(const Tensor& x, std::span<const Dim> counts) {
  shapes::filled("repeat", "x", x);
  const int rank = static_cast<int>(counts.size()), leading = rank - x.rank();
  if (leading < 0 || rank > Shape::max_rank)
    throw ShapeError(fmt::format("repeat: one count for each axis of x, and for new leading ones up to {}; got counts [{}], x {}",
                                 Shape::max_rank, fmt::join(counts, ", "), x.shape().str()));
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) shape.push_back(axis < leading ? 1 : x.dim(axis - leading));
  Tensor y = reshape(x, shape);
  for (int axis = 0; axis < rank; ++axis) {
    const Dim count = counts[static_cast<std::size_t>(axis)], outer = shape.numel(0, axis), n = shape.numel(axis, rank);
    if (count == 1) continue;
    shape.set(axis, grown("repeat", shape[axis], count, x));
    y = repeated(y, outer, n, count, shape);
  }
  return y;
}
Tensor repeat(const Tensor& x, std::initializer_list<Dim> counts) { return repeat(x, span_of(counts)); }

Tensor repeat_interleave(const Tensor& x, Dim count, int axis) {
  shapes::filled("repeat_interleave", "x", x);
  Shape shape = x.shape();
  const int at = shapes::axis("repeat_interleave", shape, axis);
  const Dim outer = shape.numel(0, at + 1), n = shape.numel(at + 1, shape.rank());
  shape.set(at, grown("repeat_interleave", shape[at], count, x));
  return repeated(x, outer, n, count, shape);
}

// y[before .. before + n] = x      dx = dy[before .. before + n]
Tensor pad(const Tensor& x, int axis, Dim before, Dim after, PadOptions options) {
  shapes::filled("pad", "x", x);
  Shape shape = x.shape();
  const int at = shapes::axis("pad", shape, axis);
  Dim end = 0, size = 0;
  if (before < 0 || after < 0 || __builtin_add_overflow(before, shape[at], &end) || __builtin_add_overflow(end, after, &size))
    throw ShapeError(fmt::format("pad: 0 or more indices, and a size that fits 63 bits; got {} before and {} after axis {} of x {}", before,
                                 after, axis, x.shape().str()));
  shape.set(at, size);
  Array y = Array::full(shape, options.value, x.dtype());
  kernels::copy_to_slice(y, x.value(), at, before);
  return record("pad", std::move(y), wrt(x, [at, before, end](const Array& dy) { return kernels::slice(dy, at, before, end); }));
}

Tensor flip(const Tensor& x, std::span<const int> axes) {
  shapes::filled("flip", "x", x);
  const std::uint32_t bits = shapes::axis_bits("flip", x.shape(), axes);
  kernels::Picks picks(x.shape());
  for (int axis = 0; axis < x.rank(); ++axis)
    if ((bits >> axis & 1u) != 0) picks.thin(axis, x.dim(axis) - 1, x.dim(axis), -1);
  return record("flip", kernels::picked(x.value(), picks), wrt(x, [picks](const Array& dy) { return kernels::picked(dy, picks); }));
}
Tensor flip(const Tensor& x, std::initializer_list<int> axes) { return flip(x, span_of(axes)); }

Tensor tril(const Tensor& x, Dim diagonal) { return triangle_of("tril", x, true, diagonal); }
Tensor triu(const Tensor& x, Dim diagonal) { return triangle_of("triu", x, false, diagonal); }

}  // namespace tapeform
