// A character model: learns the style of any text, and writes on.
#include <fmt/format.h>

#include "char_lm/char_lm.hpp"
#include "common/command_line.hpp"
#include "common/progress.hpp"

using namespace tapeform;
using namespace examples;

namespace {

struct Writing {
  std::string prompt;
  std::int64_t length = 500, top_k = 0;
  double temperature = 0.8, top_p = 1.0;
};

void add_options(CommandLine& options, std::string& text, char_lm::Recipe& recipe, Writing& writing) {
  options.add("--text", text, "UTF-8 text to learn (default: a tale that comes with the example)");
  options.add("--prompt", writing.prompt, "what the generated text begins with");
  options.add("--length", writing.length, "characters to generate", 0, 1'000'000);
  options.add("--temperature", writing.temperature, "below 1: more of the likely; 0: always the likeliest", 0, 100);
  options.add("--top-k", writing.top_k, "choose among the k likeliest characters; 0: all");
  options.add("--top-p", writing.top_p, "choose among the likeliest that make up this probability", 0, 1);
  options.add("--updates", recipe.updates, "training updates", 0, 100'000'000);
  options.add("--batch", recipe.batch, "windows an update", 1, 100'000);
  options.add("--context", recipe.context, "characters that the model sees", 1, 1'000'000);
  options.add("--layers", recipe.layers, "Transformer layers", 1, 1000);
  options.add("--heads", recipe.heads, "attention heads a layer", 1, 1000);
  options.add("--width", recipe.width, "width of the model", 1, 100'000);
  options.add("--dropout", recipe.dropout, "probability of dropout", 0, 0.99);
  options.add("--lr", recipe.lr, "highest learning rate", 0, 1);
  options.add("--min-lr", recipe.min_lr, "learning rate of the last update", 0, 1);
  options.add("--warmup", recipe.warmup, "updates over which the rate rises");
  options.add("--decay", recipe.decay, "weight decay of matrices", 0, 10);
}

int body(int argc, const char* const* argv) {
  CommandLine options("char_lm", "Trains a decoder-only Transformer on the characters of a text, and writes on in its style.");
  std::string path = TAPEFORM_EXAMPLES_DIR "/char_lm/text.txt";
  char_lm::Recipe recipe;
  Writing writing;
  add_options(options, path, recipe, writing);
  options.parse(argc, argv);
  if (writing.top_p == 0) throw UsageError{"--top-p must be over 0; got 0"};
  if (recipe.min_lr > recipe.lr) throw UsageError{fmt::format("--min-lr {} is over --lr {}", recipe.min_lr, recipe.lr)};

  const std::u32string text = decode_utf8(read_file(path), path);
  const char_lm::Corpus corpus(text, recipe.context, path);
  const std::u32string prompt = decode_utf8(writing.prompt, "--prompt");
  corpus.alphabet.encode(prompt);  // complains before the training, not after it

  catch_interrupts();
  Rng rng(options.seed);
  nn::CausalLM model = char_lm::make_model(corpus.alphabet.size(), recipe, rng);
  if (!options.quiet)
    fmt::print("{}: {} characters, {} distinct; {} parameters\n", path, text.size(), corpus.alphabet.size(), nn::count_parameters(model));
  char_lm::Trainer trainer(model, corpus, recipe, options.seed);
  std::int64_t done = 0;
  {
    Progress progress(recipe.updates, options.quiet);
    while (done < recipe.updates && !interrupted()) {
      const double loss = trainer.update();
      progress.update(++done, loss, recipe.batch * recipe.context);
    }
  }
  if (done < recipe.updates) fmt::print("stopped after {} of {} updates\n", done, recipe.updates);
  fmt::print("validation loss: {:.4f} nats a character after {} updates\n", char_lm::validation_loss(model, corpus.valid, recipe.context),
             done);

  Rng sampling = Rng(options.seed).stream(3);
  const std::u32string written = char_lm::write_on(
      model, corpus.alphabet, prompt, sampling,
      {.max_new_ids = writing.length, .temperature = writing.temperature, .top_k = writing.top_k, .top_p = writing.top_p});
  fmt::print("{}\n", encode_utf8(written));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return examples::run("char_lm", body, argc, argv); }
