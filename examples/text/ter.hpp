#pragma once
#include <span>
#include <string>
#include <vector>

#include "text/metric.hpp"

namespace examples::text {

struct TerOptions {
  bool case_sensitive = false;
  bool normalized = false;  ///< part marks from words, as 13a does, and 's
  bool punctuation = true;  ///< else . , ? : ; ! " ( ) are left out
};

struct TerResult {
  double score = 0;  ///< 0 and up: edits in 100 words of the references; less is better
  double edits = 0, reference_length = 0;
  std::string its_signature;
  /// sacreBLEU's: `nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:…`.
  const std::string& signature() const noexcept { return its_signature; }
  /// `TER = 50.00`
  std::string text(int decimals = 2) const;
};

/// Translation edit rate: 100 · edits / words of the reference, an edit being a word inserted, deleted or replaced, or a run of words
/// moved. Moves are searched greedily, at most 10 words over at most 50 places, as Tercom does; of several references each sentence counts
/// the one that takes fewest edits, and the mean of their lengths. Snover et al., "A study of translation edit rate with targeted human
/// annotation", 2006.
/// @throws tapeform::ValueError as check_corpus.
TerResult ter(std::span<const std::string> hypotheses, References references, const TerOptions& options = {});
TerResult ter(std::span<const std::string> hypotheses, const std::vector<std::string>& references, const TerOptions& options = {});

/// Per sentence: edits, words of the reference.
MetricCounts ter_counts(std::span<const std::string> hypotheses, References references, const TerOptions& options = {});

}  // namespace examples::text
