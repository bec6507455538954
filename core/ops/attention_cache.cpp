#include <tapeform/core/ops/attention_cache.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/attention.hpp>
#include <tapeform/core/tape.hpp>

#include "kernels/attention.hpp"

namespace tapeform {

static void check_constant(const char* op, const Tensor& x) {
  if (x.recorded() && Tape::current())
    throw TapeError(fmt::format("{}: a cache keeps no derivatives, and a tape records. Decode in the scope of a NoTape", op));
}

Ids KeyValueCache::lengths() const {
  Ids lengths = Ids::full({rows()}, 0);
  lengths.write([this](std::span<std::int64_t> values) {
    std::ranges::transform(places_, values.begin(), [](const auto& row) { return static_cast<std::int64_t>(row.size()); });
  });
  return lengths;
}

void KeyValueCache::append(const Tensor& kv, const Ids& lens) {
  const char* const op = "key_value_cache";
  check_constant(op, kv);
  const bool packed = lens.numel() > 0;
  const Dim count = packed ? lens.numel() : kv.rank() == 3 ? kv.dim(0) : 0, each = packed ? 0 : kv.rank() == 3 ? kv.dim(1) : 0;
  Dim total = count * each;
  for (const std::int64_t length : lens.values()) total += std::max<std::int64_t>(0, length);
  const bool rows_fit = (empty() || count == rows()) && (packed ? kv.rank() == 2 && kv.dim(0) == total : kv.rank() == 3);
  if (!rows_fit || kv.dim(-1) % 2 != 0 || (!empty() && kv.dim(-1) != held_[0].dim(-1)))
    throw ShapeError(
        fmt::format("{}: kv must be [N, T, 2E], or [M, 2E] with lens [N] that add up to M, N and E as before; got kv {}, lens {}, "
                    "rows {}",
                    op, kv.shape().str(), lens.shape().str(), rows()));
  if (!empty() && kv.dtype() != held_[0].dtype())
    throw DTypeError(fmt::format("{}: dtypes must agree; got kv {}, before {}. Use cast()", op, name(kv.dtype()), name(held_[0].dtype())));
  places_.resize(static_cast<std::size_t>(count));
  held_.push_back(kv.value());
  dispatch(kv.dtype(), [&]<class T>(T) {
    const T* place = held_.back().data<T>();
    for (Dim n = 0; n < count; ++n)
      for (Dim t = 0; t < (packed ? lens[n] : each); ++t, place += kv.dim(-1)) places_[static_cast<std::size_t>(n)].push_back(place);
  });
}

void KeyValueCache::keep(std::span<const Dim> from) {
  std::vector<std::vector<const void*>> places;
  places.reserve(from.size());
  for (const Dim row : from) {
    if (row < 0 || row >= rows()) throw ShapeError(fmt::format("key_value_cache: rows are 0 to {}; got {}", rows() - 1, row));
    places.push_back(places_[static_cast<std::size_t>(row)]);
  }
  places_ = std::move(places);
}

Tensor KeyValueCache::attend(const Tensor& q, const AttentionOptions& options) const {
  const char* const op = "attention_cached";
  check_constant(op, q);
  if (empty()) throw ValueError(fmt::format("{}: the cache is empty. Append keys and values first", op));
  const Array& kv = held_[0];
  if (q.rank() != 3 || q.dim(0) != rows() || q.dim(1) != 1 || 2 * q.dim(2) != kv.dim(-1) || options.heads < 1 ||
      q.dim(2) % options.heads != 0)
    throw ShapeError(fmt::format("{}: q must be [{}, 1, {}], a width that heads divide; got q {}, heads {}", op, rows(), kv.dim(-1) / 2,
                                 q.shape().str(), options.heads));
  if (q.dtype() != kv.dtype())
    throw DTypeError(fmt::format("{}: dtypes must agree; got q {}, cache {}. Use cast()", op, name(q.dtype()), name(kv.dtype())));
  const double width = static_cast<double>(q.dim(2) / options.heads), scale = options.scale != 0 ? options.scale : 1 / std::sqrt(width);
  return record(op, kernels::attention_cached(q.value(), places_, options.heads, scale, options.weights));
}

}  // namespace tapeform
