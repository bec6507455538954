// What a parallel text holds: how much, what was left out and why, how long its sentences are, and how subwords spell it.
#include <fmt/format.h>

#include <algorithm>
#include <tapeform/core/random.hpp>
#include <utility>

#include "common/command_line.hpp"
#include "corpus/corpus.hpp"
#include "text/sources.hpp"
#include "text/token_batches.hpp"

using namespace examples;

namespace {

void print_side(const char* name, const std::vector<std::string>& lines) {
  const corpus::Side side = corpus::describe(lines);
  fmt::print("  {}: {} words, {} of them different; characters: {}\n", name, side.words, side.kinds, side.characters.str());
}

void print_text(const char* name, const text::ParallelText& pairs) {
  if (pairs.size() == 0) return;
  fmt::print("{}, {} pairs\n", name, pairs.size());
  print_side("source", pairs.source);
  print_side("target", pairs.target);
}

void print_spelling(const char* name, const std::vector<std::string>& lines, const text::Subwords& subwords) {
  const corpus::Spelling spelling = corpus::describe(lines, subwords);
  fmt::print("  {}: {:.2f} ids a word, {:.2f} % single bytes; ids: {}\n", name, spelling.ids_a_word, 100 * spelling.bytes_share,
             spelling.ids.str());
}

void print_subwords(const text::ParallelText& train, const text::VocabularyOptions& options, std::int64_t tokens, std::uint64_t seed) {
  const text::Vocabularies subwords = text::Vocabularies::train(train, options);
  if (subwords.joint)
    fmt::print("subwords, {} for both languages\n", subwords.source.size());
  else
    fmt::print("subwords, {} and {}\n", subwords.source.size(), subwords.target.size());
  print_spelling("source", train.source, subwords.source);
  print_spelling("target", train.target, subwords.target);
  text::DropReport drops{.read = static_cast<std::int64_t>(train.size())};
  text::EncodedPairs pairs = subwords.encode(train, tokens - 1, &drops);
  if (pairs.size() == 0) throw UsageError{fmt::format("--tokens {}: every pair has a side that is too long for a batch", tokens)};
  text::TokenBatches batches(std::move(pairs), {.tokens = tokens, .seed = seed});
  fmt::print("batches of {} tokens: {} an epoch, {:.1f} % padding{}\n", tokens, batches.batches_in_epoch(), 100 * batches.padding_share(),
             drops.too_long > 0 ? fmt::format("; {} pairs too long for one", drops.too_long) : "");
}

void print_samples(const text::ParallelText& train, std::int64_t count, std::uint64_t seed) {
  tapeform::Rng rng(seed);
  const std::vector<std::int64_t> order = rng.permutation(static_cast<std::int64_t>(train.size()));
  for (std::size_t i = 0; i < std::min(order.size(), static_cast<std::size_t>(count)); ++i) {
    const auto pair = static_cast<std::size_t>(order[i]);
    fmt::print("{}\n  {}\n", train.source[pair], train.target[pair]);
  }
}

int body(int argc, const char* const* argv) {
  CommandLine options("corpus", "Tells what a parallel text holds, and what would be left out of it.");
  text::DataOptions data(options);
  text::VocabularyOptions vocabulary{.exact = false};
  std::int64_t pairs = 20'000, samples = 5, tokens = 2500;
  bool separate = false;
  options.add("--pairs", pairs, "generated pairs to learn from, when no text is named", 100, 10'000'000);
  options.add("--vocabulary", vocabulary.size, "subwords to learn; fewer where the text has no more", 261, 1'000'000);
  options.add_flag("--separate", separate, "a vocabulary for each language");
  options.add("--tokens", tokens, "most tokens of a batch, padding included", 2, 1'000'000'000);
  options.add("--samples", samples, "pairs to show");
  options.parse(argc, argv);
  vocabulary.joint = !separate;

  const text::Corpus corpus = data.given() ? data.read() : text::generated_corpus(text::generated_examples(pairs, options.seed));
  fmt::print("{}\n", corpus.name);
  for (const std::string& line : corpus.report) fmt::print("{}\n", line);
  print_text("train", corpus.train);
  print_text("valid", corpus.valid);
  print_text("test", corpus.test);
  if (corpus.valid.size() > 0) fmt::print("valid: {}\n", text::overlap(corpus.train, corpus.valid).str());
  if (corpus.test.size() > 0) fmt::print("test: {}\n", text::overlap(corpus.train, corpus.test).str());
  print_subwords(corpus.train, vocabulary, tokens, options.seed);
  print_samples(corpus.train, samples, options.seed);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return examples::run("corpus", body, argc, argv); }
