#include <fmt/format.h>

#include <algorithm>
#include <tapeform/core/error.hpp>
#include <tapeform/core/mask.hpp>

namespace tapeform {
namespace {

std::uint8_t* bytes_of(const detail::BufferRef& buffer) { return reinterpret_cast<std::uint8_t*>(buffer.bytes()); }

template <class Table>
detail::BufferRef bytes_from(const char* caller, const Table& table, const Shape& shape, bool allowed) {
  if (shape.rank() < 2 || shape.rank() > 4)
    throw ShapeError(fmt::format(
        "{}: a table is [Tq, Tk], [B, Tq, Tk] or [B or 1, H or 1, Tq or 1, Tk]; got shape {}. One length a sample is Mask::valid_lens",
        caller, shape.str()));
  if (static_cast<Dim>(table.size()) != shape.numel())
    throw ShapeError(fmt::format("{}: one bool for every element; got {} bools for shape {}", caller, table.size(), shape.str()));
  detail::BufferRef bytes(table.size());
  std::transform(table.begin(), table.end(), bytes_of(bytes), [allowed](auto entry) { return (entry != 0) == allowed; });
  return bytes;
}

Ids smaller_of(const Ids& a, const Ids& b, const char* what) {
  if (a.shape() != b.shape()) throw ShapeError(fmt::format("mask &: {} must agree; got {} and {}", what, a.shape().str(), b.shape().str()));
  Ids smaller = a;
  smaller.write([&b](std::span<std::int64_t> lengths) {
    std::transform(lengths.begin(), lengths.end(), b.values().begin(), lengths.begin(),
                   [](std::int64_t x, std::int64_t y) { return std::min(x, y); });
  });
  return smaller;
}

}  // namespace

Mask Mask::valid_lens(Ids lengths) {
  if (lengths.rank() != 1 && lengths.rank() != 2)
    throw ShapeError(fmt::format("valid_lens: lengths are [B], one a sample, or [B, Tq], one a query; got {}", lengths.shape().str()));
  const auto values = lengths.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0) continue;
    const Dim sample = static_cast<Dim>(i) / std::max<Dim>(1, lengths.shape().numel(1, lengths.rank()));
    throw ValueError(fmt::format("valid_lens: a length may not be negative; got {} for sample {}", values[i], sample));
  }
  Mask mask;
  (lengths.rank() == 1 ? mask.has_lens_ : mask.has_query_lens_) = true;
  (lengths.rank() == 1 ? mask.lens_ : mask.query_lens_) = std::move(lengths);
  return mask;
}

Mask Mask::causal() {
  Mask mask;
  mask.causal_ = true;
  return mask;
}

Mask Mask::of_table(detail::BufferRef bytes, const Shape& shape) {
  Mask mask;
  mask.table_ = std::move(bytes);
  mask.table_shape_ = shape;
  mask.table_sizes_[0] = shape.rank() > 2 ? shape[0] : 1;
  mask.table_sizes_[1] = shape.rank() > 3 ? shape[1] : 1;
  mask.table_sizes_[2] = shape[-2];
  mask.table_sizes_[3] = shape[-1];
  return mask;
}

Mask Mask::allow(const std::vector<bool>& table, const Shape& shape) {
  return of_table(bytes_from("Mask::allow", table, shape, true), shape);
}
Mask Mask::allow(std::span<const std::uint8_t> table, const Shape& shape) {
  return of_table(bytes_from("Mask::allow", table, shape, true), shape);
}
Mask Mask::block(const std::vector<bool>& table, const Shape& shape) {
  return of_table(bytes_from("Mask::block", table, shape, false), shape);
}
Mask Mask::block(std::span<const std::uint8_t> table, const Shape& shape) {
  return of_table(bytes_from("Mask::block", table, shape, false), shape);
}

Mask operator&(const Mask& a, const Mask& b) {
  Mask both = a;
  both.causal_ = a.causal_ || b.causal_;
  both.join_lens(b);
  both.join_table(b);
  return both;
}

void Mask::join_lens(const Mask& other) {
  if (other.has_lens_) lens_ = has_lens_ ? smaller_of(lens_, other.lens_, "valid lengths a sample") : other.lens_;
  if (other.has_query_lens_)
    query_lens_ = has_query_lens_ ? smaller_of(query_lens_, other.query_lens_, "valid lengths a query") : other.query_lens_;
  has_lens_ = has_lens_ || other.has_lens_;
  has_query_lens_ = has_query_lens_ || other.has_query_lens_;
}

void Mask::join_table(const Mask& other) {
  if (!other.table_) return;
  const Mask mine = *this;
  table_ = other.table_;
  table_shape_ = other.table_shape_;
  std::copy_n(other.table_sizes_, 4, table_sizes_);
  if (!mine.table_) return;
  Shape sizes;
  for (int axis = 0; axis < 4; ++axis) {
    const Dim x = mine.table_sizes_[axis], y = other.table_sizes_[axis];
    if (x != y && (axis == 3 || (x != 1 && y != 1)))
      throw ShapeError(fmt::format("mask &: tables must fit each other; got {} and {}", mine.table_shape_.str(), other.table_shape_.str()));
    sizes.push_back(x == 1 ? y : x);
  }
  const Dim keys = sizes[3];
  *this = of_table(detail::BufferRef(static_cast<std::size_t>(sizes.numel())), sizes);
  lens_ = mine.lens_;
  query_lens_ = mine.query_lens_;
  has_lens_ = mine.has_lens_;
  has_query_lens_ = mine.has_query_lens_;
  causal_ = mine.causal_;
  std::uint8_t* to = bytes_of(table_);
  for (Dim b = 0; b < sizes[0]; ++b)
    for (Dim h = 0; h < sizes[1]; ++h)
      for (Dim i = 0; i < sizes[2]; ++i, to += keys) {
        const std::uint8_t *x = mine.table_row(b, h, i), *y = other.table_row(b, h, i);
        std::transform(x, x + keys, y, to, [](std::uint8_t p, std::uint8_t q) { return p & q; });
      }
}

const std::uint8_t* Mask::table_row(Dim b, Dim h, Dim i) const noexcept {
  const Dim* const sizes = table_sizes_;
  const Dim sample = sizes[0] == 1 ? 0 : b, head = sizes[1] == 1 ? 0 : h, query = sizes[2] == 1 ? 0 : i;
  return bytes_of(table_) + ((sample * sizes[1] + head) * sizes[2] + query) * sizes[3];
}

MaskRow Mask::row(Dim b, Dim h, Dim i, Dim Tq, Dim Tk) const noexcept {
  MaskRow row{Tk, nullptr};
  if (causal_) row.limit = std::clamp<Dim>(i + 1 + Tk - Tq, 0, Tk);
  if (has_lens_) row.limit = std::min<Dim>(row.limit, lens_.values()[static_cast<std::size_t>(b)]);
  if (has_query_lens_) row.limit = std::min<Dim>(row.limit, query_lens_.values()[static_cast<std::size_t>(b * Tq + i)]);
  if (table_) row.allowed = table_row(b, h, i);
  return row;
}

Ids Mask::visible_keys(Dim B, Dim Tq, Dim Tk) const {
  const Dim heads = table_ ? table_sizes_[1] : 1;
  check("visible_keys", B, heads, Tq, Tk);
  Ids visible = Ids::full({B, Tk}, 0);  // [B, Tk]
  visible.write([this, B, Tq, Tk, heads](std::span<std::int64_t> seen) {
    for (Dim b = 0; b < B; ++b) {
      std::int64_t* const keys = seen.data() + b * Tk;
      Dim limit = 0;
      for (Dim h = 0; h < heads; ++h)
        for (Dim i = 0; i < Tq; ++i) {
          const MaskRow query = row(b, h, i, Tq, Tk);
          limit = std::max(limit, query.limit);
          for (Dim j = 0; query.allowed && j < query.limit; ++j) keys[j] |= query.allowed[j];
        }
      if (!table_) std::fill_n(keys, limit, 1);
    }
  });
  return visible;
}

bool Mask::hides_keys(Dim B, Dim Tq, Dim Tk) const {
  const Ids visible = visible_keys(B, Tq, Tk);
  return std::find(visible.values().begin(), visible.values().end(), 0) != visible.values().end();
}

void Mask::check(const char* op, Dim B, Dim H, Dim Tq, Dim Tk) const {
  if (table_) {
    const Dim scores[4] = {B, H, Tq, Tk};
    for (int axis = 0; axis < 4; ++axis)
      if (table_sizes_[axis] != scores[axis] && (axis == 3 || table_sizes_[axis] != 1))
        throw ShapeError(
            fmt::format("{}: the mask must fit the scores [B, H, Tq, Tk]; got mask {}, scores {}. A table is [Tq, Tk], [B, Tq, Tk] or "
                        "[B or 1, H or 1, Tq or 1, Tk]",
                        op, table_shape_.str(), Shape{B, H, Tq, Tk}.str()));
  }
  check_lens(op, B, H, Tq, Tk);
}

void Mask::check_lens(const char* op, Dim B, Dim H, Dim Tq, Dim Tk) const {
  if (has_lens_ && lens_.dim(0) != B)
    throw ShapeError(fmt::format("{}: valid lengths must be [B], one a sample; got lengths {}, scores {}", op, lens_.shape().str(),
                                 Shape{B, H, Tq, Tk}.str()));
  if (has_query_lens_ && query_lens_.shape() != Shape{B, Tq})
    throw ShapeError(fmt::format("{}: valid lengths must be [B, Tq], one a query; got lengths {}, scores {}", op, query_lens_.shape().str(),
                                 Shape{B, H, Tq, Tk}.str()));
  const Ids* const given[2] = {has_lens_ ? &lens_ : nullptr, has_query_lens_ ? &query_lens_ : nullptr};
  for (const Ids* lengths : given) {
    if (!lengths) continue;
    const auto values = lengths->values();
    const auto over = std::find_if(values.begin(), values.end(), [Tk](std::int64_t length) { return length > Tk; });
    if (over == values.end()) continue;
    const Dim sample = (over - values.begin()) / (lengths->rank() == 1 ? 1 : Tq);
    throw ValueError(fmt::format("{}: a valid length may not exceed the {} keys; got {} for sample {}", op, Tk, *over, sample));
  }
}

}  // namespace tapeform
