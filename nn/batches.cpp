#include <tapeform/nn/batches.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/gather.hpp>
#include <utility>

namespace tapeform::nn {

// Orders come from streams that no program draws from by itself: dropout and noise of the same seed stay independent of them.
static constexpr std::uint64_t first_order_stream = std::uint64_t{1} << 32;

Array take_rows(const Array& x, const Ids& rows) { return index_select(x, 0, rows).value(); }

Ids take_rows(const Ids& x, const Ids& rows) {
  if (x.rank() < 1 || rows.rank() != 1)
    throw ShapeError(
        fmt::format("take_rows: rows must have one axis, and x at least one; got x {}, rows {}", x.shape().str(), rows.shape().str()));
  const Dim count = x.dim(0), size = count > 0 ? x.numel() / count : 0;
  std::vector<std::int64_t> taken;
  for (const std::int64_t row : rows.values()) {
    if (row < 0 || row >= count) throw ValueError(fmt::format("take_rows: rows must lie in [0, {}); got {}", count, row));
    const auto from = x.values().begin() + row * size;
    taken.insert(taken.end(), from, from + size);
  }
  Shape shape = x.shape();
  shape.set(0, rows.numel());
  return Ids(shape, taken);
}

PaddedIds pad(const std::vector<std::vector<std::int64_t>>& sequences, std::int64_t pad_id) {
  std::vector<std::int64_t> lens;
  for (const auto& sequence : sequences) lens.push_back(static_cast<std::int64_t>(sequence.size()));
  const Dim longest = lens.empty() ? 0 : *std::ranges::max_element(lens);
  PaddedIds padded{Ids::full({static_cast<Dim>(sequences.size()), longest}, pad_id), Ids(lens)};
  padded.ids.write([&](auto ids) {
    auto row = ids.begin();
    for (const auto& sequence : sequences) {
      std::ranges::copy(sequence, row);
      row += longest;
    }
  });
  return padded;
}

TrainValidRows train_valid_split(Dim count, double valid_share, Rng& rng) {
  if (count < 0 || !(valid_share >= 0.0 && valid_share <= 1.0))
    throw ValueError(
        fmt::format("train_valid_split: count must not be negative, and the share lie in [0, 1]; got {}, {}", count, valid_share));
  const std::vector<std::int64_t> order = rng.permutation(count);
  const auto valid = static_cast<std::int64_t>(std::llround(static_cast<double>(count) * valid_share));
  std::vector<std::int64_t> sides[2];
  std::vector<bool> is_valid(order.size());
  for (std::int64_t i = 0; i < valid; ++i) is_valid[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = true;
  for (std::int64_t row = 0; row < count; ++row) sides[is_valid[static_cast<std::size_t>(row)]].push_back(row);
  return {.train = Ids(sides[0]), .valid = Ids(sides[1])};
}

Minibatches::Minibatches(Ids rows, const Options& options)
    : rows_(std::move(rows)), options_(options), saved_count_(rows_.numel()), saved_batch_(options.batch) {
  if (rows_.rank() != 1) throw ShapeError(fmt::format("Minibatches: rows must have one axis; got {}", rows_.shape().str()));
  if (options.batch < 1 || batches_per_epoch() < 1)
    throw ValueError(fmt::format("Minibatches: an epoch must have a batch; got {} rows, batches of {}{}", rows_.numel(), options.batch,
                                 options.drop_last ? ", the last smaller one left out" : ""));
}

Dim Minibatches::batches_per_epoch() const noexcept {
  return rows_.numel() / options_.batch + (!options_.drop_last && rows_.numel() % options_.batch != 0 ? 1 : 0);
}

void Minibatches::check_state() const {
  if (saved_count_ != rows_.numel() || saved_batch_ != options_.batch || epoch_ < 0 || position_ < 0 || position_ >= batches_per_epoch())
    throw ValueError(fmt::format("Minibatches: what was loaded must fit; got {} rows in batches of {}, loaded {} rows in batches of {}",
                                 rows_.numel(), options_.batch, saved_count_, saved_batch_));
}

Ids Minibatches::next() {
  check_state();
  if (ordered_epoch_ != epoch_ || ordered_seed_ != options_.seed) {
    Rng rng = Rng(options_.seed).stream(first_order_stream + static_cast<std::uint64_t>(epoch_));
    order_ = options_.shuffle ? take_rows(rows_, Ids(rng.permutation(rows_.numel()))) : rows_;
    ordered_epoch_ = epoch_;
    ordered_seed_ = options_.seed;
  }
  const Dim begin = position_ * options_.batch, size = std::min(options_.batch, order_.numel() - begin);
  const Ids batch(order_.values().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size)));
  if (++position_ == batches_per_epoch()) {
    ++epoch_;
    position_ = 0;
  }
  return batch;
}

void Minibatches::state(StateFields& field) {
  field("seed", options_.seed);
  field("epoch", epoch_);
  field("position", position_);
  field("rows", saved_count_);
  field("batch", saved_batch_);
}

void RunningMean::add(double mean, std::int64_t count) {
  if (count < 0) throw ValueError(fmt::format("RunningMean: a count must not be negative; got {}", count));
  if (count == 0) return;
  sum_ += mean * static_cast<double>(count);
  count_ += count;
}

void RunningMean::state(StateFields& field) {
  field("sum", sum_);
  field("count", count_);
}

}  // namespace tapeform::nn
