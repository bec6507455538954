#pragma once
#include <span>
#include <string>
#include <vector>

#include "text/metric.hpp"

namespace examples::text {

struct ChrfOptions {
  int characters = 6;  ///< longest n-gram of characters
  int words = 0;       ///< longest n-gram of words: 0 is chrF, 2 is chrF++
  double beta = 2;     ///< how many times recall counts more than precision
  bool lower_case = false;
  bool white_space = false;  ///< count it among the characters
};

struct ChrfResult {
  double score = 0;  ///< 0 … 100
  std::string name;  ///< `chrF2`, `chrF2++`
  std::string its_signature;
  /// sacreBLEU's: `nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:…`.
  const std::string& signature() const noexcept { return its_signature; }
  /// `chrF2 = 64.35`
  std::string text(int decimals = 2) const;
};

/// chrF of a corpus: 100 · (1 + β²)·P·R / (β²·P + R), P and R the means over n of the precisions and recalls of the n-grams of characters
/// (and words) for which both sides have any; of several references each sentence counts the one that it scores best with. Popović, "chrF:
/// character n-gram F-score for automatic MT evaluation", 2015; "chrF++: words helping character n-grams", 2017.
/// @throws tapeform::ValueError as check_corpus, and unless 1 ≤ characters ≤ 16, 0 ≤ words ≤ 4, β > 0.
ChrfResult chrf(std::span<const std::string> hypotheses, References references, const ChrfOptions& options = {});
ChrfResult chrf(std::span<const std::string> hypotheses, const std::vector<std::string>& references, const ChrfOptions& options = {});

/// Per sentence and order (characters, then words): n-grams of the hypothesis, of the reference, matches.
MetricCounts chrf_counts(std::span<const std::string> hypotheses, References references, const ChrfOptions& options = {});

}  // namespace examples::text
