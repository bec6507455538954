#include <tapeform/nn/embedding.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/embedding.hpp>

namespace tapeform::nn {

Embedding::Embedding(Dim num_ids, Dim num_hiddens, Rng& rng, const Options& options) : padding_id_(options.padding_id) {
  if (num_ids < 1 || num_hiddens < 1)
    throw ValueError(fmt::format("embedding: both sizes must be at least 1; got num_ids {}, num_hiddens {}", num_ids, num_hiddens));
  if (padding_id_ < -1 || padding_id_ >= num_ids)
    throw ValueError(fmt::format("embedding: padding_id must be -1 (none) or an id below {}; got {}", num_ids, padding_id_));
  weight = Parameter(Array({num_ids, num_hiddens}));
  reset(rng);
}

void Embedding::reset(Rng& rng) {
  Array table = normal(weight.shape(), 0.0, 1.0, rng);
  if (padding_id_ >= 0) std::fill_n(table.mutable_data<float>() + padding_id_ * weight.dim(1), weight.dim(1), 0.0f);
  weight.assign(table.cast(weight.dtype()));
}

Tensor Embedding::forward(const Ids& ids) const { return embedding(weight, ids, {.padding_id = padding_id_}); }

}  // namespace tapeform::nn
