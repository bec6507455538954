#include <fmt/format.h>

#include "common/utf8_text.hpp"
#include "translate/alignment.hpp"
#include "translate/baselines.hpp"
#include "translate/commands.hpp"
#include "translate/loaded.hpp"
#include "translate/validation.hpp"

namespace examples::translate {
namespace {

struct TestOptions {
  std::string src, tgt, output;
  bool on_valid = false, lower_case = false;
  std::string tokenize;
};

/// The sentences that were asked for: files, the validation part, or the run's own test part.
text::ParallelText test_text(const TestOptions& options, const TrainingText& text) {
  if (options.src.empty() != options.tgt.empty()) throw UsageError{"--src goes with --tgt: give both or neither"};
  if (!options.src.empty()) return text::read_parallel(options.src, options.tgt, text::CleaningOptions::keep_all()).text;
  if (options.on_valid) return text.corpus.valid;
  if (text.corpus.test.size() == 0)
    throw UsageError{"this run has no test set of its own: give --src and --tgt, or --valid true for the validation set"};
  return text.corpus.test;
}

/// By the run's head; a run that has none yet gets one.
void print_alignment(const Loaded& run, const TrainingText& text) {
  const auto chosen = run.alignment ? run.alignment : choose_alignment_head(run.folder, run.config, run.vocabularies, text);
  const HeadErrors on_test = head_errors(run.model, run.vocabularies, text.corpus.test, text.test_gold);
  fmt::print("alignment error rate: {:.3f} ({}, chosen on the validation set: {:.3f} there)\n", on_test.of(chosen->head),
             chosen->head.text(), chosen->error_rate);
}

void print_baselines(const TrainingText& text, const text::BleuOptions& bleu) {
  fmt::print("for comparison: {:.2f} BLEU for the sources as they are, {:.2f} word by word\n",
             text::bleu(text.corpus.test.source, text.corpus.test.target, bleu).score,
             text::bleu(word_by_word(text, text.corpus.test.source), text.corpus.test.target, bleu).score);
}

}  // namespace

int test_command(int argc, const char* const* argv) {
  CommandLine options("translate test", "Scores a run on its test set, or on a text of your own.");
  const UseOptions use(options);
  TestOptions test;
  options.add("--src", test.src, "sentences to translate, one a line, in place of the run's own test set");
  options.add("--tgt", test.tgt, "their translations");
  options.add("--valid", test.on_valid, "score the validation set (true or false)");
  options.add("--tokenize", test.tokenize, "how BLEU cuts words: 13a, intl, char or none; as the run was told when not given");
  options.add("--lower-case", test.lower_case, "BLEU without regard to case (true or false)");
  options.add("--out", test.output, "file for the translations");
  options.parse(argc, argv);
  const Loaded run(use);
  const TrainingText text = run.config.sources.read(run.config.seed);
  const text::ParallelText chosen = test_text(test, text);

  Recipe recipe = run.config.recipe;
  if (!test.tokenize.empty()) recipe.tokenize = test.tokenize;
  if (options.given("--lower-case")) recipe.lower_case = test.lower_case;
  recipe.check();
  const Translations translations = translate(run.model, run.vocabularies, chosen.source, use.decoding(run.config));
  const std::vector<std::string> texts = best_texts(translations);
  if (!test.output.empty()) write_file(test.output, fmt::format("{}\n", fmt::join(texts, "\n")));

  const text::BleuOptions bleu = bleu_options(recipe);
  const text::BleuResult result = text::bleu(texts, chosen.target, bleu);
  fmt::print("{} sentences, {}\n{}\n{}\n", chosen.size(), run.weights, result.text(), result.signature());
  const bool own = test.src.empty() && !test.on_valid;
  if (text.generated && own) {
    print_baselines(text, bleu);
    print_alignment(run, text);
  }
  return 0;
}

}  // namespace examples::translate
