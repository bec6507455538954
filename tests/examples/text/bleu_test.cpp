#include "text/bleu.hpp"

#include <tapeform/core/error.hpp>

#include <cmath>

#include "catch.hpp"
#include "common/command_line.hpp"
#include "message.hpp"

using namespace examples::text;
using Lines = std::vector<std::string>;

namespace {

std::string tokenized(const std::string& sentence, Tokenizer tokenizer) {
  std::string joined;
  for (const std::string& word : words(sentence, tokenizer)) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

}  // namespace

TEST_CASE("tokenizers: 13a parts ASCII marks, but not those inside numbers and words") {
  const auto v13a = [](const std::string& sentence) { return tokenized(sentence, Tokenizer::v13a); };
  CHECK(v13a("\"Hi,\" she said: it costs $3.50, 1,000.5... e.g. 5-3 x-ray") ==
        "\" Hi , \" she said : it costs $ 3.50 , 1,000.5 . . . e . g . 5 - 3 x-ray");
  CHECK(v13a("&amp;lt; &quot;q&quot; a<skipped>b c-\nd e\nf") == "< \" q \" ab cd e f");
  CHECK(v13a("a.b .5 5. 5.5.5 ,a, a,,b") == "a . b . 5 5 . 5.5.5 , a , a , , b");
  CHECK(v13a("don't 10-20 -5 5-a") == "don't 10 - 20 -5 5 - a");
  CHECK(v13a("«Ça va?» 3–4 …") == "«Ça va ? » 3–4 …");
  CHECK(v13a("[x] {y} a/b~c^d`e_f\\g|h@i=j+k*l#m%n;o<p>q!") ==
        "[ x ] { y } a / b ~ c ^ d ` e _ f \\ g | h @ i = j + k * l # m % n ; o < p > q !");
  CHECK(v13a(" \t ").empty());
}

TEST_CASE("tokenizers: intl parts by Unicode's classes, char by characters, none at white space") {
  const auto intl = [](const std::string& sentence) { return tokenized(sentence, Tokenizer::intl); };
  CHECK(intl("«Ça va?» 3–4 €5 x²+½ „Ja“ …") == "« Ça va ? » 3–4 € 5 x² + ½ „ Ja “ …");
  CHECK(intl("日本語、テスト。(1.5) x-ray 10-20") == "日本語 、 テスト 。 (1.5 ) x - ray 10-20");
  CHECK(intl("a.b .5 5. ,a,,b") == "a . b . 5 5 . , a , , b");
  CHECK(tokenized("Grüße, 你 x", Tokenizer::character) == "G r ü ß e , 你 x");
  CHECK(tokenized(" a,b\u00a0c\u3000d\x1f"
                  "e ",
                  Tokenizer::none) == "a,b c d e");
  CHECK(tokenizer_named("char") == Tokenizer::character);
  CHECK(name_of(Tokenizer::v13a) == std::string("13a"));
  CHECK(message<tapeform::ValueError>([] { tokenizer_named("zh"); }) == "tokenizer: there are 13a, intl, char and none; got 'zh'");
  CHECK_THROWS_AS(words("a\xff", Tokenizer::v13a), examples::UsageError);
}

TEST_CASE("lower case: by the whole of Unicode") {
  CHECK(lower_case("ÄÖÜ ẞ ΑΣ ΣΑΣ. É") == "äöü ß ας σας. é");
  CHECK(lower_case("İI") == "i\u0307i");
  CHECK(lower_case("ЖԱ") == "жա");
  CHECK_THROWS_AS(lower_case("A\xff"), examples::UsageError);
}

TEST_CASE("BLEU: precisions, brevity penalty, score by hand") {
  // Of 6 words 5 match, of 5 pairs 3, of 4 triples 2, of 3 quadruples 1.
  const BleuResult result = bleu(Lines{"a b c d x f"}, Lines{"a b c d e f g"});
  CHECK(result.matches == std::array<std::int64_t, 4>{5, 3, 2, 1});
  CHECK(result.totals == std::array<std::int64_t, 4>{6, 5, 4, 3});
  CHECK(result.brevity_penalty == std::exp(1 - 7.0 / 6));
  CHECK(result.score == Catch::Approx(100 * std::exp(1 - 7.0 / 6) * std::pow(5.0 / 6 * 3 / 5 * 2 / 4 * 1 / 3, 0.25)).epsilon(1e-14));
  CHECK(result.text() == "BLEU = 45.48 83.3/60.0/50.0/33.3 (BP = 0.846 ratio = 0.857 hyp_len = 6 ref_len = 7)");
  CHECK(result.signature() == "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0");
  CHECK(bleu(Lines{"a b c d", "e f"}, Lines{"a b c d", "e f"}).score == Catch::Approx(100).epsilon(1e-14));
}

TEST_CASE("BLEU: several references: most matches of any, nearest length, the shorter of two") {
  const std::vector<Lines> references = {{"the the cat sat here now"}, {"a cat sat on the mat the"}, {"cat on mat it"}};
  const BleuResult result = bleu(Lines{"the the the cat sat"}, references);
  CHECK(result.matches == std::array<std::int64_t, 4>{4, 3, 2, 1});  // the: twice at most
  CHECK(result.reference_length == 4);                               // 4 and 6 are equally near to 5
  CHECK(result.brevity_penalty == 1);
  CHECK(result.signature().starts_with("nrefs:3|"));
}

TEST_CASE("BLEU: every kind of smoothing, with and without effective order") {
  const Lines hypothesis = {"a b x y z"}, reference = {"a b c d e"};
  const auto score = [&](Smoothing smoothing, double value = -1) {
    return bleu(hypothesis, reference, {.smoothing = smoothing, .smoothing_value = value}).score;
  };
  CHECK(score(Smoothing::none) == 0);
  CHECK(score(Smoothing::exponential) == Catch::Approx(100 * std::pow(2.0 / 5 * 1 / 4 * 1 / (2 * 3) * 1 / (4 * 2), 0.25)).epsilon(1e-14));
  CHECK(score(Smoothing::floor) == Catch::Approx(100 * std::pow(2.0 / 5 * 1 / 4 * 0.1 / 3 * 0.1 / 2, 0.25)).epsilon(1e-14));
  CHECK(score(Smoothing::floor, 0.5) == Catch::Approx(100 * std::pow(2.0 / 5 * 1 / 4 * 0.5 / 3 * 0.5 / 2, 0.25)).epsilon(1e-14));
  CHECK(score(Smoothing::add_k) == Catch::Approx(100 * std::pow(2.0 / 5 * 2 / 5 * 1 / 4 * 1 / 3, 0.25)).epsilon(1e-14));
  CHECK(score(Smoothing::add_k, 2) == Catch::Approx(100 * std::pow(2.0 / 5 * 3 / 6 * 2 / 5 * 2 / 4, 0.25)).epsilon(1e-14));
  const auto two_words = [](bool effective) { return bleu(Lines{"a b"}, Lines{"a b c"}, {.effective_order = effective}).score; };
  CHECK(two_words(false) == 0);
  CHECK(two_words(true) == Catch::Approx(100 * std::exp(-0.5)).epsilon(1e-14));
  const BleuOptions floor = {.tokenizer = Tokenizer::none, .lower_case = true, .smoothing = Smoothing::floor, .effective_order = true};
  CHECK(bleu(hypothesis, reference, floor).signature() == "nrefs:1|case:lc|eff:yes|tok:none|smooth:floor[0.10]|version:2.6.0");
  CHECK_THAT(bleu(hypothesis, reference, {.smoothing = Smoothing::add_k}).signature(), Contains("smooth:add-k[1.00]"));
  CHECK(smoothing_named("add-k") == Smoothing::add_k);
  CHECK(message<tapeform::ValueError>([] { smoothing_named("mteval"); }) ==
        "smoothing: there are exp, floor, add-k and none; got 'mteval'");
}

TEST_CASE("BLEU: empty hypotheses and references") {
  CHECK(bleu(Lines{"", ""}, Lines{"a", "b"}).text() == "BLEU = 0.00 0.0/0.0/0.0/0.0 (BP = 0.000 ratio = 0.000 hyp_len = 0 ref_len = 2)");
  CHECK(bleu(Lines{"a"}, Lines{""}).text() == "BLEU = 0.00 0.0/0.0/0.0/0.0 (BP = 1.000 ratio = 0.000 hyp_len = 1 ref_len = 0)");
  CHECK(bleu(Lines{""}, Lines{""}).brevity_penalty == 1);
  CHECK(bleu(Lines{"", "a b c d"}, Lines{"x", "a b c d"}).score == Catch::Approx(100 * std::exp(-0.25)).epsilon(1e-14));
}

TEST_CASE("BLEU: the counts of sentences add up to the corpus") {
  const Lines hypotheses = {"a b c d e", "b c", "x"}, references = {"a b c d", "b c d", "y z"};
  const std::vector<Lines> streams = {references};
  const MetricCounts counts = bleu_counts(hypotheses, streams);
  CHECK(counts.sentences() == 3);
  CHECK(counts.row(1)[0] == 2);
  CHECK(counts.row(1)[1] == 3);
  CHECK(counts.score(counts.sums()) == bleu(hypotheses, references).score);
  CHECK(counts.signature("bs:1000|seed:12345") == "nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0");
}

TEST_CASE("BLEU: a corpus that does not fit says what is wrong") {
  using tapeform::ValueError;
  CHECK(message<ValueError>([] {
          bleu(Lines{"a", "b"}, Lines{"a"});
        }) == "BLEU: every hypothesis needs its reference; got 2 hypotheses, 1 references");
  CHECK(message<ValueError>([] { bleu(Lines{}, Lines{}); }) == "BLEU: a corpus has at least one sentence; got none");
  CHECK(message<ValueError>([] { bleu(Lines{"a"}, std::vector<Lines>{}); }) == "BLEU: a hypothesis needs a reference; got none");
}

TEST_CASE("TX-03: a precision of zero is a BLEU of zero", "[case]") {
  const BleuResult result = bleu(Lines{"a x y z w"}, Lines{"a b c d e"}, {.smoothing = Smoothing::none});
  CHECK(result.precisions == std::array<double, 4>{20, 0, 0, 0});
  CHECK(result.score == 0);
}
