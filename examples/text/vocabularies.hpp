#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "text/parallel.hpp"
#include "text/subwords.hpp"

namespace examples::text {

struct VocabularyOptions {
  bool joint = true;                ///< one vocabulary of both languages, which can share one table of embeddings
  tapeform::Dim size = 8000;        ///< of each vocabulary
  double character_coverage = 1.0;  ///< as in SubwordOptions
  bool exact = true;                ///< as in SubwordOptions
};

/// Pairs of sentences as ids, without bos and eos.
struct EncodedPairs {
  std::vector<std::vector<std::int64_t>> source, target;
  std::size_t size() const noexcept { return source.size(); }
};

/// The subwords of both languages: one model for both, or one each.
struct Vocabularies {
  Subwords source, target;
  bool joint;

  /// @throws UsageError as Subwords::train, naming the language when there is a model for each.
  static Vocabularies train(const ParallelText& text, const VocabularyOptions& options = {});

  /// Writes `subwords.model`, or `subwords.source.model` and `subwords.target.model`, into a folder, in place of any that were there.
  /// @throws tapeform::IoError.
  void save(const std::string& folder) const;
  /// @throws UsageError naming the file that is missing or holds something else.
  static Vocabularies load(const std::string& folder);

  /// The ids of every pair. Pairs with a side over `max_ids` (0: any) are left out and added to `report->too_long`.
  EncodedPairs encode(const ParallelText& text, std::int64_t max_ids = 0, DropReport* report = nullptr) const;
};

}  // namespace examples::text
