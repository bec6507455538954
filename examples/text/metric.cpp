#include "text/metric.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>

namespace examples::text {

std::vector<double> MetricCounts::sums() const {
  std::vector<double> totals(width, 0.0);
  for (std::size_t i = 0; i < rows.size(); ++i) totals[i % width] += rows[i];
  return totals;
}

std::string MetricCounts::signature(const std::string& resampling) const {
  return fmt::format("{}{}{}|{}|version:{}", references, resampling.empty() ? "" : "|", resampling, settings, sacrebleu_version);
}

void check_corpus(const char* metric, std::span<const std::string> hypotheses, References references) {
  if (hypotheses.empty()) throw tapeform::ValueError(fmt::format("{}: a corpus has at least one sentence; got none", metric));
  if (references.empty()) throw tapeform::ValueError(fmt::format("{}: a hypothesis needs a reference; got none", metric));
  for (const auto& reference : references)
    if (reference.size() != hypotheses.size())
      throw tapeform::ValueError(fmt::format("{}: every hypothesis needs its reference; got {} hypotheses, {} references", metric,
                                             hypotheses.size(), reference.size()));
}

}  // namespace examples::text
