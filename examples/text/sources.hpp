#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "text/grammar/grammar.hpp"
#include "text/parallel.hpp"

namespace examples::text {

/// Parallel text to learn from, to choose by and to test on. A part that nobody gave is empty.
struct Corpus {
  std::string name;                 ///< where it comes from
  ParallelText train, valid, test;  ///< of the last two nothing is left out
  std::vector<std::string> report;  ///< what was read and left out, line by line
};

/// Which text a program uses, by the names of its options.
struct DataSources {
  std::string src, tgt, tsv, data;
  std::string valid_src, valid_tgt, test_src, test_tgt;
  CleaningOptions cleaning = {};

  /// Calls `field(name, member, help)` for words and `field(name, member, help, low, high)` for numbers.
  template <class F>
  void visit(const F& field) {
    field("src", src, "sentences to learn from, one a line");
    field("tgt", tgt, "their translations, line by line");
    field("tsv", tsv, "in place of both: sentence, tab, translation on each line");
    field("data", data, "in place of files: ding (the sentences of Debian's trans-de-en), or ding:FILE");
    field("valid-src", valid_src, "sentences to validate on; without them some pairs are held out");
    field("valid-tgt", valid_tgt, "their translations");
    field("test-src", test_src, "sentences to test on");
    field("test-tgt", test_tgt, "their translations");
    field("max-characters", cleaning.max_characters, "leave out training pairs with a longer side; 0: none", 0, INT64_MAX);
    field("max-ratio", cleaning.max_ratio, "leave out training pairs of which one side is longer by this factor; 0: none", 0, 1e9);
  }

  /// True when any text is named.
  bool given() const noexcept;
  /// Reads what is named. Where no text to validate on is given, the training pairs that `frozen_part` chooses are taken out for it.
  /// @throws UsageError when options exclude each other or one is missing, and as the readers.
  Corpus read() const;

 private:
  void check() const;
};

/// The same, told on the command line: what is named when the options have been parsed.
class DataOptions : public DataSources {
 public:
  explicit DataOptions(CommandLine& options);
  DataOptions(const DataOptions&) = delete;  // parsing writes into this one
  DataOptions& operator=(const DataOptions&) = delete;
};

/// What the grammar makes from a seed: `pairs` to learn from, 500 each to validate and to test on.
grammar::Corpus generated_examples(std::int64_t pairs, std::uint64_t seed);
/// Their sentences, German to English.
Corpus generated_corpus(const grammar::Corpus& examples);

}  // namespace examples::text
