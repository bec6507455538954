#pragma once
#include <cstdint>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/tensor.hpp>

namespace tapeform {

struct EmbeddingOptions {
  std::int64_t padding_id = -1;  ///< the row of this id is read as any other and gets no gradient; −1: none
};

/// Rows of a table: y[..., :] = weight[ids[...], :], weight [V, D], ids [...], y [..., D].
///
/// Derivative: dweight[ids[i], :] += dy[i, :] for every i in order: a repeated id adds. ids equal to `padding_id` add nothing.
/// @throws ShapeError unless weight is a matrix; ValueError when an id is outside [0, V), with its position, or `padding_id` is
/// outside [−1, V).
Tensor embedding(const Tensor& weight, const Ids& ids, EmbeddingOptions options = {});

}  // namespace tapeform
