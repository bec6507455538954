#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "translate/run_folder.hpp"
#include "translate/trainer.hpp"
#include "translate/validation.hpp"

namespace examples::translate {

/// What of a run is not the trainer's: which epoch was the best, and how long ago.
struct Progressed {
  double best_bleu = -1, best_loss = 1e300;
  std::int64_t epochs_without_better = 0;
  void state(tapeform::StateFields& field) {
    field("best_bleu", best_bleu);
    field("best_loss", best_loss);
    field("epochs_without_better", epochs_without_better);
  }
};

/// A run's text and what is made of it once.
struct Material {
  TrainingText text;
  text::Vocabularies vocabularies;
  text::EncodedPairs pairs;  ///< to train on; a Run gives them to its Trainer

  /// Of a run that was begun before. @throws UsageError as Sources::read and Vocabularies::load.
  static Material of(const RunFolder& folder);
};

enum class Ending { finished, interrupted, no_better, diverged };

/// A run from its first or its saved state to its end: updates, log, validation and saves.
class Run {
 public:
  /// A new run in a folder that is empty. @throws UsageError as Sources::read, Vocabularies::train and make_model.
  static Material begin(const RunFolder& folder, Config& config, bool quiet);

  /// The run of a folder, at the state that was saved last, if one was.
  Run(const RunFolder& folder, Material material, bool quiet);
  Ending go_on();

  const Config& config() const noexcept { return config_; }
  const Trainer& trainer() const noexcept { return trainer_; }
  const Progressed& progressed() const noexcept { return progressed_; }

 private:
  void load();
  void save();
  void end_epoch(std::int64_t epoch);
  void keep_averages();
  void choose_head();
  void log(const Update& update, double tokens_per_second);
  Ending train();

  RunFolder folder_;
  bool quiet_;
  Config config_;
  Material material_;
  Validator validator_;
  tapeform::nn::Seq2Seq model_;
  Trainer trainer_;
  Progressed progressed_;
  std::optional<RunLog> log_;
};

/// How many updates fill the time: some are made on a copy of the model and timed, and so is one validation.
struct Plan {
  std::int64_t updates = 0;
  double update_seconds = 0, validation_seconds = 0;
};
Plan plan_updates(double seconds, const tapeform::nn::Seq2Seq& model, const text::EncodedPairs& pairs, const Validator& validator,
                  const Recipe& recipe, std::uint64_t seed);

}  // namespace examples::translate
