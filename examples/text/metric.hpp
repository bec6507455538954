#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace examples::text {

/// The release of sacreBLEU whose digits ours are; signatures name it.
constexpr const char* sacrebleu_version = "2.6.0";

/// Several references: `references[k]` holds the k-th of every sentence.
using References = std::span<const std::vector<std::string>>;

/// One metric's counts for every sentence of a corpus. They add up: the score of any choice of sentences follows from the sum of their
/// rows.
struct MetricCounts {
  std::string name;        ///< `BLEU`
  std::string references;  ///< the first field of the signature: `nrefs:1`
  std::string settings;    ///< the others: `case:mixed|eff:no|…`
  std::size_t width = 0;
  std::vector<double> rows = {};  ///< [sentences, width]
  bool lower_is_better = false;
  std::function<double(std::span<const double> sums)> score = {};

  std::size_t sentences() const noexcept { return width == 0 ? 0 : rows.size() / width; }
  std::span<const double> row(std::size_t sentence) const { return std::span(rows).subspan(sentence * width, width); }
  std::vector<double> sums() const;
  /// sacreBLEU's: `nrefs:1|case:mixed|…|version:…`; `resampling` (`bs:1000|seed:12345`) stands behind the references.
  std::string signature(const std::string& resampling = {}) const;
};

/// @throws tapeform::ValueError unless there is a hypothesis, a reference, and as many references of each kind as hypotheses.
void check_corpus(const char* metric, std::span<const std::string> hypotheses, References references);

}  // namespace examples::text
