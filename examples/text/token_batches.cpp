#include "text/token_batches.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/nn/batches.hpp>

#include <algorithm>
#include <span>
#include <utility>

#include "common/command_line.hpp"

namespace examples::text {

using namespace tapeform;

namespace {

using Rows = std::vector<std::vector<std::int64_t>>;

/// Ids that a side takes in a batch: its own, and bos or eos.
std::int64_t length(const std::vector<std::int64_t>& ids) { return static_cast<std::int64_t>(ids.size()) + 1; }

std::uint64_t fingerprint(const EncodedPairs& pairs, const TokenBatchOptions& options) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a, over whole numbers
  const auto add = [&hash](std::int64_t number) { hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x100000001B3; };
  for (const Rows* side : {&pairs.source, &pairs.target})
    for (const auto& ids : *side) {
      add(length(ids));
      for (const std::int64_t id : ids) add(id);
    }
  for (const std::int64_t number : {options.tokens, options.bucket, std::int64_t{options.shuffle}}) add(number);
  return hash;
}

/// Cuts pairs that follow one another into batches of at most `tokens`.
Rows cut(std::span<const std::int64_t> sorted, const EncodedPairs& pairs, std::int64_t tokens) {
  Rows batches;
  std::int64_t longest = 0;
  for (const std::int64_t pair : sorted) {
    const auto i = static_cast<std::size_t>(pair);
    longest = std::max({longest, length(pairs.source[i]), length(pairs.target[i])});
    if (batches.empty() || longest * (static_cast<std::int64_t>(batches.back().size()) + 1) > tokens) {
      batches.emplace_back();
      longest = std::max(length(pairs.source[i]), length(pairs.target[i]));
    }
    batches.back().push_back(pair);
  }
  return batches;
}

}  // namespace

TokenBatch make_batch(const EncodedPairs& pairs, const std::vector<std::int64_t>& rows) {
  Rows source, inputs, labels;
  TokenBatch batch;
  for (const std::int64_t row : rows) {
    const auto i = static_cast<std::size_t>(row);
    source.push_back(pairs.source.at(i));
    source.back().push_back(eos_id);
    inputs.push_back({bos_id});
    inputs.back().insert(inputs.back().end(), pairs.target.at(i).begin(), pairs.target.at(i).end());
    labels.emplace_back(inputs.back().begin() + 1, inputs.back().end());  // what follows each input, and eos at the end
    labels.back().push_back(eos_id);
    batch.src_tokens += length(pairs.source[i]);
    batch.tgt_tokens += length(pairs.target[i]);
  }
  const nn::PaddedIds src = nn::pad(source, pad_id), tgt = nn::pad(inputs, pad_id);
  batch.src = src.ids;
  batch.src_lens = src.lens;
  batch.tgt_in = tgt.ids;
  batch.tgt_lens = tgt.lens;
  batch.labels = nn::pad(labels, ignore_id).ids;
  return batch;
}

TokenBatches::TokenBatches(EncodedPairs pairs, const TokenBatchOptions& options) : pairs_(std::move(pairs)), options_(options) {
  if (pairs_.size() == 0 || pairs_.source.size() != pairs_.target.size())
    throw UsageError{fmt::format("batches: need sentences and as many translations, at least one; got {} and {}", pairs_.source.size(),
                                 pairs_.target.size())};
  if (options.bucket < 1) throw UsageError{fmt::format("batches: a bucket holds at least one pair; got {}", options.bucket)};
  for (std::size_t i = 0; i < pairs_.size(); ++i)
    if (const std::int64_t longest = std::max(length(pairs_.source[i]), length(pairs_.target[i])); longest > options.tokens)
      throw UsageError{
          fmt::format("batches: pair {} has a side of {} ids, and a batch holds {}. Leave longer pairs out, or make batches larger", i + 1,
                      longest, options.tokens)};
  loaded_fingerprint_ = fingerprint_ = fingerprint(pairs_, options);
}

void TokenBatches::build() {
  const auto count = static_cast<std::int64_t>(pairs_.size());
  // From streams that no program draws from by itself: dropout and noise of the same seed stay independent of the orders.
  Rng rng = Rng(options_.seed).stream((std::uint64_t{1} << 32) + static_cast<std::uint64_t>(epoch_));
  std::vector<std::int64_t> all = options_.shuffle ? rng.permutation(count) : std::vector<std::int64_t>(pairs_.size());
  if (!options_.shuffle)
    for (std::int64_t i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = i;
  const auto key = [this](std::int64_t pair) {
    const auto i = static_cast<std::size_t>(pair);
    const std::size_t s = pairs_.source[i].size(), t = pairs_.target[i].size();
    return std::pair(std::max(s, t), t);
  };
  const auto bucket = static_cast<std::size_t>(options_.shuffle ? std::min(options_.bucket, count) : count);
  Rows batches;
  for (std::size_t first = 0; first < all.size(); first += bucket) {
    const std::span<std::int64_t> part = std::span(all).subspan(first, std::min(bucket, all.size() - first));
    std::stable_sort(part.begin(), part.end(), [&key](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
    Rows some = cut(part, pairs_, options_.tokens);
    std::ranges::move(some, std::back_inserter(batches));
  }
  order_.clear();
  if (!options_.shuffle) {
    order_ = std::move(batches);
  } else {
    for (const std::int64_t place : rng.permutation(static_cast<std::int64_t>(batches.size())))
      order_.push_back(std::move(batches[static_cast<std::size_t>(place)]));
  }
  built_epoch_ = epoch_;
  built_seed_ = options_.seed;
}

// Makes `order_` and `position_` those of the batch that comes next, also after a checkpoint has been loaded.
void TokenBatches::settle() {
  if (loaded_fingerprint_ != fingerprint_)
    throw IoError("batches: a run goes on with the pairs and the sizes of batches that it was saved with; these are others");
  if (at_end()) {
    ++epoch_;
    position_ = 0;
  }
  if (built_epoch_ != epoch_ || built_seed_ != options_.seed) build();
  if (position_ < 0 || position_ > static_cast<std::int64_t>(order_.size()))
    throw IoError(fmt::format("batches: epoch {} has {} batches; got place {}", epoch_, order_.size(), position_));
  if (at_end()) settle();  // saved after the last batch of an epoch
}

TokenBatch TokenBatches::next() {
  settle();
  return make_batch(pairs_, order_[static_cast<std::size_t>(position_++)]);
}

std::int64_t TokenBatches::batches_in_epoch() { return static_cast<std::int64_t>(order().size()); }

const std::vector<std::vector<std::int64_t>>& TokenBatches::order() {
  settle();
  return order_;
}

double TokenBatches::padding_share() {
  std::int64_t held = 0, cells = 0;
  for (const auto& rows : order()) {
    std::int64_t longest_source = 0, longest_target = 0;
    for (const std::int64_t row : rows) {
      const std::int64_t s = length(pairs_.source[static_cast<std::size_t>(row)]), t = length(pairs_.target[static_cast<std::size_t>(row)]);
      held += s + t;
      longest_source = std::max(longest_source, s);
      longest_target = std::max(longest_target, t);
    }
    cells += static_cast<std::int64_t>(rows.size()) * (longest_source + longest_target);
  }
  return 1.0 - static_cast<double>(held) / static_cast<double>(cells);
}

void TokenBatches::state(StateFields& field) {
  field("seed", options_.seed);
  field("epoch", epoch_);
  field("position", position_);
  field("pairs", loaded_fingerprint_);
}

}  // namespace examples::text
