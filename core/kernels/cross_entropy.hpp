#pragma once
#include <tapeform/core/array.hpp>
#include <tapeform/core/ids.hpp>

namespace tapeform::kernels {

/// What every row's softmax is compared with, worked out once: 1 − ε at the target and ε spread evenly over the classes that share in
/// it. When all do, the target is one of them; otherwise it takes no part beside its 1 − ε. Where classes have weights, each class's
/// part is then multiplied by its weight.
struct TargetDistribution {
  Ids targets;
  std::int64_t ignore_id = 0;
  double smoothing = 0;
  Array shares;           ///< [V]: weight of a class that shares in ε, 0 for one left out; holds nothing when all share with weight 1
  Dim sharing = 0;        ///< number of classes that share
  Dim counted = 0;        ///< number of targets that are not ignored
  Array keeps = {};       ///< [V]: 1 for a class that shares in ε, 0 for one left out; holds nothing when none is left out
  Array weights = {};     ///< [V], of the classes; holds nothing when all are 1
  double all_shares = 0;  ///< sum of `shares`
};

/// Rows of logits as a kernel sees them.
template <class T>
struct CrossEntropyRows {
  const T* logits;
  const std::int64_t* targets;
  Dim rows, V;
  const T *shares, *keeps, *weights;  ///< null as in TargetDistribution
  Dim sharing;
  double all_shares;
  double smoothing;
  std::int64_t ignore_id;

  CrossEntropyRows(const T* logits_, const std::int64_t* targets_, Dim rows_, Dim V_, const TargetDistribution& q)
      : logits(logits_),
        targets(targets_),
        rows(rows_),
        V(V_),
        shares(q.shares ? q.shares.template data<T>() : nullptr),
        keeps(q.keeps ? q.keeps.template data<T>() : nullptr),
        weights(q.weights ? q.weights.template data<T>() : nullptr),
        sharing(q.sharing),
        all_shares(q.all_shares),
        smoothing(q.smoothing),
        ignore_id(q.ignore_id) {}
};

/// Per row the loss, and the two numbers that its gradient needs: max and 1/Σ exp(x − max). Ignored rows are not read: loss 0.
template <class T>
void cross_entropy_rows(const CrossEntropyRows<T>& rows, T* losses, T* stats);
inline constexpr Dim cross_entropy_stats = 2;

/// The upstream gradient of row r: factor · dlosses[r · stride]; stride 0 when there is one for all rows.
template <class T>
struct RowGradient {
  const T* dlosses;
  Dim stride;
  T factor;
};
/// dlogits = (softmax − q) · upstream; ignored rows are not read: 0. `dlogits` may be the logits.
template <class T>
void cross_entropy_gradient_rows(const CrossEntropyRows<T>& rows, const T* stats, const RowGradient<T>& upstream, T* dlogits);

struct CrossEntropyResult {
  Array losses;  ///< shape of targets
  Array stats;   ///< [rows, 2]
};
CrossEntropyResult cross_entropy(const Array& logits, const TargetDistribution& q);
/// `dlosses` holds one number, or one for every row.
Array cross_entropy_backward(const Array& logits, const Array& stats, const TargetDistribution& q, const Array& dlosses, double factor);

/// Σ losses, in order and in float64.
double sum_of_losses(const Array& losses);

/// What a sweep over the tiles of `linear_cross_entropy` is to work out; null: not that.
struct LinearCrossEntropyTask {
  Array* losses = nullptr;         ///< filled, shape of targets
  const Array* dlosses = nullptr;  ///< upstream of the gradients: one number, or one for every row
  double factor = 1;               ///< of dlosses
  Array* dh = nullptr;             ///< filled, shape of h
  Array* dweight = nullptr;        ///< filled, shape of weight
};
/// Tile by tile of rows that are not ignored: logits = h·weightᵀ, losses, G = dlogits in place of the logits, dh = G·weight and
/// dweight += Gᵀ·h. Tiles depend on shapes and ignored rows alone.
void linear_cross_entropy(const Array& h, const Array& weight, const TargetDistribution& q, const LinearCrossEntropyTask& task);

/// x·factor; x itself for 1.
Array scaled(const Array& x, double factor);

}  // namespace tapeform::kernels
