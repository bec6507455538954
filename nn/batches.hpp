#pragma once
#include <cstdint>
#include <tapeform/core/array.hpp>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/state.hpp>
#include <vector>

namespace tapeform::nn {

// Data for a loop of one's own. Rows of the data are told by their numbers, ids [N] into the leading axis, so that one order serves
// inputs, labels and lengths alike.

/// x[rows[0]], x[rows[1]], …: x [N, …], rows [B] → [B, …]. For arrays in memory, without a tape; `index_select` is the op.
/// @throws ShapeError unless x has a leading axis and rows one axis; ValueError for a row that x does not have.
Array take_rows(const Array& x, const Ids& rows);
Ids take_rows(const Ids& x, const Ids& rows);

/// Sequences of different lengths as one batch, and how long each is, as `Mask::valid_lens` and the models take them.
struct PaddedIds {
  Ids ids = {};   ///< [B, T], T the longest
  Ids lens = {};  ///< [B]
};
PaddedIds pad(const std::vector<std::vector<std::int64_t>>& sequences, std::int64_t pad_id = 0);

/// Rows to learn from and rows to check with, each ascending.
struct TrainValidRows {
  Ids train = {}, valid = {};
};
/// Splits 0 … count − 1 by chance: `valid_share` of them, rounded, are for validation. @throws ValueError unless count ≥ 0 and
/// 0 ≤ valid_share ≤ 1.
TrainValidRows train_valid_split(Dim count, double valid_share, Rng& rng);

struct MinibatchesOptions {
  Dim batch = 32;
  bool shuffle = true;     ///< a new order every epoch; otherwise that of the rows
  bool drop_last = false;  ///< leave out the last batch of an epoch when it is smaller than the others
  std::uint64_t seed = 0;
};

/// Rows in batches, each of them once an epoch, in an order that depends on the seed and the epoch alone.
///
///     nn::Minibatches batches(split.train, {.batch = 32, .seed = 1});
///     while (batches.epoch() < 20) {
///       const Ids rows = batches.next();
///       … model(nn::take_rows(x, rows)), nn::take_rows(labels, rows) …
///     }
///
/// In a checkpoint it is seed, epoch and place, and goes on with the very next batch.
class Minibatches {
 public:
  using Options = MinibatchesOptions;

  /// @throws ValueError when there are no rows, or not enough for one batch under `drop_last`.
  explicit Minibatches(Ids rows, const Options& options = {});
  /// All of 0 … count − 1.
  explicit Minibatches(Dim count, const Options& options = {}) : Minibatches(Ids::arange(count), options) {}

  /// Rows of the next batch [≤ batch]; after the last of an epoch comes the first of the next one.
  /// @throws ValueError after a load when what was saved had another number of rows or another size of batches.
  Ids next();
  /// The epoch that `next` takes from, counted from 0.
  std::int64_t epoch() const noexcept { return epoch_; }
  Dim batches_per_epoch() const noexcept;

  void state(StateFields& field);

 private:
  void check_state() const;

  Ids rows_, order_;  // order_: of ordered_epoch_ and ordered_seed_
  Options options_;
  std::int64_t epoch_ = 0, position_ = 0, ordered_epoch_ = -1;
  std::uint64_t ordered_seed_ = 0;
  Dim saved_count_, saved_batch_;
};

/// The mean over samples from the means of batches, each weighted with its number of samples (or tokens): the last, smaller batch of an
/// epoch counts for what it holds.
class RunningMean {
 public:
  /// @throws ValueError when count is negative.
  void add(double mean, std::int64_t count);
  /// 0 when nothing was counted.
  double value() const noexcept { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0.0; }
  std::int64_t count() const noexcept { return count_; }
  void state(StateFields& field);

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace tapeform::nn
