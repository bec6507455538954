// A character model: learns the style of any text, and writes on.
#include <fmt/format.h>

#include <filesystem>

#include "char_lm/char_lm.hpp"
#include "common/command_line.hpp"
#include "common/progress.hpp"
#include "common/run_files.hpp"

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

/// What a saved run says of itself.
struct Run {
  std::string text = TAPEFORM_EXAMPLES_DIR "/char_lm/text.txt";
  char_lm::Recipe recipe;
  std::uint64_t seed = 0;
  std::string alphabet;
  void state(StateFields& field) {
    field("text", text);
    field("recipe", recipe);
    field("seed", seed);
    field("alphabet", alphabet);
  }
};

constexpr std::initializer_list<const char*> fixed = {"--batch", "--context", "--layers", "--heads", "--width", "--dropout",
                                                      "--lr",    "--min-lr",  "--warmup", "--decay", "--seed"};

/// The run that the command line describes, or the one of the file that it names.
Run read_run(CommandLine& options, RunFiles& files, Writing& writing, int argc, const char* const* argv) {
  Run run;
  add_options(options, run.text, run.recipe, writing);
  options.parse(argc, argv);
  if (writing.top_p == 0) throw UsageError{"--top-p must be over 0; got 0"};
  if (run.recipe.min_lr > run.recipe.lr) throw UsageError{fmt::format("--min-lr {} is over --lr {}", run.recipe.min_lr, run.recipe.lr)};
  files.check(options, fixed);
  run.seed = options.seed;
  if (!files.source().empty()) {
    const Run asked = run;
    load_given([&] { io::load_checkpoint(files.source(), {{"run", run}}, {.allow_other_parts = true}); });
    if (options.given("--updates")) run.recipe.updates = asked.recipe.updates;
    if (options.given("--text")) run.text = asked.text;
  }
  return run;
}

/// Trains until the last update or Ctrl-C, from where the trainer is.
void train(const Run& run, const nn::CausalLM& model, char_lm::Trainer& trainer, const RunFiles& files, bool quiet) {
  const auto save = [&] { io::save_checkpoint(files.save, {{"run", run}, {"model", model}, {"training", trainer}}); };
  const std::int64_t total = run.recipe.updates;
  {
    Progress progress(total, quiet, trainer.done());
    while (trainer.done() < total && !interrupted()) {
      const double loss = trainer.update();
      progress.update(trainer.done(), loss, run.recipe.batch * run.recipe.context);
      if (files.due(trainer.done(), total)) save_on_the_way("char_lm", save);
    }
  }
  if (trainer.done() < total) fmt::print("stopped after {} of {} updates\n", trainer.done(), total);
  if (!files.save.empty()) save();
}

/// Trains on the run's text, a new run or the one that is resumed, and tells how good the model has become.
void train_on_text(Run& run, nn::CausalLM& model, const char_lm::Corpus& corpus, const RunFiles& files, bool quiet) {
  char_lm::Trainer trainer(model, corpus, run.recipe, run.seed);
  if (!files.resume.empty()) {
    Run saved;  // the number of updates and the place of the text may have been changed
    load_given([&] { io::load_checkpoint(files.resume, {{"run", saved}, {"model", model}, {"training", trainer}}); });
  }
  train(run, model, trainer, files, quiet);
  fmt::print("validation loss: {:.4f} nats a character after {} updates\n",
             char_lm::validation_loss(model, corpus.valid, run.recipe.context), trainer.done());
}

int body(int argc, const char* const* argv) {
  CommandLine options("char_lm", "Trains a decoder-only Transformer on the characters of a text, and writes on in its style.");
  RunFiles files(options);
  Writing writing;
  Run run = read_run(options, files, writing, argc, argv);
  const std::u32string prompt = decode_utf8(writing.prompt, "--prompt");
  catch_interrupts();
  Rng rng(run.seed);
  const auto write = [&](const nn::CausalLM& model, const Alphabet& alphabet) {
    Rng sampling = Rng(options.given("--seed") ? options.seed : run.seed).stream(3);
    const std::u32string written = char_lm::write_on(
        model, alphabet, prompt, sampling,
        {.max_new_ids = writing.length, .temperature = writing.temperature, .top_k = writing.top_k, .top_p = writing.top_p});
    fmt::print("{}\n", encode_utf8(written));
  };
  if (!files.load.empty()) {
    const Alphabet alphabet(decode_utf8(run.alphabet, files.load));
    alphabet.encode(prompt);
    nn::CausalLM model = char_lm::make_model(alphabet.size(), run.recipe, rng);
    load_given([&] { io::load_checkpoint(files.load, {{"model", model}}, {.allow_other_parts = true}); });
    write(model, alphabet);
    return 0;
  }

  if (!files.save.empty()) decode_utf8(run.text, "--text");  // a name that the file could not hold
  const std::u32string text = decode_utf8(read_file(run.text), run.text);
  run.text = std::filesystem::absolute(run.text).string();  // to be found again from another folder
  const char_lm::Corpus corpus(text, run.recipe.context, run.text);
  corpus.alphabet.encode(prompt);  // complains before the training, not after it
  const std::string alphabet = encode_utf8(corpus.alphabet.characters());
  if (!files.resume.empty() && alphabet != run.alphabet)
    throw UsageError{fmt::format("{}: has other characters than the text that {} was trained on", run.text, files.resume)};
  run.alphabet = alphabet;
  nn::CausalLM model = char_lm::make_model(corpus.alphabet.size(), run.recipe, rng);
  if (!options.quiet)
    fmt::print("{}: {} characters, {} distinct; {} parameters\n", run.text, text.size(), corpus.alphabet.size(),
               nn::count_parameters(model));
  train_on_text(run, model, corpus, files, options.quiet);
  write(model, corpus.alphabet);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return examples::run("char_lm", body, argc, argv); }
