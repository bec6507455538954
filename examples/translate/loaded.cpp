#include "translate/loaded.hpp"

namespace examples::translate {

UseOptions::UseOptions(CommandLine& options) {
  options.add_argument("DIR", folder, "folder of the run");
  options.add("--weights", weights, "which weights: average.safetensors, best.safetensors, last.safetensors or another file");
  options.add("--beam", beam_, "sequences of the beam search; 1: greedy; 0: as the run was told", 0, 1000);
  options.add("--length-penalty", length_penalty_, "alpha of the length penalty; -1: as the run was told", -1, 10);
}

TranslateOptions UseOptions::decoding(const Config& config) const {
  return {.beam = beam_ > 0 ? beam_ : config.recipe.beam,
          .length_penalty = length_penalty_ >= 0 ? length_penalty_ : config.recipe.length_penalty};
}

Loaded::Loaded(const UseOptions& options)
    : folder(options.folder),
      config(folder.read_config()),
      vocabularies(text::Vocabularies::load(options.folder)),
      weights(options.weights.empty() ? folder.best_file() : options.weights),
      model(folder.load_model(weights, config, vocabularies)),
      alignment(read_alignment_head(folder, config.recipe)) {}

}  // namespace examples::translate
