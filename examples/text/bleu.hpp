#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "text/metric.hpp"
#include "text/tokenizers.hpp"

namespace examples::text {

/// What stands in for a precision of which nothing matched (Chen and Cherry, 2014).
enum class Smoothing {
  exponential,  ///< 1/2, 1/4, … match for the first, second, … such precision
  floor,        ///< `smoothing_value` matches
  add_k,        ///< `smoothing_value` more matches and n-grams for every n above 1
  none          ///< nothing: the score is 0
};
/// @throws tapeform::ValueError for a name other than exp, floor, add-k, none.
Smoothing smoothing_named(const std::string& name);

struct BleuOptions {
  Tokenizer tokenizer = Tokenizer::v13a;
  bool lower_case = false;
  Smoothing smoothing = Smoothing::exponential;
  double smoothing_value = -1;   ///< below 0: 0.1 for floor, 1 for add_k
  bool effective_order = false;  ///< leave out the n for which there is no n-gram: for single sentences
};

struct BleuResult {
  static constexpr std::size_t order = 4;
  double score = 0;                           ///< 0 … 100
  std::array<double, order> precisions = {};  ///< in percent, smoothed
  double brevity_penalty = 0;
  std::int64_t hypothesis_length = 0, reference_length = 0;
  std::array<std::int64_t, order> matches = {}, totals = {};
  std::string its_signature = {};

  double ratio() const noexcept;
  /// sacreBLEU's: `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:…`.
  const std::string& signature() const noexcept { return its_signature; }
  /// `86.1/72.5/60.2/49.6 (BP = 1.000 ratio = 1.000 hyp_len = 251 ref_len = 251)`
  std::string details() const;
  /// sacreBLEU's line: `BLEU = 63.82 87.5/83.3/75.0/50.0 (BP = 0.882 ratio = 0.889 hyp_len = 8 ref_len = 9)`.
  std::string text(int decimals = 2) const;
};

/// BLEU of a corpus: 100 · BP · exp(mean of ln p_n over n = 1 … 4), p_n the clipped n-gram precisions, BP = exp(1 − r/c) where the
/// hypotheses are shorter than the references (r: of each sentence's references the one nearest in length, the shorter of two). Papineni et
/// al., "BLEU: a method for automatic evaluation of machine translation", 2002; tokenizers and digits: Post, "A call for clarity in
/// reporting BLEU scores", 2018. @throws tapeform::ValueError as check_corpus.
BleuResult bleu(std::span<const std::string> hypotheses, References references, const BleuOptions& options = {});

/// The same of one reference.
BleuResult bleu(std::span<const std::string> hypotheses, const std::vector<std::string>& references, const BleuOptions& options = {});

/// Per sentence: both lengths, then matches and n-grams for n = 1 … 4.
MetricCounts bleu_counts(std::span<const std::string> hypotheses, References references, const BleuOptions& options = {});

}  // namespace examples::text
