#include <fmt/format.h>

#include <utility>

#include "common/progress.hpp"
#include "translate/commands.hpp"
#include "translate/options.hpp"
#include "translate/run.hpp"

namespace examples::translate {
namespace {

int go_on(const RunFolder& folder, Material material, bool quiet) {
  catch_interrupts();
  Run run(folder, std::move(material), quiet);
  const Ending ending = run.go_on();
  const Trainer& trainer = run.trainer();
  const std::int64_t total = run.config().recipe.updates;
  fmt::print("{}: {} of {} updates, best validation BLEU {:.2f}{}\n", folder.path(), trainer.done(), total,
             std::max(0.0, run.progressed().best_bleu),
             trainer.skipped() > 0 ? fmt::format(", {} updates skipped", trainer.skipped()) : "");
  switch (ending) {
    case Ending::interrupted:
      fmt::print("interrupted and saved: go on with 'translate resume {}'\n", folder.path());
      break;
    case Ending::no_better:
      fmt::print("stopped early: no better validation loss for {} epochs\n", run.config().recipe.patience);
      break;
    case Ending::diverged:
      return 1;
    case Ending::finished:
      break;
  }
  return 0;
}

}  // namespace

int train_command(int argc, const char* const* argv) {
  TrainOptions options = TrainOptions::parse(argc, argv);
  const RunFolder folder(options.out);
  folder.check_free();
  Material material = Run::begin(folder, options.config, options.quiet);
  return go_on(folder, std::move(material), options.quiet);
}

int resume_command(int argc, const char* const* argv) {
  CommandLine options("translate resume", "Goes on with the training of a run, to the same numbers as if it had never stopped.");
  std::string path;
  options.add_argument("DIR", path, "folder of the run");
  options.parse(argc, argv);
  if (options.given("--seed")) throw UsageError{"--seed is the run's own: leave it out"};
  const RunFolder folder(path);
  return go_on(folder, Material::of(folder), options.quiet);
}

}  // namespace examples::translate
