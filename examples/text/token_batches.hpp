#pragma once
#include <cstdint>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/state.hpp>
#include <vector>

#include "text/vocabularies.hpp"

namespace examples::text {

/// What labels hold where there is padding; `CrossEntropyOptions::ignore_id` takes it.
inline constexpr std::int64_t ignore_id = -100;

/// Sentence pairs in rows, filled up with `pad_id`. The source ends with eos; the decoder reads bos and the target, and is to say the
/// target and eos: labels[b, t] = tgt_in[b, t + 1].
struct TokenBatch {
  tapeform::Ids src, src_lens;                  ///< [B, S], [B]
  tapeform::Ids tgt_in, tgt_lens;               ///< [B, T], [B]
  tapeform::Ids labels;                         ///< [B, T], `ignore_id` on padding
  std::int64_t src_tokens = 0, tgt_tokens = 0;  ///< without padding

  std::int64_t tokens() const noexcept { return src_tokens + tgt_tokens; }
};

/// The pairs at `rows` as one batch.
TokenBatch make_batch(const EncodedPairs& pairs, const std::vector<std::int64_t>& rows);

struct TokenBatchOptions {
  std::int64_t tokens = 2500;  ///< most rows × longest side of a batch, padding included
  std::int64_t bucket = 8192;  ///< pairs that are sorted by length together: more waste less, and are shuffled less
  std::uint64_t seed = 1;
  bool shuffle = true;  ///< false: all pairs sorted by length, the same batches every epoch, as for a validation loss
};

/// Batches of about the same number of tokens, every pair once an epoch. Each epoch has an order of its own: the pairs are shuffled, cut
/// into buckets, sorted by length inside of a bucket (so that rows of one batch need little padding), cut into batches, and the batches
/// shuffled. The order depends on the seed, the number of the epoch and the lengths alone; it goes on from a checkpoint where it was.
///
///     for (std::int64_t update = 0; update < updates; ++update) {
///       const TokenBatch batch = batches.next();
///       … model.loss(batch.src, batch.src_lens, batch.tgt_in, batch.labels, {.ignore_id = ignore_id}, {.tgt_lens = batch.tgt_lens})
///
class TokenBatches {
 public:
  /// @throws UsageError when there are no pairs or one has more ids than a batch may hold.
  explicit TokenBatches(EncodedPairs pairs, const TokenBatchOptions& options = {});

  /// The next batch; after the last one of an epoch the first of the next.
  TokenBatch next();

  /// The epoch of the batch that `next` gives, from 0, and that batch's place in it.
  std::int64_t epoch() const noexcept { return at_end() ? epoch_ + 1 : epoch_; }
  std::int64_t position() const noexcept { return at_end() ? 0 : position_; }
  /// Batches of the epoch that `next` goes on with.
  std::int64_t batches_in_epoch();
  /// The pairs of each of them.
  const std::vector<std::vector<std::int64_t>>& order();
  /// Share of the ids of that epoch, source and target, that are padding.
  double padding_share();

  std::size_t pairs() const noexcept { return pairs_.size(); }

  /// Seed, epoch and place in it. @throws tapeform::IoError from the next batch when what was loaded was saved with other pairs.
  void state(tapeform::StateFields& field);

 private:
  bool at_end() const noexcept { return built_epoch_ == epoch_ && position_ == static_cast<std::int64_t>(order_.size()); }
  void settle();
  void build();

  EncodedPairs pairs_;
  TokenBatchOptions options_;
  std::int64_t epoch_ = 0, position_ = 0;
  std::uint64_t fingerprint_ = 0, loaded_fingerprint_ = 0;  // of the pairs and of what decides how they are cut

  std::vector<std::vector<std::int64_t>> order_;  // of built_epoch_
  std::int64_t built_epoch_ = -1;
  std::uint64_t built_seed_ = 0;
};

}  // namespace examples::text
