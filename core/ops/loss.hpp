#pragma once
#include <cstdint>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/tensor.hpp>
#include <vector>

namespace tapeform {

enum class Reduction : std::uint8_t {
  mean,  ///< sum divided by the number of targets that count; 0 when none does
  sum,
  none,  ///< one loss for every target
};

struct CrossEntropyOptions {
  std::int64_t ignore_id = INT64_MIN;                 ///< targets of this id count for nothing: loss 0, gradient 0 (by default no id is)
  double label_smoothing = 0;                         ///< ε in [0, 1]: the share of the target distribution that is spread evenly
  std::vector<std::int64_t> smoothing_excludes = {};  ///< classes that get no share of ε
  Reduction reduction = Reduction::mean;
};

/// The loss of predicting `targets` from unnormalised `logits`: −Σ_v q_v · log_softmax(logits)_v, a scalar (mean, sum) or one number
/// for every target (none).
///
/// `logits` is [..., V], `targets` is [...] with classes 0 … V − 1. q is 1 at the target; with label smoothing ε (Szegedy et al.,
/// "Rethinking the Inception Architecture", 2016, section 7) it is 1 − ε there plus ε/V everywhere. With classes left out of the
/// smoothing, each class that is neither the target nor left out gets ε/m, m their number, and the target 1 − ε.
///
/// dlogits = (softmax(logits) − q) · dloss, divided by the number of targets that count for a mean. Backward needs the logits and two
/// numbers a row. To accumulate gradients over several batches as if they were one, use `Reduction::sum` and divide by the number of
/// targets of all batches.
/// @throws ShapeError when targets do not fit, ValueError for a target outside 0 … V − 1 that is not `ignore_id`, for ε outside [0, 1],
/// for a class left out that does not exist.
Tensor cross_entropy(const Tensor& logits, const Ids& targets, const CrossEntropyOptions& options = {});

/// `cross_entropy(linear(h, weight), targets, options)` in tiles of targets, so that the logits of all of them, often the largest array
/// of a training step, never exist at once.
///
/// `h` is [..., D], `weight` is [V, D], `targets` is [...]. With G = dlogits of a tile: dh = G·weight, dweight = Σ over tiles of Gᵀ·h.
/// @throws ShapeError, DTypeError when h, weight and targets do not fit, ValueError as `cross_entropy`.
Tensor linear_cross_entropy(const Tensor& h, const Tensor& weight, const Ids& targets, const CrossEntropyOptions& options = {});

}  // namespace tapeform
