#pragma once
#include <cstdint>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/tensor.hpp>
#include <vector>

namespace tapeform {

enum class Reduction : std::uint8_t {
  mean,  ///< sum divided by the number of targets that count, or by the sum of their classes' weights; 0 when that is 0
  sum,
  none,  ///< one loss for every target
};

struct CrossEntropyOptions {
  std::int64_t ignore_id = INT64_MIN;                 ///< targets of this id count for nothing: loss 0, gradient 0 (by default no id is)
  double label_smoothing = 0;                         ///< ε in [0, 1]: the share of the target distribution that is spread evenly
  std::vector<std::int64_t> smoothing_excludes = {};  ///< classes that get no share of ε
  Reduction reduction = Reduction::mean;
  Array class_weights = {};  ///< [V], finite and not negative, of the logits' dtype; all 1 when it holds nothing
};

/// The loss of predicting `targets` from unnormalised `logits`: −Σ_v q_v · log_softmax(logits)_v, a scalar (mean, sum) or one number
/// for every target (none).
///
/// `logits` is [..., V], `targets` is [...] with classes 0 … V − 1. q is 1 at the target; with label smoothing ε (Szegedy et al.,
/// "Rethinking the Inception Architecture", 2016, section 7) it is 1 − ε there plus ε/V everywhere. With classes left out of the
/// smoothing, each class that is neither the target nor left out gets ε/m, m their number, and the target 1 − ε.
///
/// With class weights w the sum is −Σ_v w_v·q_v·log_softmax(logits)_v, and a mean divides by the sum of the targets' weights.
///
/// dlogits = (softmax(logits) − q) · dloss, divided by the number of targets that count for a mean (with weights
/// softmax(logits)·Σ_u w_u·q_u − w·q in its place). Backward needs the logits and two
/// numbers a row. To accumulate gradients over several batches as if they were one, use `Reduction::sum` and divide by the number of
/// targets of all batches.
/// @throws ShapeError when targets do not fit, ValueError for a target outside 0 … V − 1 that is not `ignore_id`, for ε outside [0, 1],
/// for a class left out that does not exist, for a weight that is negative or not finite; DTypeError for weights of another dtype.
Tensor cross_entropy(const Tensor& logits, const Ids& targets, const CrossEntropyOptions& options = {});

/// The same with a distribution for every target: `targets` is [..., V], of the logits' dtype. loss = −Σ_v w_v·q'_v·log_softmax(logits)_v
/// with q' = (1 − ε)·q + ε/V; a class with q' = 0 takes no part, even where its logit is −inf. A mean divides by the number of
/// distributions, weights or not, as torch does. The distributions are taken as they are: they need not sum to 1.
///
/// dlogits = (softmax(logits)·Σ_u w_u·q'_u − w·q')·dloss,   dtargets = −(1 − ε)·w·log_softmax(logits)·dloss.
/// @throws ShapeError unless targets have the logits' shape, DTypeError, ValueError for ε outside [0, 1], for bad weights, and for
/// `ignore_id` or `smoothing_excludes`, which are for targets that are classes.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options = {});

struct NllLossOptions {
  std::int64_t ignore_id = INT64_MIN;  ///< targets of this id count for nothing
  Array class_weights = {};            ///< [V], as in CrossEntropyOptions
  Reduction reduction = Reduction::mean;
};

/// Negative log-likelihood: −w_t·x_t with t the target, for x that holds log-probabilities, [..., V]; `targets` is [...]. After
/// `log_softmax` it is the cross-entropy, for which `cross_entropy` is the faster spelling.
///
/// dx = −w_t·dloss at the target, 0 elsewhere, divided by the sum of the targets' weights for a mean.
/// @throws ShapeError, DTypeError, ValueError as `cross_entropy`.
Tensor nll_loss(const Tensor& x, const Ids& targets, const NllLossOptions& options = {});

/// `cross_entropy(linear(h, weight), targets, options)` in tiles of targets, so that the logits of all of them, often the largest array
/// of a training step, never exist at once.
///
/// `h` is [..., D], `weight` is [V, D], `targets` is [...]. With G = dlogits of a tile: dh = G·weight, dweight = Σ over tiles of Gᵀ·h.
/// @throws ShapeError, DTypeError when h, weight and targets do not fit, ValueError as `cross_entropy`.
Tensor linear_cross_entropy(const Tensor& h, const Tensor& weight, const Ids& targets, const CrossEntropyOptions& options = {});

}  // namespace tapeform
