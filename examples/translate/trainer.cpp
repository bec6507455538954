#include "translate/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace examples::translate {

using namespace tapeform;

static std::unique_ptr<optim::Optimizer> make_optimizer(const nn::Seq2Seq& model, const Recipe& recipe) {
  if (recipe.optimizer == "adam")
    return std::make_unique<optim::Adam>(
        optim::decay_groups(model),
        optim::AdamOptions{.lr = recipe.lr, .beta1 = recipe.beta1, .beta2 = recipe.beta2, .eps = recipe.eps, .weight_decay = recipe.decay});
  return std::make_unique<optim::AdamW>(
      optim::decay_groups(model),
      optim::AdamWOptions{.lr = recipe.lr, .beta1 = recipe.beta1, .beta2 = recipe.beta2, .eps = recipe.eps, .weight_decay = recipe.decay});
}

static optim::Schedule make_schedule(const Recipe& recipe, std::int64_t updates) {
  if (recipe.schedule == "noam") return optim::InverseRootSchedule({.lr = recipe.lr, .warmup = recipe.warmup});
  const std::int64_t total = std::max<std::int64_t>(1, updates);
  return optim::CosineSchedule({.lr = recipe.lr, .min_lr = recipe.min_lr, .warmup = std::min(recipe.warmup, total), .total = total});
}

Trainer::Trainer(nn::Seq2Seq& model, text::EncodedPairs pairs, const Recipe& recipe, std::int64_t updates, std::uint64_t seed)
    : model_(model),
      recipe_(recipe),
      dropout_(Rng(seed).stream(1)),
      batches_(std::move(pairs), {.tokens = recipe.tokens, .seed = seed}),
      parameters_(nn::parameters(model)),
      optimizer_(make_optimizer(model, recipe)),
      schedule_(make_schedule(recipe, updates)) {
  if (recipe.ema > 0) ema_.emplace(nn::parameters(model), optim::EmaOptions{.decay = recipe.ema});
  if (recipe.average > 0) average_.emplace(nn::parameters(model), optim::WeightAverageOptions{.keep = recipe.average});
}

// The gradient of the mean over the target ids of all batches; the loss is that mean.
double Trainer::learn(const std::vector<text::TokenBatch>& batches, Update& update) {
  std::int64_t targets = 0;
  for (const text::TokenBatch& batch : batches) targets += batch.tgt_tokens;
  double loss = 0;
  for (const text::TokenBatch& batch : batches) {
    Tape tape(dropout_);
    const Tensor sum = model_.loss(batch.src, batch.src_lens, batch.tgt_in, batch.labels,
                                   {.ignore_id = text::ignore_id,
                                    .label_smoothing = recipe_.smoothing,
                                    .smoothing_excludes = {text::pad_id},
                                    .reduction = Reduction::sum},
                                   {.tgt_lens = batch.tgt_lens});
    const Tensor share = sum * (1.0 / static_cast<double>(targets));
    loss += share.item();
    tape.backward(share);
    update.tokens += batch.tokens();
  }
  return loss;
}

Update Trainer::update() {
  std::vector<text::TokenBatch> batches;
  for (std::int64_t i = 0; i < recipe_.accumulate && (i == 0 || !between_epochs()); ++i) batches.push_back(batches_.next());
  Update update{.lr = schedule_.lr(done_++)};
  optimizer_->set_lr(update.lr);
  update.loss = learn(batches, update);
  const double limit = recipe_.clip > 0 ? recipe_.clip : HUGE_VAL;
  update.norm = optim::clip_grad_norm(parameters_, std::min(limit, 1e300), {.non_finite = optim::NonFinite::skip});
  update.skipped = !std::isfinite(update.norm) || !std::isfinite(update.loss);
  if (update.skipped) {
    ++skipped_;
    if (++skipped_in_a_row_ >= recipe_.bad_updates)
      throw Diverged{
          fmt::format("update {}: {} updates in a row had a loss or a gradient that is not finite (loss {}, gradient {}). "
                      "A lower --lr or a longer --warmup may help",
                      done_, skipped_in_a_row_, update.loss, update.norm)};
  } else {
    skipped_in_a_row_ = 0;
    optimizer_->step();
    if (ema_) ema_->update();
  }
  optimizer_->zero_grad();
  return update;
}

void Trainer::end_epoch(double valid_loss) {
  if (!average_) return;
  if (recipe_.average_best)
    average_->add(valid_loss);
  else
    average_->add();
}

nn::Seq2Seq Trainer::current() const {
  nn::Seq2Seq copy = nn::clone(model_);
  if (ema_ && done_ > skipped_) ema_->assign_to(nn::parameters(copy));
  return copy;
}

std::optional<nn::Seq2Seq> Trainer::averaged() const {
  if (!average_ || average_->count() == 0) return std::nullopt;
  nn::Seq2Seq copy = nn::clone(model_);
  average_->assign_to(nn::parameters(copy));
  return copy;
}

void Trainer::state(StateFields& field) {
  field("optimizer", *optimizer_);
  field("schedule", schedule_);
  field("batches", batches_);
  field("dropout", dropout_);
  field("ema", ema_);
  field("average", average_);
  field("done", done_);
  field("skipped", skipped_);
  field("skipped_in_a_row", skipped_in_a_row_);
}

double mean_loss(const nn::Seq2Seq& model, const text::EncodedPairs& pairs, std::int64_t tokens) {
  text::TokenBatches batches(pairs, {.tokens = tokens, .shuffle = false});
  double sum = 0;
  std::int64_t targets = 0;
  for (std::int64_t i = batches.batches_in_epoch(); i > 0; --i) {
    const text::TokenBatch batch = batches.next();
    sum += model
               .loss(batch.src, batch.src_lens, batch.tgt_in, batch.labels, {.ignore_id = text::ignore_id, .reduction = Reduction::sum},
                     {.tgt_lens = batch.tgt_lens})
               .item();
    targets += batch.tgt_tokens;
  }
  return sum / static_cast<double>(std::max<std::int64_t>(1, targets));
}

}  // namespace examples::translate
