// A Transformer learns to copy: ten random symbols in, the same ten out.
#include <fmt/format.h>

#include "common/command_line.hpp"
#include "common/progress.hpp"
#include "common/utf8_text.hpp"
#include "copy/copy_task.hpp"

using namespace tapeform;
using namespace examples;

static std::string symbols(const Ids& sequences, Dim row) {
  std::string text;
  for (Dim t = 0; t < copy::length; ++t) text += fmt::format("{:3}", sequences.at({row, t}));
  return text;
}

static int body(int argc, const char* const* argv) {
  CommandLine options("copy", "Trains a Transformer to copy sequences of ten symbols, and draws what its heads attend to.");
  copy::Recipe recipe;
  Dim held_out = 1000;
  std::string picture = "copy_attention.svg";
  options.add("--updates", recipe.updates, "training updates", 1, 1'000'000);
  options.add("--lr", recipe.lr, "highest learning rate", 0, 1);
  options.add("--sequences", held_out, "held-out sequences to copy", 1, 1'000'000);
  options.add("--picture", picture, "where the attention picture goes");
  options.parse(argc, argv);
  check_writable(picture);

  catch_interrupts();
  Rng rng(options.seed);
  nn::Seq2Seq model = copy::make_model(rng);
  copy::Trainer trainer(model, recipe, options.seed);
  std::int64_t done = 0;
  {
    Progress progress(recipe.updates, options.quiet);
    while (done < recipe.updates && !interrupted()) {
      const double loss = trainer.update();
      progress.update(++done, loss, recipe.batch * copy::length);
    }
  }
  if (done < recipe.updates) fmt::print("stopped after {} of {} updates\n", done, recipe.updates);

  const copy::Result result = copy::evaluate(model, held_out, options.seed);
  fmt::print("exact copies: {} of {} held-out sequences ({:.1f} %)\n", result.exact, result.sequences,
             100.0 * static_cast<double>(result.exact) / static_cast<double>(result.sequences));
  for (Dim row = 0; row < std::min<Dim>(3, result.sequences); ++row)
    fmt::print("source{}\ncopy  {}\n", symbols(result.sources, row), symbols(result.copies, row));

  std::vector<std::int64_t> some(result.sources.values().begin(),
                                 result.sources.values().begin() + std::min<Dim>(100, result.sequences) * copy::length);
  const Ids seen(Shape{static_cast<Dim>(some.size()) / copy::length, copy::length}, some);
  const copy::CrossAttention attention = copy::look(model, seen);
  write_file(picture, copy::draw(attention, seen));
  fmt::print("best head: {} puts {:.2f} of its weight on the symbol being copied\nattention picture: {}\n", attention.best_head,
             attention.best_share, picture);
  return 0;
}

int main(int argc, char** argv) { return examples::run("copy", body, argc, argv); }
