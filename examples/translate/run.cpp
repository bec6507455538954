#include "translate/run.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <tapeform/core/io/checkpoint.hpp>
#include <tapeform/core/memory.hpp>
#include <utility>

#include "common/progress.hpp"
#include "common/run_files.hpp"
#include "translate/alignment_head.hpp"
#include "translate/options.hpp"

namespace examples::translate {

using namespace tapeform;

namespace {

nn::Seq2Seq new_model(const Config& config, const text::Vocabularies& vocabularies) {
  Rng rng(config.seed);
  return make_model(config.recipe, vocabularies.source.size(), vocabularies.target.size(), rng);
}

/// Updates of the whole run: as planned, or as many as its epochs have.
std::int64_t total_updates(const Recipe& recipe, const text::EncodedPairs& pairs, std::uint64_t seed) {
  if (recipe.updates > 0) return recipe.updates;
  text::TokenBatches batches(pairs, {.tokens = recipe.tokens, .seed = seed});
  std::int64_t updates = 0;
  for (std::int64_t epoch = 0; epoch < recipe.epochs; ++epoch) {  // which are cut anew each time, into a batch more or less
    const std::int64_t count = batches.batches_in_epoch();
    updates += (count + recipe.accumulate - 1) / recipe.accumulate;
    for (std::int64_t i = 0; i < count; ++i) batches.next();
  }
  return updates;
}

Material encoded(TrainingText text, text::Vocabularies vocabularies, const Recipe& recipe) {
  text::EncodedPairs pairs = vocabularies.encode(text.corpus.train, recipe.max_ids);
  if (pairs.size() == 0) throw UsageError{fmt::format("{}: no pair is short enough for --max-ids {}", text.corpus.name, recipe.max_ids)};
  return {std::move(text), std::move(vocabularies), std::move(pairs)};
}

/// How long a run goes on and how it is judged may be changed in its config file, not what it learns by.
/// @throws UsageError naming the first line that was.
void check_unchanged(Recipe saved, const Config& config, const std::string& path) {
  const Recipe& now = config.recipe;
  saved.preset = now.preset;
  saved.epochs = now.epochs;
  saved.updates = now.updates;
  saved.patience = now.patience;
  saved.beam = now.beam;
  saved.length_penalty = now.length_penalty;
  saved.tokenize = now.tokenize;
  saved.lower_case = now.lower_case;
  Config before = config;
  before.recipe = saved;
  const std::vector<std::string> was = text::split_lines(config_text(before), path), is = text::split_lines(config_text(config), path);
  for (std::size_t i = 0; i < is.size(); ++i)
    if (was[i] != is[i]) throw UsageError{fmt::format("{}: the run was saved with '{}', and now it says '{}'", path, was[i], is[i])};
}

void say(bool quiet, const std::string& line) {
  if (!quiet) std::fputs((line + "\n").c_str(), stderr);
}

}  // namespace

Material Material::of(const RunFolder& folder) {
  const Config config = folder.read_config();
  return encoded(config.sources.read(config.seed), text::Vocabularies::load(folder.path()), config.recipe);
}

Material Run::begin(const RunFolder& folder, Config& config, bool quiet) {
  const auto start = std::chrono::steady_clock::now();
  TrainingText text = config.sources.read(config.seed);
  for (const std::string& line : text.corpus.report) say(quiet, line);
  if (text.corpus.test.size() > 0) say(quiet, "test: " + text::overlap(text.corpus.train, text.corpus.test).str());
  const Recipe& recipe = config.recipe;
  text::Vocabularies vocabularies =
      text::Vocabularies::train(text.corpus.train, {.joint = !recipe.separate, .size = recipe.vocabulary, .exact = false});
  Material material = encoded(std::move(text), std::move(vocabularies), recipe);
  const Validator validator(material.text.corpus.valid, material.vocabularies, recipe);
  const nn::Seq2Seq model = new_model(config, material.vocabularies);
  if (config.budget.empty()) {
    config.recipe.updates = total_updates(recipe, material.pairs, config.seed);
  } else {
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const Plan plan = plan_updates(seconds_of(config.budget) - spent, model, material.pairs, validator, recipe, config.seed);
    config.recipe.updates = plan.updates;
    say(quiet,
        fmt::format("plan: {} updates of {:.3f} s, {:.1f} s a validation", plan.updates, plan.update_seconds, plan.validation_seconds));
  }
  folder.create();
  material.vocabularies.save(folder.path());
  folder.write_readme();
  folder.write_config(config);  // last: with it the folder holds a run
  return material;
}

Run::Run(const RunFolder& folder, Material material, bool quiet)
    : folder_(folder),
      quiet_(quiet),
      config_(folder.read_config()),
      material_(std::move(material)),
      validator_(material_.text.corpus.valid, material_.vocabularies, config_.recipe),
      model_(new_model(config_, material_.vocabularies)),
      trainer_(model_, std::move(material_.pairs), config_.recipe, config_.recipe.updates, config_.seed) {
  load();
  log_.emplace(folder_, trainer_.done());
}

void Run::load() {
  if (!folder_.has("last.safetensors")) return;
  Recipe recipe;
  load_given([&] {
    io::load_checkpoint(folder_.file("last.safetensors"),
                        {{"recipe", recipe}, {"model", model_}, {"training", trainer_}, {"progressed", progressed_}});
  });
  check_unchanged(recipe, config_, folder_.file("config.txt"));
}

void Run::save() {
  io::save_checkpoint(folder_.file("last.safetensors"),
                      {{"recipe", config_.recipe}, {"model", model_}, {"training", trainer_}, {"progressed", progressed_}});
}

void Run::log(const Update& update, double tokens_per_second) {
  log_->add({{"update", static_cast<double>(trainer_.done())},
             {"epoch", static_cast<double>(trainer_.epoch())},
             {"loss", update.loss},
             {"lr", update.lr},
             {"gradient_norm", update.norm},
             {"tokens_per_s", tokens_per_second},
             {"skipped", static_cast<double>(trainer_.skipped())}});
}

void Run::end_epoch(std::int64_t epoch) {
  const nn::Seq2Seq current = trainer_.current();
  const Validation validation = validator_(current);
  trainer_.end_epoch(validation.loss);
  progressed_.epochs_without_better = validation.loss < progressed_.best_loss ? 0 : progressed_.epochs_without_better + 1;
  progressed_.best_loss = std::min(progressed_.best_loss, validation.loss);
  log_->add({{"update", static_cast<double>(trainer_.done())},
             {"epoch", static_cast<double>(epoch)},
             {"valid_loss", validation.loss},
             {"bleu", validation.bleu.score}});
  say(quiet_, fmt::format("epoch {}: validation loss {:.4f}, BLEU {:.2f}", epoch, validation.loss, validation.bleu.score));
  for (const Sample& sample : validation.samples)
    say(quiet_, fmt::format("  {}\n    is        {}\n    should be {}", sample.source, sample.translation, sample.reference));
  if (validation.bleu.score > progressed_.best_bleu) {
    progressed_.best_bleu = validation.bleu.score;
    save_on_the_way("translate", [&] { folder_.save_weights("best.safetensors", current); });
  }
  save_on_the_way("translate", [&] { save(); });
  release_cached_memory();  // the beam search's arrays have sizes that no update asks for
}

void Run::keep_averages() {
  if (const auto averaged = trainer_.averaged()) folder_.save_weights("average.safetensors", *averaged);
}

void Run::choose_head() {
  if (!folder_.has("best.safetensors") && !folder_.has("average.safetensors")) return;  // none could be saved
  if (const auto chosen = choose_alignment_head(folder_, config_, material_.vocabularies, material_.text))
    say(quiet_,
        fmt::format("words are aligned best by {}: error rate {:.3f} on the validation set", chosen->head.text(), chosen->error_rate));
}

Ending Run::train() {
  const std::int64_t total = config_.recipe.updates;
  Progress progress(total, quiet_, trainer_.done());
  std::int64_t tokens = 0;
  double before = 0;
  while (trainer_.done() < total) {
    if (interrupted()) return Ending::interrupted;
    const std::int64_t epoch = trainer_.epoch();
    const Update update = trainer_.update();
    tokens += update.tokens;
    progress.update(trainer_.done(), update.loss, update.tokens);
    if (update.skipped) say(quiet_, fmt::format("update {} skipped: loss {}, gradient {}", trainer_.done(), update.loss, update.norm));
    if (trainer_.done() % 20 == 0) {
      const double now = progress.seconds();
      log(update, static_cast<double>(tokens) / std::max(1e-9, now - before));
      tokens = 0;
      before = now;
    }
    if (trainer_.between_epochs() || trainer_.done() == total) {
      progress.finish();
      end_epoch(epoch + 1);
      if (config_.recipe.patience > 0 && progressed_.epochs_without_better >= config_.recipe.patience) return Ending::no_better;
    } else if (trainer_.done() % config_.save_every == 0) {
      save_on_the_way("translate", [&] { save(); });
    }
  }
  return Ending::finished;
}

Ending Run::go_on() {
  Ending ending;
  try {
    ending = train();
  } catch (const Diverged& diverged) {
    // What was saved last is better than the state now: it stays.
    say(false, "translate: " + diverged.message);
    ending = Ending::diverged;
  }
  if (ending == Ending::interrupted) save();
  keep_averages();
  if (ending != Ending::interrupted) choose_head();
  return ending;
}

Plan plan_updates(double seconds, const nn::Seq2Seq& model, const text::EncodedPairs& pairs, const Validator& validator,
                  const Recipe& recipe, std::uint64_t seed) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto start = Clock::now();
  Plan plan;
  nn::Seq2Seq copy = nn::clone(model);
  Trainer trainer(copy, pairs, recipe, 1, seed);
  for (int i = 0; i < 3; ++i) trainer.update();  // buffers and pages come with the first ones
  const auto timed = Clock::now();
  std::int64_t updates = 0;
  while (updates < 10 || since(timed) < std::min(15.0, 0.02 * seconds)) {
    trainer.update();
    ++updates;
  }
  plan.update_seconds = since(timed) / static_cast<double>(updates);
  const auto validating = Clock::now();
  validator(copy);
  plan.validation_seconds = since(validating);
  release_cached_memory();
  const auto epoch_updates = static_cast<double>((trainer.batches().batches_in_epoch() + recipe.accumulate - 1) / recipe.accumulate);
  // One part in thirty is for saves, the end, and a machine that slows down.
  const double left = (seconds - since(start)) * 29 / 30;
  plan.updates = static_cast<std::int64_t>(left / (plan.update_seconds + plan.validation_seconds / epoch_updates));
  if (plan.updates < 1)
    throw UsageError{fmt::format("--budget is too short: {:.0f} s are left after preparing, and an update takes {:.2f} s",
                                 std::max(0.0, left), plan.update_seconds)};
  return plan;
}

}  // namespace examples::translate
