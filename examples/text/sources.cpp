#include "text/sources.hpp"

#include <fmt/format.h>

#include <utility>

#include "text/ding.hpp"

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

/// Takes the pairs that are for validation out of the training text.
void hold_out(Corpus& corpus) {
  ParallelText train;
  for (std::size_t i = 0; i < corpus.train.size(); ++i)
    (frozen_part(corpus.train.source[i]) == Part::valid ? corpus.valid : train).add(corpus.train.source[i], corpus.train.target[i]);
  corpus.report.push_back(fmt::format("valid: {} pairs of the training text, held out", corpus.valid.size()));
  corpus.train = std::move(train);
}

Corpus ding_corpus(const std::string& path) {
  DingText ding = read_ding(path);
  SplitText split = frozen_split(ding.text);
  return {.name = path,
          .train = std::move(split.train),
          .valid = std::move(split.valid),
          .test = std::move(split.test),
          .report = {"dictionary: " + ding.report.str()}};
}

}  // namespace

DataOptions::DataOptions(CommandLine& options) {
  options.add("--src", src, "sentences to learn from, one a line");
  options.add("--tgt", tgt, "their translations, line by line");
  options.add("--tsv", tsv, "in place of both: sentence, tab, translation on each line");
  options.add("--data", data, "in place of files: ding (the sentences of Debian's trans-de-en), or ding:FILE");
  options.add("--valid-src", valid_src, "sentences to validate on; without them some pairs are held out");
  options.add("--valid-tgt", valid_tgt, "their translations");
  options.add("--test-src", test_src, "sentences to test on");
  options.add("--test-tgt", test_tgt, "their translations");
  options.add("--max-characters", cleaning.max_characters, "leave out training pairs with a longer side; 0: none");
  options.add("--max-ratio", cleaning.max_ratio, "leave out training pairs of which one side is longer by this factor; 0: none", 0, 1e9);
}

void DataOptions::check() const {
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

Corpus DataOptions::read() const {
  check();
  if (!data.empty()) return ding_corpus(data == "ding" ? ding_path : data.substr(5));
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

}  // namespace examples::text
