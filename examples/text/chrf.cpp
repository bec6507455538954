#include "text/chrf.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "common/utf8_text.hpp"
#include "text/tokenizers.hpp"

namespace examples::text {
namespace {

using Grams = std::unordered_map<std::u32string, double>;  // words of an n-gram end with a 0
struct Order {
  Grams grams;
  double count = 0;
};
using Orders = std::vector<Order>;

bool ascii_punctuation(char32_t c) {
  return (c >= U'!' && c <= U'/') || (c >= U':' && c <= U'@') || (c >= U'[' && c <= U'`') || (c >= U'{' && c <= U'~');
}

/// Words, with one mark at an end of theirs apart, the last one first.
std::vector<std::u32string> words_and_marks(const std::u32string& text) {
  std::vector<std::u32string> parts;
  for (const std::u32string& word : split(text)) {
    if (word.size() > 1 && ascii_punctuation(word.back())) {
      parts.push_back(word.substr(0, word.size() - 1));
      parts.push_back(word.substr(word.size() - 1));
    } else if (word.size() > 1 && ascii_punctuation(word.front())) {
      parts.push_back(word.substr(0, 1));
      parts.push_back(word.substr(1));
    } else {
      parts.push_back(word);
    }
  }
  return parts;
}

template <class Units, class Join>
void add_orders(Orders& orders, const Units& units, int longest, Join join) {
  for (std::size_t n = 1; n <= static_cast<std::size_t>(longest); ++n) {
    Order order;
    for (std::size_t begin = 0; begin + n <= units.size(); ++begin) {
      ++order.grams[join(begin, n)];
      ++order.count;
    }
    orders.push_back(std::move(order));
  }
}

Orders read(const std::string& sentence, const ChrfOptions& options) {
  const std::u32string text = decode_utf8(options.lower_case ? lower_case(sentence) : sentence, "a sentence to score");
  std::u32string characters = text;
  if (!options.white_space) std::erase_if(characters, is_space);
  Orders orders;
  add_orders(orders, characters, options.characters, [&](std::size_t begin, std::size_t n) { return characters.substr(begin, n); });
  const std::vector<std::u32string> words = words_and_marks(text);
  add_orders(orders, words, options.words, [&](std::size_t begin, std::size_t n) {
    std::u32string joined;
    for (std::size_t i = begin; i < begin + n; ++i) joined += words[i] + U'\0';
    return joined;
  });
  return orders;
}

std::vector<double> compared(const Orders& hypothesis, const Orders& reference) {
  std::vector<double> counts;
  for (std::size_t n = 0; n < hypothesis.size(); ++n) {
    double matches = 0;
    for (const auto& [gram, times] : hypothesis[n].grams) {
      const auto found = reference[n].grams.find(gram);
      if (found != reference[n].grams.end()) matches += std::min(times, found->second);
    }
    // Where the reference is too short for an n-gram, those of the hypothesis are not held against it.
    const double of_hypothesis = reference[n].count > 0 ? hypothesis[n].count : 0;
    counts.insert(counts.end(), {of_hypothesis, reference[n].count, matches});
  }
  return counts;
}

double score_of(std::span<const double> sums, double beta) {
  double precision = 0, recall = 0, orders = 0;
  for (std::size_t n = 0; n + 2 < sums.size(); n += 3) {
    if (sums[n] == 0 || sums[n + 1] == 0) continue;
    precision += sums[n + 2] / sums[n];
    recall += sums[n + 2] / sums[n + 1];
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  return 100 * (1 + beta * beta) * precision * recall / (beta * beta * precision + recall);
}

std::string name_of(const ChrfOptions& options) {
  return fmt::format("chrF{}{}", options.beta, std::string(static_cast<std::size_t>(options.words), '+'));
}

}  // namespace

MetricCounts chrf_counts(std::span<const std::string> hypotheses, References references, const ChrfOptions& options) {
  check_corpus("chrF", hypotheses, references);
  if (options.characters < 1 || options.characters > 16 || options.words < 0 || options.words > 4 || !(options.beta > 0))
    throw tapeform::ValueError(fmt::format("chrF: 1 to 16 characters, 0 to 4 words, beta above 0; got characters {}, words {}, beta {}",
                                           options.characters, options.words, options.beta));
  MetricCounts counts;
  counts.name = name_of(options);
  counts.references = fmt::format("nrefs:{}", references.size());
  counts.settings = fmt::format("case:{}|eff:yes|nc:{}|nw:{}|space:{}", options.lower_case ? "lc" : "mixed", options.characters,
                                options.words, options.white_space ? "yes" : "no");
  counts.width = 3 * static_cast<std::size_t>(options.characters + options.words);
  counts.score = [beta = options.beta](std::span<const double> sums) { return score_of(sums, beta); };
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const Orders hypothesis = read(hypotheses[i], options);
    std::vector<double> best;
    for (const auto& reference : references) {
      std::vector<double> row = compared(hypothesis, read(reference[i], options));
      if (best.empty() || score_of(row, options.beta) > score_of(best, options.beta)) best = std::move(row);
    }
    counts.rows.insert(counts.rows.end(), best.begin(), best.end());
  }
  return counts;
}

ChrfResult chrf(std::span<const std::string> hypotheses, References references, const ChrfOptions& options) {
  const MetricCounts counts = chrf_counts(hypotheses, references, options);
  return {counts.score(counts.sums()), counts.name, counts.signature()};
}

ChrfResult chrf(std::span<const std::string> hypotheses, const std::vector<std::string>& references, const ChrfOptions& options) {
  return chrf(hypotheses, References(&references, 1), options);
}

std::string ChrfResult::text(int decimals) const { return fmt::format("{} = {:.{}f}", name, score, decimals); }

}  // namespace examples::text
