#include "text/bleu.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace examples::text {
namespace {

constexpr std::size_t order = BleuResult::order;
constexpr std::size_t width = 2 + 2 * order;

using Sentence = std::vector<std::int64_t>;
using Ngram = std::array<std::int64_t, order>;  // filled up with −1
using Counts = std::map<Ngram, std::int64_t>;

Counts count_ngrams(const Sentence& sentence) {
  Counts counts;
  for (std::size_t begin = 0; begin < sentence.size(); ++begin) {
    Ngram ngram;
    ngram.fill(-1);
    for (std::size_t n = 0; n < order && begin + n < sentence.size(); ++n) {
      ngram[n] = sentence[begin + n];
      ++counts[ngram];
    }
  }
  return counts;
}

std::size_t length_of(const Ngram& ngram) { return static_cast<std::size_t>(std::ranges::find(ngram, -1) - ngram.begin()); }

/// Appends the row of one sentence.
void count(const Sentence& hypothesis, const std::vector<Sentence>& references, std::vector<double>& rows) {
  const std::size_t at = rows.size();
  rows.resize(at + width, 0.0);
  const auto distance = [&hypothesis](const Sentence& reference) {
    return std::pair(std::max(reference.size(), hypothesis.size()) - std::min(reference.size(), hypothesis.size()), reference.size());
  };
  Counts most;  // of any one reference
  for (const Sentence& reference : references)
    for (const auto& [ngram, times] : count_ngrams(reference)) most[ngram] = std::max(most[ngram], times);
  rows[at] = static_cast<double>(hypothesis.size());
  rows[at + 1] = static_cast<double>(std::ranges::min_element(references, {}, distance)->size());
  for (const auto& [ngram, times] : count_ngrams(hypothesis)) {
    const std::size_t n = length_of(ngram) - 1;
    const auto found = most.find(ngram);
    if (found != most.end()) rows[at + 2 + n] += static_cast<double>(std::min(times, found->second));
    rows[at + 2 + order + n] += static_cast<double>(times);
  }
}

double value_of(const BleuOptions& options) {
  if (options.smoothing_value >= 0) return options.smoothing_value;
  return options.smoothing == Smoothing::floor ? 0.1 : 1.0;
}

BleuResult result_of(std::span<const double> sums, const BleuOptions& options) {
  BleuResult result;
  result.hypothesis_length = static_cast<std::int64_t>(sums[0]);
  result.reference_length = static_cast<std::int64_t>(sums[1]);
  result.brevity_penalty = 1;
  if (sums[0] < sums[1]) result.brevity_penalty = sums[0] > 0 ? std::exp(1 - sums[1] / sums[0]) : 0;
  for (std::size_t n = 0; n < order; ++n) {
    result.matches[n] = static_cast<std::int64_t>(sums[2 + n]);
    result.totals[n] = static_cast<std::int64_t>(sums[2 + order + n]);
  }
  if (std::ranges::all_of(result.matches, [](std::int64_t matches) { return matches == 0; }))
    return result;  // smoothing nothing is nothing
  double missing = 1, logarithms = 0;
  std::size_t used = order;
  for (std::size_t n = 0; n < order; ++n) {
    const double more = options.smoothing == Smoothing::add_k && n > 0 ? value_of(options) : 0;
    const double matches = sums[2 + n] + more, total = sums[2 + order + n] + more;
    if (total == 0) break;
    if (options.effective_order) used = n + 1;
    if (matches > 0) result.precisions[n] = 100 * matches / total;
    if (matches == 0 && options.smoothing == Smoothing::exponential) result.precisions[n] = 100 / ((missing *= 2) * total);
    if (matches == 0 && options.smoothing == Smoothing::floor) result.precisions[n] = 100 * value_of(options) / total;
  }
  for (std::size_t n = 0; n < used; ++n) logarithms += std::log(result.precisions[n]);  // ln 0 makes the score 0
  result.score = result.brevity_penalty * std::exp(logarithms / static_cast<double>(used));
  return result;
}

std::string settings_of(const BleuOptions& options) {
  std::string smoothing;
  switch (options.smoothing) {
    case Smoothing::exponential:
      smoothing = "exp";
      break;
    case Smoothing::floor:
      smoothing = fmt::format("floor[{:.2f}]", value_of(options));
      break;
    case Smoothing::add_k:
      smoothing = fmt::format("add-k[{:.2f}]", value_of(options));
      break;
    case Smoothing::none:
      smoothing = "none";
      break;
  }
  return fmt::format("case:{}|eff:{}|tok:{}|smooth:{}", options.lower_case ? "lc" : "mixed", options.effective_order ? "yes" : "no",
                     name_of(options.tokenizer), smoothing);
}

}  // namespace

Smoothing smoothing_named(const std::string& name) {
  if (name == "exp") return Smoothing::exponential;
  if (name == "floor") return Smoothing::floor;
  if (name == "add-k") return Smoothing::add_k;
  if (name == "none") return Smoothing::none;
  throw tapeform::ValueError(fmt::format("smoothing: there are exp, floor, add-k and none; got '{}'", name));
}

MetricCounts bleu_counts(std::span<const std::string> hypotheses, References references, const BleuOptions& options) {
  check_corpus("BLEU", hypotheses, references);
  WordIds ids;
  const auto read = [&options, &ids](const std::string& sentence) {
    return ids.of(words(options.lower_case ? lower_case(sentence) : sentence, options.tokenizer));
  };
  MetricCounts counts{
      .name = "BLEU", .references = fmt::format("nrefs:{}", references.size()), .settings = settings_of(options), .width = width};
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    std::vector<Sentence> of_sentence;
    for (const auto& reference : references) of_sentence.push_back(read(reference[i]));
    count(read(hypotheses[i]), of_sentence, counts.rows);
  }
  counts.score = [options](std::span<const double> sums) { return result_of(sums, options).score; };
  return counts;
}

BleuResult bleu(std::span<const std::string> hypotheses, References references, const BleuOptions& options) {
  const MetricCounts counts = bleu_counts(hypotheses, references, options);
  BleuResult result = result_of(counts.sums(), options);
  result.its_signature = counts.signature();
  return result;
}

BleuResult bleu(std::span<const std::string> hypotheses, const std::vector<std::string>& references, const BleuOptions& options) {
  return bleu(hypotheses, References(&references, 1), options);
}

double BleuResult::ratio() const noexcept {
  return reference_length == 0 ? 0 : static_cast<double>(hypothesis_length) / static_cast<double>(reference_length);
}

std::string BleuResult::details() const {
  return fmt::format("{:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", precisions[0], precisions[1],
                     precisions[2], precisions[3], brevity_penalty, ratio(), hypothesis_length, reference_length);
}

std::string BleuResult::text(int decimals) const { return fmt::format("BLEU = {:.{}f} {}", score, decimals, details()); }

}  // namespace examples::text
