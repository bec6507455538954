#include "text/bootstrap.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "text/numpy_random.hpp"

namespace examples::text {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Interval interval_of(const MetricCounts& counts, std::vector<double> scores) {
  std::ranges::sort(scores);
  const std::size_t cut = scores.size() / 40;  // 2.5 % on each side
  return {counts.score(counts.sums()), mean(scores), (scores[scores.size() - 1 - cut] - scores[cut]) / 2};
}

}  // namespace

std::vector<double> bootstrap_scores(const MetricCounts& counts, const BootstrapOptions& options) {
  if (options.samples < 1) throw tapeform::ValueError(fmt::format("bootstrap: at least one sample is needed; got {}", options.samples));
  NumpyRandom random(options.seed);
  const auto sentences = static_cast<std::uint32_t>(counts.sentences());
  std::vector<double> scores, sums(counts.width);
  for (std::int64_t sample = 0; sample < options.samples; ++sample) {
    std::ranges::fill(sums, 0.0);
    for (std::uint32_t i = 0; i < sentences; ++i) {
      const auto row = counts.row(random.below(sentences));
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += row[k];
    }
    scores.push_back(counts.score(sums));
  }
  return scores;
}

Interval confidence_interval(const MetricCounts& counts, const BootstrapOptions& options) {
  return interval_of(counts, bootstrap_scores(counts, options));
}

PairedTest paired_bootstrap(const MetricCounts& baseline, const MetricCounts& system, const BootstrapOptions& options) {
  if (baseline.signature() != system.signature() || baseline.sentences() != system.sentences())
    throw tapeform::ValueError(
        fmt::format("paired test: both systems must be scored alike on the same sentences; got {} sentences by {}, {} by {}",
                    baseline.sentences(), baseline.signature(), system.sentences(), system.signature()));
  const std::vector<double> of_baseline = bootstrap_scores(baseline, options), of_system = bootstrap_scores(system, options);
  PairedTest test{interval_of(baseline, of_baseline), interval_of(system, of_system)};
  std::vector<double> differences;
  for (std::size_t i = 0; i < of_system.size(); ++i) differences.push_back(std::abs(of_system[i] - of_baseline[i]));
  const double seen = std::abs(test.system.score - test.baseline.score), typical = mean(differences);
  const auto larger = std::ranges::count_if(differences, [seen, typical](double difference) { return difference - typical > seen; });
  test.p = static_cast<double>(larger + 1) / static_cast<double>(options.samples + 1);
  return test;
}

std::string Interval::text(int decimals) const { return fmt::format("(μ = {:.{}f} ± {:.{}f})", mean, decimals, half_width, decimals); }

std::string resampling_field(const BootstrapOptions& options) { return fmt::format("bs:{}|seed:{}", options.samples, options.seed); }

}  // namespace examples::text
