#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "common/utf8_text.hpp"
#include "text/bleu.hpp"
#include "text/bootstrap.hpp"
#include "text/chrf.hpp"
#include "text/ter.hpp"

using namespace examples::text;
using Lines = std::vector<std::string>;
using nlohmann::json;

namespace {

/// Cases made by sacreBLEU: tests/golden/metric_cases.py.
const json& cases() {
  static const json read = json::parse(examples::read_file(TAPEFORM_TESTS_DIR "/golden/metrics.json"));
  return read;
}

MetricCounts counts_of(const std::string& metric, const json& options, const Lines& hypotheses, References references) {
  if (metric == "bleu")
    return bleu_counts(hypotheses, references,
                       {.tokenizer = tokenizer_named(options.value("tokenizer", "13a")),
                        .lower_case = options.value("lower_case", false),
                        .smoothing = smoothing_named(options.value("smoothing", "exp")),
                        .smoothing_value = options.value("smoothing_value", -1.0),
                        .effective_order = options.value("effective_order", false)});
  if (metric == "chrf")
    return chrf_counts(hypotheses, references,
                       {.characters = options.value("characters", 6),
                        .words = options.value("words", 0),
                        .beta = options.value("beta", 2.0),
                        .lower_case = options.value("lower_case", false),
                        .white_space = options.value("white_space", false)});
  return ter_counts(hypotheses, references,
                    {.case_sensitive = options.value("case_sensitive", false),
                     .normalized = options.value("normalized", false),
                     .punctuation = options.value("punctuation", true)});
}

/// What stands behind BLEU's score; nothing for the others.
std::string details(const MetricCounts& counts, const json& options, const Lines& hypotheses, References references) {
  if (counts.name != "BLEU") return "";
  const BleuResult result = bleu(hypotheses, references,
                                 {.tokenizer = tokenizer_named(options.value("tokenizer", "13a")),
                                  .lower_case = options.value("lower_case", false),
                                  .smoothing = smoothing_named(options.value("smoothing", "exp")),
                                  .smoothing_value = options.value("smoothing_value", -1.0),
                                  .effective_order = options.value("effective_order", false)});
  return " " + result.details();
}

}  // namespace

TEST_CASE("metrics: sacreBLEU's scores, digits and signatures") {
  std::size_t compared = 0;
  for (const json& one : cases()) {
    const auto hypotheses = one.at("hypotheses").get<Lines>();
    const auto references = one.at("references").get<std::vector<Lines>>();
    for (const json& result : one.at("results")) {
      INFO(one.at("name") << ": " << result.at("metric") << " " << result.at("options"));
      const json& options = result.at("options");
      const MetricCounts counts = counts_of(result.at("metric"), options, hypotheses, references);
      const double score = counts.score(counts.sums());
      CHECK(score == Catch::Approx(result.at("score").get<double>()).epsilon(1e-13));
      CHECK(fmt::format("{} = {:.2f}{}", counts.name, score, details(counts, options, hypotheses, references)) == result.at("text"));
      CHECK(counts.signature() == result.at("signature"));
      ++compared;
    }
  }
  CHECK(compared > 150);
}

TEST_CASE("metrics: sacreBLEU's bootstrap intervals and paired tests") {
  std::size_t compared = 0;
  for (const json& one : cases()) {
    if (!one.contains("resampled")) continue;
    const auto hypotheses = one.at("hypotheses").get<Lines>(), baseline = one.at("baseline").get<Lines>();
    const auto references = one.at("references").get<std::vector<Lines>>();
    for (const json& result : one.at("resampled")) {
      const std::string metric = result.at("metric");
      INFO(metric);
      const MetricCounts system = counts_of(metric, json::object(), hypotheses, references);
      const PairedTest test = paired_bootstrap(counts_of(metric, json::object(), baseline, references), system);
      CHECK(fmt::format("{} = {:.2f} {}{}", system.name, test.system.score, test.system.text(),
                        details(system, json::object(), hypotheses, references)) == result.at("text"));
      CHECK(system.signature(resampling_field({})) == result.at("signature"));
      CHECK(test.p == Catch::Approx(result.at("p").get<double>()).epsilon(1e-12));
      ++compared;
    }
  }
  CHECK(compared == 3);
}
