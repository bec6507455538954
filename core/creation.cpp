#include <tapeform/core/creation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tapeform/core/error.hpp>

namespace tapeform {

namespace {

template <class F>
Array filled(const Shape& shape, DType dtype, const F& f) {
  Array x(shape, dtype);
  dispatch(dtype, [&]<class T>(T) {
    T* const to = x.mutable_data<T>();
    for (Dim i = 0; i < x.numel(); ++i) to[i] = static_cast<T>(f(i));
  });
  return x;
}

void check_finite(const char* op, std::initializer_list<double> numbers) {
  for (const double number : numbers)
    if (!std::isfinite(number)) throw ValueError(fmt::format("{}: bounds and step must be finite; got {}", op, number));
}

Shape shape_of(std::span<const Nested> items) {
  Shape shape;
  for (std::span<const Nested> level = items;; level = level.front().items()) {
    shape.push_back(static_cast<Dim>(level.size()));
    if (level.empty() || level.front().is_number()) return shape;
  }
}

void gather(std::span<const Nested> items, const Shape& shape, int axis, std::vector<double>& numbers) {
  if (static_cast<Dim>(items.size()) != shape[axis]) detail::throw_ragged(shape[axis], static_cast<Dim>(items.size()));
  for (const Nested& item : items) {
    if (item.is_number() != (axis + 1 == shape.rank()))
      throw ShapeError(fmt::format("array_of: numbers must stand at one depth; got one at depth {} and one at another", axis + 1));
    if (item.is_number())
      numbers.push_back(item.number());
    else
      gather(item.items(), shape, axis + 1, numbers);
  }
}

}  // namespace

void detail::throw_ragged(Dim one, Dim other) {
  throw ShapeError(fmt::format("array_of: lists of one axis must have one length; got {} and {}. Pad the shorter ones", one, other));
}

Array array_of(std::initializer_list<Nested> items, DType dtype) {
  const std::span<const Nested> outermost(items.begin(), items.size());
  const Shape shape = shape_of(outermost);
  std::vector<double> numbers;
  gather(outermost, shape, 0, numbers);
  return filled(shape, dtype, [&](Dim i) { return numbers[static_cast<std::size_t>(i)]; });
}

Array array_of(std::span<const float> numbers) { return Array::of({static_cast<Dim>(numbers.size())}, numbers); }
Array array_of(std::span<const double> numbers) { return Array::of({static_cast<Dim>(numbers.size())}, numbers); }

Array array_of(const Ids& ids, DType dtype) {
  const auto values = ids.values();
  return filled(ids.shape(), dtype, [&](Dim i) { return static_cast<double>(values[static_cast<std::size_t>(i)]); });
}

Array arange(double begin, double end, double step, DType dtype) {
  check_finite("arange", {begin, end, step});
  if (step == 0) throw ValueError(fmt::format("arange: the step must not be 0; got begin {}, end {}", begin, end));
  const double count = std::max(0.0, std::ceil((end - begin) / step));
  if (!(count < 0x1p62)) throw ShapeError(fmt::format("arange: {} numbers are more than any memory holds; got step {}", count, step));
  return filled({static_cast<Dim>(count)}, dtype, [&](Dim i) { return begin + static_cast<double>(i) * step; });
}

Array arange(double end, DType dtype) { return arange(0, end, 1, dtype); }

Array linspace(double first, double last, Dim count, DType dtype) {
  check_finite("linspace", {first, last});
  if (count < 0) throw ValueError(fmt::format("linspace: the count must not be negative; got {}", count));
  // From the nearer end, so that both ends are exact.
  const double intervals = static_cast<double>(std::max<Dim>(count - 1, 1)), step = last / intervals - first / intervals;
  return filled({count}, dtype, [&](Dim i) {
    return 2 * i < count ? first + static_cast<double>(i) * step : last - static_cast<double>(count - 1 - i) * step;
  });
}

Array eye(Dim rows, Dim columns, DType dtype) {
  Array x = Array::zeros({rows, columns}, dtype);
  dispatch(dtype, [&]<class T>(T) {
    T* const to = x.mutable_data<T>();
    for (Dim i = 0; i < std::min(rows, columns); ++i) to[i * columns + i] = 1;
  });
  return x;
}

Array eye(Dim size, DType dtype) { return eye(size, size, dtype); }

}  // namespace tapeform
