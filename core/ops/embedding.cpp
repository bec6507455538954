#include <tapeform/core/ops/embedding.hpp>

#include <fmt/format.h>

#include <tapeform/core/error.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/gather.hpp"

namespace tapeform {
namespace {

// [2, 0] for position 6 in ids [4, 3]
std::string place_of(Dim position, const Shape& shape) {
  std::string place;
  for (int axis = shape.rank(); axis-- > 0; position /= shape[axis])
    place = fmt::format("{}{}{}", position % shape[axis], place.empty() ? "" : ", ", place);
  return "[" + place + "]";
}

void check_embedding(const Tensor& weight, const Ids& ids, const EmbeddingOptions& options) {
  shapes::filled("embedding", "weight", weight);
  if (weight.rank() != 2) throw ShapeError(fmt::format("embedding: weight must be [V, D]; got weight {}", weight.shape().str()));
  const Dim rows = weight.dim(0);
  if (options.padding_id < -1 || options.padding_id >= rows)
    throw ValueError(fmt::format("embedding: padding_id must be -1 (none) or in [0, {}); got {}, weight {}", rows, options.padding_id,
                                 weight.shape().str()));
  Dim position = 0;
  for (const std::int64_t id : ids.values()) {
    if (id < 0 || id >= rows)
      throw ValueError(fmt::format("embedding: ids must lie in [0, {}), a row of the weight each; got {} at {} of ids {}, weight {}", rows,
                                   id, place_of(position, ids.shape()), ids.shape().str(), weight.shape().str()));
    ++position;
  }
}

}  // namespace

// y[i, :] = weight[ids[i], :]      dweight[ids[i], :] += dy[i, :]
Tensor embedding(const Tensor& weight, const Ids& ids, EmbeddingOptions options) {
  check_embedding(weight, ids, options);
  Shape shape = ids.shape();
  shape.push_back(weight.dim(1));  // [.., D]
  return record("embedding", kernels::gather_rows(weight.value(), ids.values(), shape),
                wrt(weight, [ids, padding = options.padding_id](const Array& dy, Array& dweight) {
                  kernels::scatter_add_rows(dweight, ids.values(), dy, padding);
                }));
}

}  // namespace tapeform
