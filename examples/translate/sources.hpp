#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "text/alignment.hpp"
#include "text/grammar/grammar.hpp"
#include "text/sources.hpp"

namespace examples::translate {

/// The sentences of a run.
struct TrainingText {
  text::Corpus corpus;
  bool generated = false;
  std::vector<text::WordAlignment> train_gold, valid_gold, test_gold;  ///< of generated sentences
};

/// Where the sentences come from: text that is named, or, when none is, the grammar.
struct Sources {
  text::DataSources files;
  std::int64_t pairs = 200'000;  ///< generated pairs to learn from
  bool reverse = false;          ///< English to German

  template <class F>
  void visit(const F& field) {
    files.visit(field);
    field("pairs", pairs, "generated pairs to learn from, when no text is named", 100, 10'000'000);
    field("reverse", reverse, "translate the other way: targets become sources (true or false)");
  }

  /// Names of files, from the root: a run is resumed from any folder.
  void make_absolute();
  /// @throws UsageError when options exclude each other or one is missing, and as the readers.
  TrainingText read(std::uint64_t seed) const;
};

}  // namespace examples::translate
