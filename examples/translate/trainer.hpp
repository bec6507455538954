#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "text/token_batches.hpp"
#include "translate/recipe.hpp"

namespace examples::translate {

/// What one update was like.
struct Update {
  double loss = 0;          ///< a target id, in nats, smoothed
  double norm = 0;          ///< of the gradient before clipping
  double lr = 0;            ///< the rate that it was made with
  std::int64_t tokens = 0;  ///< source and target ids, without padding
  bool skipped = false;     ///< loss or gradient was not finite: no weight changed
};

/// Too many updates in a row without a finite gradient.
struct Diverged {
  std::string message;
};

/// A model's training: its optimizer, its batches and its averages, one update at a time. What `state` lists is all that a run needs to go
/// on to the same bits.
class Trainer {
 public:
  /// `updates` is the length of the run, for a schedule that ends with it. @throws UsageError as TokenBatches.
  Trainer(tapeform::nn::Seq2Seq& model, text::EncodedPairs pairs, const Recipe& recipe, std::int64_t updates, std::uint64_t seed);

  /// One update on `accumulate` batches as if they were one: the gradient of the mean over all their target ids.
  /// @throws Diverged after `bad_updates` of them in a row had to be skipped.
  Update update();

  std::int64_t done() const noexcept { return done_; }
  std::int64_t skipped() const noexcept { return skipped_; }
  /// True when the next batch begins an epoch.
  bool between_epochs() const noexcept { return batches_.position() == 0; }
  std::int64_t epoch() const noexcept { return batches_.epoch(); }
  text::TokenBatches& batches() noexcept { return batches_; }

  /// At the end of an epoch: its weights go into the average.
  void end_epoch(double valid_loss);
  /// The weights to evaluate and keep: the moving average where there is one, the model's own otherwise.
  tapeform::nn::Seq2Seq current() const;
  /// The mean over epochs; none before the first, or when the recipe asks for none.
  std::optional<tapeform::nn::Seq2Seq> averaged() const;

  void state(tapeform::StateFields& field);

 private:
  double learn(const std::vector<text::TokenBatch>& batches, Update& update);

  tapeform::nn::Seq2Seq& model_;
  Recipe recipe_;
  tapeform::Rng dropout_;
  text::TokenBatches batches_;
  std::vector<tapeform::ParameterRef> parameters_;
  std::unique_ptr<tapeform::optim::Optimizer> optimizer_;
  tapeform::optim::Schedule schedule_;
  std::optional<tapeform::optim::WeightEma> ema_;
  std::optional<tapeform::optim::WeightAverage> average_;
  std::int64_t done_ = 0, skipped_ = 0, skipped_in_a_row_ = 0;
};

/// Mean loss of a target id in nats, without smoothing.
double mean_loss(const tapeform::nn::Seq2Seq& model, const text::EncodedPairs& pairs, std::int64_t tokens);

}  // namespace examples::translate
