#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "text/metric.hpp"

namespace examples::text {

struct BootstrapOptions {
  std::int64_t samples = 1000;
  std::uint32_t seed = 12345;
};

/// How far a score may lie from what other sentences of the same kind would give.
struct Interval {
  double score = 0;       ///< of the corpus itself
  double mean = 0;        ///< of the samples
  double half_width = 0;  ///< of the range that holds 95 % of them
  /// `(μ = 65.59 ± 8.56)`
  std::string text(int decimals = 2) const;
};

/// Scores of corpora made by drawing as many sentences as there are, with replacement: the same draws as sacreBLEU's for the same seed.
/// Koehn, "Statistical Significance Tests for Machine Translation Evaluation", 2004. @throws tapeform::ValueError unless samples ≥ 1.
std::vector<double> bootstrap_scores(const MetricCounts& counts, const BootstrapOptions& options = {});

Interval confidence_interval(const MetricCounts& counts, const BootstrapOptions& options = {});

struct PairedTest {
  Interval baseline, system;
  /// How often chance alone makes a difference as large as the one seen: (1 + samples whose |difference| exceeds its mean by more) / (1 +
  /// samples).
  double p = 1;
};

/// Is a system better than another on the same sentences? Both are scored on the same draws. Riezler and Maxwell, "On Some Pitfalls in
/// Automatic Evaluation and Significance Testing for MT", 2005. @throws tapeform::ValueError when the two do not count the same metric of
/// as many sentences.
PairedTest paired_bootstrap(const MetricCounts& baseline, const MetricCounts& system, const BootstrapOptions& options = {});

/// For `MetricCounts::signature`: `bs:1000|seed:12345`.
std::string resampling_field(const BootstrapOptions& options);

}  // namespace examples::text
