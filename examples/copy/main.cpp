// A Transformer learns to copy: ten random symbols in, the same ten out.
#include <fmt/format.h>

#include "common/command_line.hpp"
#include "common/progress.hpp"
#include "common/run_files.hpp"
#include "common/utf8_text.hpp"
#include "copy/copy_task.hpp"

using namespace tapeform;
using namespace examples;

static std::string symbols(const Ids& sequences, Dim row) {
  std::string text;
  for (Dim t = 0; t < copy::length; ++t) text += fmt::format("{:3}", sequences.at({row, t}));
  return text;
}

namespace {

/// What a saved run says of itself.
struct Run {
  copy::Recipe recipe;
  std::uint64_t seed = 0;
  void state(StateFields& field) {
    field("recipe", recipe);
    field("seed", seed);
  }
};

/// Trains until the last update or Ctrl-C, from where the trainer is.
void train(const Run& run, const nn::Seq2Seq& model, copy::Trainer& trainer, const RunFiles& files, bool quiet) {
  const auto save = [&] { io::save_checkpoint(files.save, {{"run", run}, {"model", model}, {"training", trainer}}); };
  const std::int64_t total = run.recipe.updates;
  {
    Progress progress(total, quiet, trainer.done());
    while (trainer.done() < total && !interrupted()) {
      const double loss = trainer.update();
      progress.update(trainer.done(), loss, run.recipe.batch * copy::length);
      if (files.due(trainer.done(), total)) save_on_the_way("copy", save);
    }
  }
  if (trainer.done() < total) fmt::print("stopped after {} of {} updates\n", trainer.done(), total);
  if (!files.save.empty()) save();
}

int body(int argc, const char* const* argv) {
  CommandLine options("copy", "Trains a Transformer to copy sequences of ten symbols, and draws what its heads attend to.");
  Run run;
  Dim held_out = 1000;
  std::int64_t updates = run.recipe.updates;
  std::string picture = "copy_attention.svg";
  options.add("--updates", updates, "training updates", 1, 1'000'000);
  options.add("--lr", run.recipe.lr, "highest learning rate", 0, 1);
  options.add("--sequences", held_out, "held-out sequences to copy", 1, 1'000'000);
  options.add("--picture", picture, "where the attention picture goes; a page when it ends in .html");
  RunFiles files(options);
  options.parse(argc, argv);
  files.check(options, {"--lr", "--seed"});
  check_writable(picture);

  catch_interrupts();
  run.seed = options.seed;
  if (!files.source().empty()) load_given([&] { io::load_checkpoint(files.source(), {{"run", run}}, {.allow_other_parts = true}); });
  if (files.source().empty() || options.given("--updates")) run.recipe.updates = updates;
  Rng rng(run.seed);
  nn::Seq2Seq model = copy::make_model(rng);
  copy::Trainer trainer(model, run.recipe, run.seed);
  if (!files.load.empty()) {
    load_given([&] { io::load_checkpoint(files.load, {{"model", model}}, {.allow_other_parts = true}); });
  } else {
    if (!files.resume.empty()) {
      Run saved;  // the number of updates may have been changed
      load_given([&] { io::load_checkpoint(files.resume, {{"run", saved}, {"model", model}, {"training", trainer}}); });
    }
    train(run, model, trainer, files, options.quiet);
  }

  const copy::Result result = copy::evaluate(model, held_out, options.given("--seed") ? options.seed : run.seed);
  fmt::print("exact copies: {} of {} held-out sequences ({:.1f} %)\n", result.exact, result.sequences,
             100.0 * static_cast<double>(result.exact) / static_cast<double>(result.sequences));
  for (Dim row = 0; row < std::min<Dim>(3, result.sequences); ++row)
    fmt::print("source{}\ncopy  {}\n", symbols(result.sources, row), symbols(result.copies, row));

  std::vector<std::int64_t> some(result.sources.values().begin(),
                                 result.sources.values().begin() + std::min<Dim>(100, result.sequences) * copy::length);
  const Ids seen(Shape{static_cast<Dim>(some.size()) / copy::length, copy::length}, some);
  const copy::CrossAttention attention = copy::look(model, seen);
  write_file(picture, copy::draw(attention, seen, picture.ends_with(".html")));
  fmt::print("best head: {} puts {:.2f} of its weight on the symbol being copied\nattention picture: {}\n", attention.best_head,
             attention.best_share, picture);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return examples::run("copy", body, argc, argv); }
