#include <tapeform/core/ops/embedding.hpp>

#include <fmt/format.h>

#include <tapeform/core/error.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/id_rules.hpp"
#include "detail/shape_rules.hpp"
#include "kernels/gather.hpp"

namespace tapeform {
namespace {

void check_embedding(const Tensor& weight, const Ids& ids, const EmbeddingOptions& options) {
  shapes::filled("embedding", "weight", weight);
  if (weight.rank() != 2) throw ShapeError(fmt::format("embedding: weight must be [V, D]; got weight {}", weight.shape().str()));
  const Dim rows = weight.dim(0);
  if (options.padding_id < -1 || options.padding_id >= rows)
    throw ValueError(fmt::format("embedding: padding_id must be -1 (none) or in [0, {}); got {}, weight {}", rows, options.padding_id,
                                 weight.shape().str()));
  if (const Dim at = shapes::first_outside(ids, rows); at >= 0)
    throw ValueError(fmt::format("embedding: ids must lie in [0, {}), a row of the weight each; got {}, weight {}", rows,
                                 shapes::described(ids, at), weight.shape().str()));
}

}  // namespace

// y[i, :] = weight[ids[i], :]      dweight[ids[i], :] += dy[i, :]
Tensor embedding(const Tensor& weight, const Ids& ids, EmbeddingOptions options) {
  check_embedding(weight, ids, options);
  Shape shape = ids.shape();
  shape.push_back(weight.dim(1));  // [.., D]
  const kernels::AxisSplit rows(weight.shape(), 0);
  return record("embedding", kernels::gather_rows(weight.value(), rows, ids.values(), shape),
                wrt(weight, [ids, rows, padding = options.padding_id](const Array& dy, Array& dweight) {
                  kernels::scatter_add_rows(dweight, rows, ids.values(), dy, padding);
                }));
}

}  // namespace tapeform
