#include <tapeform/core/ops/packing.hpp>

#include <fmt/format.h>

#include <tapeform/core/error.hpp>
#include <tapeform/core/tape.hpp>

#include "kernels/gather.hpp"

namespace tapeform {
namespace {

// Σ lens, each of which must lie in [0, length].
Dim checked_total(const char* op, const Ids& lens, Dim length) {
  Dim total = 0, sample = 0;
  for (const std::int64_t len : lens.values()) {
    if (len < 0 || len > length)
      throw ValueError(fmt::format("{}: lengths must lie in [0, {}]; got {} for sample {}", op, length, len, sample));
    total += len;
    ++sample;
  }
  return total;
}

// The shape with axes [0, axes) replaced by `front`.
Shape with_front(const Shape& front, const Shape& shape, int axes) {
  Shape result = front;
  for (int i = axes; i < shape.rank(); ++i) result.push_back(shape[i]);
  return result;
}

}  // namespace

Tensor pack_rows(const Tensor& x, const Ids& lens) {
  if (x.rank() < 2 || lens.shape() != Shape{x.dim(0)})
    throw ShapeError(fmt::format("pack_rows: x must be [B, T, ...] and lens [B]; got x {}, lens {}", x.shape().str(), lens.shape().str()));
  const Shape shape = with_front({checked_total("pack_rows", lens, x.dim(1))}, x.shape(), 2);  // [N, ..]
  return record("pack_rows", kernels::pack_rows(x.value(), lens.values(), shape),
                wrt(x, [lens, shape = x.shape()](const Array& dy) { return kernels::unpack_rows(dy, lens.values(), shape); }));
}

Tensor unpack_rows(const Tensor& x, const Ids& lens, Dim length) {
  if (x.rank() < 1 || lens.rank() != 1 || length < 0)
    throw ShapeError(fmt::format("unpack_rows: x must be [N, ...], lens [B] and the length no less than 0; got x {}, lens {}, length {}",
                                 x.shape().str(), lens.shape().str(), length));
  const Dim total = checked_total("unpack_rows", lens, length);
  if (total != x.dim(0))
    throw ShapeError(
        fmt::format("unpack_rows: x must have as many rows as lens add up to, {}; got x {}, lens {}. Give the lens that "
                    "pack_rows was given",
                    total, x.shape().str(), lens.shape().str()));
  const Shape shape = with_front({lens.dim(0), length}, x.shape(), 1);  // [B, T, ..]
  return record("unpack_rows", kernels::unpack_rows(x.value(), lens.values(), shape),
                wrt(x, [lens, shape = x.shape()](const Array& dy) { return kernels::pack_rows(dy, lens.values(), shape); }));
}

Tensor keep_rows(const Tensor& x, const Ids& keep) {
  if (x.rank() < 2 || keep.shape() != Shape{x.dim(0), x.dim(1)})
    throw ShapeError(
        fmt::format("keep_rows: x must be [B, T, ...] and keep [B, T]; got x {}, keep {}", x.shape().str(), keep.shape().str()));
  for (const std::int64_t value : keep.values())
    if (value != 0 && value != 1) throw ValueError(fmt::format("keep_rows: keep must hold 0 and 1 only; got {}", value));
  return record("keep_rows", kernels::keep_rows(x.value(), keep.values()),
                wrt(x, [keep](const Array& dy) { return kernels::keep_rows(dy, keep.values()); }));
}

}  // namespace tapeform
