#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ids.hpp>

namespace tapeform {

static constexpr std::size_t item_bytes = sizeof(std::int64_t);

Ids::Ids(const Shape& shape) : shape_(shape) {
  if (shape.numel() > (Dim{1} << 43))
    throw ShapeError(fmt::format("ids: {} elements are more than any memory holds; got shape {}", shape.numel(), shape.str()));
  buffer_ = detail::BufferRef(static_cast<std::size_t>(shape.numel()) * item_bytes);
}

Ids::Ids(const Shape& shape, std::span<const std::int64_t> values) : shape_(shape) {
  if (static_cast<Dim>(values.size()) != shape.numel())
    throw ShapeError(fmt::format("ids: one value per element; got {} values for shape {}", values.size(), shape.str()));
  buffer_ = detail::BufferRef(values.size() * item_bytes);
  if (!values.empty()) std::memcpy(buffer_.bytes(), values.data(), values.size() * item_bytes);
}

template <class Rows>
static Ids from_rows(const Rows& rows) {
  std::vector<std::int64_t> values;
  const std::size_t width = rows.size() == 0 ? 0 : rows.begin()->size();
  for (const auto& row : rows) {
    if (row.size() != width)
      throw ShapeError(fmt::format("ids: rows must have one length; got {} and {}. Pad the shorter ones", width, row.size()));
    values.insert(values.end(), row.begin(), row.end());
  }
  return Ids(Shape{static_cast<Dim>(rows.size()), static_cast<Dim>(width)}, values);
}

Ids Ids::rows(std::initializer_list<std::initializer_list<std::int64_t>> rows) { return from_rows(rows); }
Ids Ids::rows(const std::vector<std::vector<std::int64_t>>& rows) { return from_rows(rows); }

Ids Ids::full(const Shape& shape, std::int64_t value) {
  Ids ids(shape);
  ids.write([value](std::span<std::int64_t> numbers) { std::ranges::fill(numbers, value); });
  return ids;
}

Ids Ids::arange(Dim n) {
  Ids ids(Shape{n});
  ids.write([](std::span<std::int64_t> numbers) { std::iota(numbers.begin(), numbers.end(), 0); });
  return ids;
}

std::int64_t Ids::operator[](Dim position) const {
  if (position < 0 || position >= numel())
    throw ShapeError(fmt::format("ids: position {} is outside {} elements; got shape {}", position, numel(), shape_.str()));
  return numbers()[position];
}

Ids Ids::reshape(const Shape& shape) const {
  if (shape.numel() != numel())
    throw ShapeError(fmt::format("reshape: the number of elements must stay {}; got {} to {}", numel(), shape_.str(), shape.str()));
  Ids view = *this;
  view.shape_ = shape;
  return view;
}

void Ids::make_unique() {
  if (!buffer_ || buffer_.unique()) return;
  detail::count_copy();
  *this = Ids(shape_, values());
}

bool operator==(const Ids& a, const Ids& b) { return a.shape_ == b.shape_ && std::ranges::equal(a.values(), b.values()); }

}  // namespace tapeform
