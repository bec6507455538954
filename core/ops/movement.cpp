#include <tapeform/core/ops/movement.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tapeform/core/error.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/movement.hpp"
#include "kernels/strided.hpp"

namespace tapeform {
namespace {

using Axes = std::array<int, Shape::max_rank>;

std::span<const int> first(const Axes& axes, int rank) { return {axes.data(), static_cast<std::size_t>(rank)}; }

// `axes` counted from the front, each once.
Axes checked(const Shape& x, std::span<const int> axes) {
  const auto fail = [&] {
    throw ShapeError(fmt::format("permute: axes must name each axis of x once; got x {}, axes [{}]", x.str(), fmt::join(axes, ", ")));
  };
  const int rank = x.rank();
  if (static_cast<int>(axes.size()) != rank) fail();
  Axes result{};
  unsigned seen = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank || (seen >> axis & 1u) != 0) fail();
    seen |= 1u << axis;
    result[i] = axis;
  }
  return result;
}

// y: axis i is x's axes[i]      dx: axis axes[i] is dy's i
Tensor permuted(const char* op, const Tensor& x, const Axes& axes) {
  const int rank = x.rank();
  Axes back{};
  for (int i = 0; i < rank; ++i) back[static_cast<std::size_t>(axes[static_cast<std::size_t>(i)])] = i;
  return record(op, kernels::permute(x.value(), first(axes, rank)),
                wrt(x, [back, rank](const Array& dy) { return kernels::permute(dy, first(back, rank)); }));
}

Tensor reshaped(const Tensor& x, Array y) {
  return record("reshape", std::move(y), wrt(x, [shape = x.shape()](const Array& dy) { return dy.reshape(shape); }));
}

int sliced_axis(const Tensor& x, int axis, Dim begin, Dim end) {
  shapes::filled("slice", "x", x);
  const int at = shapes::axis("slice", x.shape(), axis);
  if (begin < 0 || end < begin || end > x.dim(at))
    throw ShapeError(
        fmt::format("slice: [{}, {}) must lie within axis {} of size {}; got x {}", begin, end, axis, x.dim(at), x.shape().str()));
  return at;
}

// The shape of all parts together. [.., Σ sizes, ..]
Shape concat_shape(std::span<const Tensor> parts, int axis) {
  if (parts.empty()) throw ShapeError("concat: at least one tensor; got none");
  for (const Tensor& part : parts) shapes::filled("concat", "a part", part);
  Shape shape = parts[0].shape();
  const int at = shapes::axis("concat", shape, axis);
  Dim total = 0;
  for (const Tensor& part : parts) {
    Shape other = part.shape();
    bool fits = other.rank() == shape.rank();
    if (fits) {
      if (__builtin_add_overflow(total, other[at], &total))
        throw ShapeError(fmt::format("concat: a size that fits 63 bits; got {} more in axis {}", other[at], axis));
      other.set(at, shape[at]);
      fits = other == shape;
    }
    if (!fits)
      throw ShapeError(fmt::format("concat: shapes must agree in all axes but {}; got {} and {}", axis, shape.str(), part.shape().str()));
    if (part.dtype() != parts[0].dtype())
      throw DTypeError(fmt::format("concat: dtypes must agree; got {} and {}. Use cast()", name(parts[0].dtype()), name(part.dtype())));
  }
  shape.set(at, total);
  return shape;
}

// The derivatives of any number of inputs: each gets its part of dy.
class ConcatPulls {
 public:
  ConcatPulls(std::span<const Tensor> parts, int axis) : parts_(parts), axis_(axis) {}

  detail::Pull* build(Tape& tape, const char* op) {
    std::vector<Part> needed;
    Dim begin = 0;
    for (const Tensor& part : parts_) {
      if (tape.holds(part, op)) needed.push_back({part.node(), begin, begin + part.dim(axis_)});
      begin += part.dim(axis_);
    }
    if (needed.empty()) return nullptr;
    return detail::make_pull<Entry>(tape, detail::Pull{nullptr, run, detail::drop_pull<Entry>}, axis_, std::move(needed));
  }

  double bytes() const noexcept {
    double sum = 0;
    for (const Tensor& part : parts_) sum += detail::bytes_of(part.value());
    return sum;
  }

 private:
  struct Part {
    std::uint32_t node;
    Dim begin, end;
  };
  struct Entry : detail::Pull {
    int axis;
    std::vector<Part> parts;
  };
  static void run(detail::Pull* pull, const Array& dy, Tape& tape) {
    const Entry& entry = *static_cast<Entry*>(pull);
    for (const Part& part : entry.parts) tape.add(part.node, kernels::slice(dy, entry.axis, part.begin, part.end));
  }

  std::span<const Tensor> parts_;
  int axis_;
};

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  shapes::filled("reshape", "x", x);
  return reshaped(x, x.value().reshape(shape));
}
Tensor reshape(const Tensor& x, std::initializer_list<Dim> sizes) {
  shapes::filled("reshape", "x", x);
  return reshaped(x, x.value().reshape(sizes));
}

Tensor permute(const Tensor& x, std::span<const int> axes) {
  shapes::filled("permute", "x", x);
  return permuted("permute", x, checked(x.shape(), axes));
}
Tensor permute(const Tensor& x, std::initializer_list<int> axes) { return permute(x, std::span<const int>(axes.begin(), axes.size())); }

Tensor transpose(const Tensor& x, int axis_a, int axis_b) {
  shapes::filled("transpose", "x", x);
  const auto a = static_cast<std::size_t>(shapes::axis("transpose", x.shape(), axis_a)),
             b = static_cast<std::size_t>(shapes::axis("transpose", x.shape(), axis_b));
  Axes axes{};
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(i);
  std::swap(axes[a], axes[b]);
  return permuted("transpose", x, axes);
}

// y = x[.., begin .. end, ..]      dx[.., begin .. end, ..] += dy
Tensor slice(const Tensor& x, int axis, Dim begin, Dim end) {
  const int at = sliced_axis(x, axis, begin, end);
  return record("slice", kernels::slice(x.value(), at, begin, end),
                wrt(x, [at, begin](const Array& dy, Array& dx) { kernels::add_to_slice(dx, dy, at, begin); }));
}

Tensor slice(const Tensor& x, int axis, Dim begin, Dim end, Dim step) {
  const int at = sliced_axis(x, axis, begin, end);
  if (step == 0)
    throw ValueError(fmt::format("slice: the step must not be 0; got [{}, {}) of axis {}, x {}", begin, end, axis, x.shape().str()));
  if (step == 1) return slice(x, axis, begin, end);
  const Dim longest = std::max<Dim>(1, end - begin);  // a longer step takes one index all the same
  const Dim stride = std::clamp(step, -longest, longest), size = stride < 0 ? -stride : stride;
  kernels::Picks picks(x.shape());
  picks.thin(at, stride < 0 ? end - 1 : begin, (end - begin + size - 1) / size, stride);
  return record("slice", kernels::picked(x.value(), picks),
                wrt(x, [picks](const Array& dy, Array& dx) { kernels::add_to_picked(dx, dy, picks); }));
}

Tensor concat(std::span<const Tensor> parts, int axis) {
  const Shape shape = concat_shape(parts, axis);
  const int at = shape.axis(axis);
  Array y(shape, parts[0].dtype());
  Dim begin = 0;
  for (const Tensor& part : parts) {
    kernels::copy_to_slice(y, part.value(), at, begin);
    begin += part.dim(at);
  }
  return record("concat", std::move(y), ConcatPulls(parts, at));
}
Tensor concat(std::initializer_list<Tensor> parts, int axis) { return concat(std::span<const Tensor>(parts.begin(), parts.size()), axis); }

}  // namespace tapeform
