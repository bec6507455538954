#include "score/score.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>

#include "common/command_line.hpp"
#include "common/utf8_text.hpp"
#include "text/alignment.hpp"
#include "text/parallel.hpp"

namespace examples::score {
namespace {

text::MetricCounts counts_of(const std::string& metric, const Lines& hypotheses, const Request& request) {
  if (metric == "bleu") return text::bleu_counts(hypotheses, request.references, request.bleu);
  if (metric == "chrf") return text::chrf_counts(hypotheses, request.references, request.chrf);
  if (metric == "ter") return text::ter_counts(hypotheses, request.references, request.ter);
  throw tapeform::ValueError(fmt::format("metrics: there are bleu, chrf and ter; got '{}'", metric));
}

/// What BLEU says besides its score.
std::string details(const std::string& metric, const Lines& hypotheses, const Request& request) {
  return metric == "bleu" ? " " + text::bleu(hypotheses, request.references, request.bleu).details() : "";
}

std::string line_of(const text::MetricCounts& counts, const text::Interval* interval, const std::string& rest, const Request& request) {
  const double score = counts.score(counts.sums());
  const std::string signature = counts.signature(interval != nullptr ? text::resampling_field(request.bootstrap) : "");
  const bool shown = interval != nullptr && interval->mean > 0;  // nothing lies about a score of 0
  return fmt::format("{}|{} = {:.{}f}{}{}\n", counts.name, signature, score, request.decimals,
                     shown ? " " + interval->text(request.decimals) : "", rest);
}

std::string sentence_lines(const std::string& metric, const text::MetricCounts& counts, const Request& request) {
  text::MetricCounts scoring = counts;
  if (metric == "bleu") {  // a short sentence has no n-gram of four words
    Request effective = request;
    effective.bleu.effective_order = true;
    scoring = counts_of(metric, request.hypotheses, effective);
  }
  std::string lines;
  for (std::size_t i = 0; i < scoring.sentences(); ++i)
    lines += fmt::format("{} of sentence {} = {:.{}f}\n", scoring.name, i + 1, scoring.score(scoring.row(i)), request.decimals);
  return lines;
}

}  // namespace

std::string report(const Request& request) {
  if (request.metrics.empty()) throw tapeform::ValueError("metrics: there are bleu, chrf and ter; got none");
  std::string lines;
  for (const std::string& metric : request.metrics) {
    const text::MetricCounts counts = counts_of(metric, request.hypotheses, request);
    const std::string rest = details(metric, request.hypotheses, request);
    if (request.sentences) lines += sentence_lines(metric, counts, request);
    if (request.baseline.empty()) {
      if (!request.confidence) {
        lines += line_of(counts, nullptr, rest, request);
        continue;
      }
      const text::Interval interval = text::confidence_interval(counts, request.bootstrap);
      lines += line_of(counts, &interval, rest, request);
      continue;
    }
    const text::MetricCounts baseline = counts_of(metric, request.baseline, request);
    const text::PairedTest test = text::paired_bootstrap(baseline, counts, request.bootstrap);
    lines += "baseline: " + line_of(baseline, &test.baseline, details(metric, request.baseline, request), request);
    lines += "system:   " + line_of(counts, &test.system, rest, request);
    const char* const verdict = test.system.score == test.baseline.score ? " (no difference)" : test.p < 0.05 ? "" : " (may be chance)";
    lines += fmt::format("{}: p = {:.4f}{}\n", counts.name, test.p, verdict);
  }
  return lines;
}

std::string alignment_report(const std::string& proposed_file, const std::string& gold_file) {
  const auto read = [](const std::string& path) { return text::read_pharaoh(read_file(path), path); };
  const text::AlignmentScore score = text::alignment_error_rate(read(proposed_file), read(gold_file));
  return fmt::format("AER = {:.4f} (precision = {:.4f} recall = {:.4f} links = {} sure = {})\n", score.error_rate, score.precision,
                     score.recall, score.links, score.sure);
}

Lines read_lines(const std::string& path) {
  Lines lines = text::split_lines(read_file(path), path);
  for (std::string& line : lines)
    if (line.ends_with('\r')) line.pop_back();
  return lines;
}

}  // namespace examples::score
