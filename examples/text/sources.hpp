#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "text/parallel.hpp"

namespace examples::text {

/// Parallel text to learn from, to choose by and to test on. A part that nobody gave is empty.
struct Corpus {
  std::string name;                 ///< where it comes from
  ParallelText train, valid, test;  ///< of the last two nothing is left out
  std::vector<std::string> report;  ///< what was read and left out, line by line
};

/// `--src` and `--tgt`, `--tsv` or `--data`, and the files to validate and test on: how programs are told which text to use.
class DataOptions {
 public:
  explicit DataOptions(CommandLine& options);
  DataOptions(const DataOptions&) = delete;  // parsing writes into this one
  DataOptions& operator=(const DataOptions&) = delete;

  /// Reads what the command line named; to be called after parsing. Where no text to validate on is given, the training pairs that
  /// `frozen_part` chooses are taken out for it. @throws UsageError when options exclude each other or one is missing, and as the readers.
  Corpus read() const;

  std::string src, tgt, tsv, data;
  std::string valid_src, valid_tgt, test_src, test_tgt;
  CleaningOptions cleaning;

 private:
  void check() const;
};

}  // namespace examples::text
