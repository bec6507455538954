#include "text/bootstrap.hpp"

#include <tapeform/core/error.hpp>

#include <algorithm>

#include "catch.hpp"
#include "message.hpp"
#include "text/bleu.hpp"
#include "text/numpy_random.hpp"
#include "text/ter.hpp"

using namespace examples::text;
using Lines = std::vector<std::string>;

TEST_CASE("numpy's generator: default_rng(12345).integers(0, 40, 10) and others") {
  const auto drawn = [](std::uint32_t seed, std::uint32_t n) {
    NumpyRandom random(seed);
    std::vector<std::uint32_t> numbers;
    for (int i = 0; i < 10; ++i) numbers.push_back(random.below(n));
    return numbers;
  };
  CHECK(drawn(12345, 40) == std::vector<std::uint32_t>{27, 9, 31, 12, 8, 31, 25, 27, 39, 15});
  CHECK(drawn(0U, 1000U) == std::vector<std::uint32_t>{850U, 636U, 511U, 269U, 307U, 40U, 75U, 16U, 175U, 813U});
  CHECK(drawn(4294967295U, 3000000000U) == std::vector<std::uint32_t>{657197388U, 2728677138U, 861854160U, 640068962U, 1856943907U,
                                                                      2121661999U, 2805036872U, 395285850U, 2534465769U, 1695825973U});
  CHECK(drawn(1, 1) == std::vector<std::uint32_t>(10, 0));
}

TEST_CASE("bootstrap: an interval around the score, the same from the same seed") {
  const Lines hypotheses = {"a b c d e", "a b c x e", "f g h", "a a b b", "c d e f g"},
              references = {"a b c d e", "a b c d e", "f g i", "a b", "c d e f g h"};
  const std::vector<Lines> streams = {references};
  const MetricCounts counts = bleu_counts(hypotheses, streams);
  const Interval one = confidence_interval(counts, {.samples = 200}), again = confidence_interval(counts, {.samples = 200}),
                 other = confidence_interval(counts, {.samples = 200, .seed = 7});
  CHECK(one.score == bleu(hypotheses, references).score);
  CHECK(one.mean == again.mean);
  CHECK(one.half_width == again.half_width);
  CHECK(one.mean != other.mean);
  CHECK(one.half_width > 1);
  const std::vector<double> scores = bootstrap_scores(counts, {.samples = 200});
  REQUIRE(scores.size() == 200);
  std::vector<double> sorted = scores;
  std::ranges::sort(sorted);
  CHECK(one.half_width == (sorted[194] - sorted[5]) / 2);
  CHECK(Interval{1, 65.587, 8.564}.text() == "(μ = 65.59 ± 8.56)");
  CHECK(resampling_field({}) == "bs:1000|seed:12345");
  CHECK(message<tapeform::ValueError>([&] { bootstrap_scores(counts, {.samples = 0}); }) ==
        "bootstrap: at least one sample is needed; got 0");
}

TEST_CASE("bootstrap: a clear difference is significant, none is not") {
  Lines references, good, bad;
  for (int i = 0; i < 60; ++i) {
    const std::string n = std::to_string(i);
    references.push_back("the word " + n + " stands here now");
    good.push_back(i % 10 == 0 ? "the word stands here now" : references.back());
    bad.push_back(i % 2 == 0 ? "a word " + n + " is here" : references.back());
  }
  const std::vector<Lines> streams = {references};
  const MetricCounts of_good = bleu_counts(good, streams), of_bad = bleu_counts(bad, streams);
  const PairedTest clear = paired_bootstrap(of_bad, of_good);
  CHECK(clear.p == 1.0 / 1001);
  CHECK(clear.system.score > clear.baseline.score);
  CHECK(paired_bootstrap(of_good, of_good).p == 1.0 / 1001 * 1);  // no difference at all in any sample
  CHECK(message<tapeform::ValueError>([&] { paired_bootstrap(of_good, ter_counts(bad, streams)); }) ==
        "paired test: both systems must be scored alike on the same sentences; got 60 sentences by "
        "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0, 60 by "
        "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0");
}
