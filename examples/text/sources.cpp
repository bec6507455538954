#include "text/sources.hpp"

#include <fmt/format.h>

#include <utility>

#include "text/ding.hpp"
#include "text/grammar/grammar.hpp"

namespace examples::text {
namespace {

/// `--valid-src` goes with `--valid-tgt`, and so on. @throws UsageError
void check_pair(const char* first, const std::string& a, const char* second, const std::string& b) {
  if (a.empty() != b.empty())
    throw UsageError{fmt::format("{} goes with {}: give both or neither", a.empty() ? second : first, a.empty() ? first : second)};
}

/// Text of which line n must stay line n. @throws UsageError as read_parallel.
ParallelText read_whole(const std::string& source, const std::string& target, const char* what, std::vector<std::string>& report) {
  if (source.empty()) return {};
  CleanText read = read_parallel(source, target, CleaningOptions::keep_all());
  report.push_back(fmt::format("{}: {} pairs", what, read.text.size()));
  return std::move(read.text);
}

/// Takes the pairs that are for validation out of the training text, unless they are all there is.
void hold_out(Corpus& corpus) {
  ParallelText train;
  for (std::size_t i = 0; i < corpus.train.size(); ++i)
    (frozen_part(corpus.train.source[i]) == Part::valid ? corpus.valid : train).add(corpus.train.source[i], corpus.train.target[i]);
  if (train.size() == 0) std::swap(train, corpus.valid);
  corpus.report.push_back(fmt::format("valid: {} pairs of the training text, held out", corpus.valid.size()));
  corpus.train = std::move(train);
}

Corpus ding_corpus(const std::string& path, const CleaningOptions& cleaning) {
  const DingText ding = read_ding(path);
  SplitText split = frozen_split(ding.text);
  CleanText train = clean(split.train, cleaning);
  if (train.text.size() == 0) throw UsageError{fmt::format("{}: no pair of sentences is left: {}", path, train.report.str())};
  return {.name = path,
          .train = std::move(train.text),
          .valid = std::move(split.valid),
          .test = std::move(split.test),
          .report = {"dictionary: " + ding.report.str(), "train: " + train.report.str()}};
}

ParallelText text_of(const std::vector<grammar::Example>& examples) {
  ParallelText text;
  for (const grammar::Example& example : examples) text.add(example.german, example.english);
  return text;
}

}  // namespace

DataOptions::DataOptions(CommandLine& options) {
  visit([&options](const char* name, auto& member, const char* help, auto... range) {
    options.add(fmt::format("--{}", name), member, help, range...);
  });
}

bool DataSources::given() const noexcept {
  for (const std::string* name : {&src, &tgt, &tsv, &data, &valid_src, &valid_tgt, &test_src, &test_tgt})
    if (!name->empty()) return true;
  return false;
}

void DataSources::check() const {
  check_pair("--src", src, "--tgt", tgt);
  check_pair("--valid-src", valid_src, "--valid-tgt", valid_tgt);
  check_pair("--test-src", test_src, "--test-tgt", test_tgt);
  const int given = !src.empty() + !tsv.empty() + !data.empty();
  if (given > 1) throw UsageError{"--src and --tgt, --tsv and --data exclude each other: give one"};
  if (given == 0) throw UsageError{"which text? Give --src and --tgt, --tsv or --data"};
  if (!data.empty() && data != "ding" && !data.starts_with("ding:"))
    throw UsageError{fmt::format("--data is ding or ding:FILE; got '{}'", data)};
  if (!data.empty() && (!valid_src.empty() || !test_src.empty()))
    throw UsageError{"--data has texts of its own to validate and test on: leave --valid-src and --test-src out"};
}

Corpus DataSources::read() const {
  check();
  if (!data.empty()) return ding_corpus(data == "ding" ? ding_path : data.substr(5), cleaning);
  CleanText read = tsv.empty() ? read_parallel(src, tgt, cleaning) : read_tsv(tsv, cleaning);
  Corpus corpus{.name = tsv.empty() ? fmt::format("{}, {}", src, tgt) : tsv,
                .train = std::move(read.text),
                .valid = {},
                .test = {},
                .report = {"train: " + read.report.str()}};
  corpus.valid = read_whole(valid_src, valid_tgt, "valid", corpus.report);
  if (valid_src.empty()) hold_out(corpus);
  corpus.test = read_whole(test_src, test_tgt, "test", corpus.report);
  return corpus;
}

grammar::Corpus generated_examples(std::int64_t pairs, std::uint64_t seed) {
  constexpr std::int64_t held_out = 500;
  return grammar::corpus(seed, pairs, held_out, held_out);
}

Corpus generated_corpus(const grammar::Corpus& examples) {
  return {.name = "generated sentences",
          .train = text_of(examples.train),
          .valid = text_of(examples.valid),
          .test = text_of(examples.test),
          .report = {fmt::format("generated: {} pairs to learn from, {} to validate on, {} to test on", examples.train.size(),
                                 examples.valid.size(), examples.test.size())}};
}

}  // namespace examples::text
