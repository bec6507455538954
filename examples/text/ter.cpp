#include "text/ter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/utf8_text.hpp"
#include "text/ter_edits.hpp"
#include "text/tokenizers.hpp"

namespace examples::text {
namespace {

std::vector<std::string> ter_words(const std::string& sentence, const TerOptions& options) {
  std::string text = options.case_sensitive ? sentence : lower_case(sentence);
  if (options.normalized) text = parted_for_ter(text);
  if (!options.punctuation) std::erase_if(text, [](char c) { return std::string_view(".,?:;!\"()").find(c) != std::string_view::npos; });
  return words(text, Tokenizer::none);
}

double score_of(std::span<const double> sums) {
  if (sums[1] > 0) return 100 * sums[0] / sums[1];
  return sums[0] > 0 ? 100 : 0;
}

}  // namespace

MetricCounts ter_counts(std::span<const std::string> hypotheses, References references, const TerOptions& options) {
  check_corpus("TER", hypotheses, references);
  MetricCounts counts;
  counts.name = "TER";
  counts.references = fmt::format("nrefs:{}", references.size());
  counts.settings = fmt::format("case:{}|tok:tercom|norm:{}|punct:{}|asian:no", options.case_sensitive ? "mixed" : "lc",
                                options.normalized ? "yes" : "no", options.punctuation ? "yes" : "no");
  counts.width = 2;
  counts.lower_is_better = true;
  counts.score = score_of;
  WordIds ids;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const std::vector<std::int64_t> hypothesis = ids.of(ter_words(hypotheses[i], options));
    double fewest = 0, length = 0;
    for (std::size_t k = 0; k < references.size(); ++k) {
      const std::vector<std::int64_t> reference = ids.of(ter_words(references[k][i], options));
      const auto edits = static_cast<double>(translation_edits(hypothesis, reference));
      fewest = k == 0 ? edits : std::min(fewest, edits);
      length += static_cast<double>(reference.size());
    }
    counts.rows.insert(counts.rows.end(), {fewest, length / static_cast<double>(references.size())});
  }
  return counts;
}

TerResult ter(std::span<const std::string> hypotheses, References references, const TerOptions& options) {
  const MetricCounts counts = ter_counts(hypotheses, references, options);
  const std::vector<double> sums = counts.sums();
  return {counts.score(sums), sums[0], sums[1], counts.signature()};
}

TerResult ter(std::span<const std::string> hypotheses, const std::vector<std::string>& references, const TerOptions& options) {
  return ter(hypotheses, References(&references, 1), options);
}

std::string TerResult::text(int decimals) const { return fmt::format("TER = {:.{}f}", score, decimals); }

}  // namespace examples::text
