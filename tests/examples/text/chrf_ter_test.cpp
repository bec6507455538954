#include <tapeform/core/error.hpp>

#include "catch.hpp"
#include "message.hpp"
#include "text/chrf.hpp"
#include "text/ter.hpp"
#include "text/ter_edits.hpp"

using namespace examples::text;
using Lines = std::vector<std::string>;

TEST_CASE("chrF: by hand on characters and words") {
  // Characters of "abc" against "abd": 2 of 3, 1 of 2, 0 of 1; no n-gram is longer.
  const double p = (2.0 / 3 + 1.0 / 2 + 0) / 3;
  CHECK(chrf(Lines{"a bc"}, Lines{"ab d"}).score == Catch::Approx(100 * p).epsilon(1e-14));
  // Words: "a" "bc" against "a" "bd": 1 of 2 and 0 of 1.
  const double pw = (2.0 / 3 + 1.0 / 2 + 0 + 1.0 / 2 + 0) / 5;
  CHECK(chrf(Lines{"a bc"}, Lines{"a bd"}, {.words = 2}).score == Catch::Approx(100 * pw).epsilon(1e-14));
  // Of 1 character all is right, of 3 wanted a third is there: F2 leans to recall.
  const double precision = 1, recall = 1.0 / 3;
  CHECK(chrf(Lines{"a"}, Lines{"abc"}, {.characters = 1}).score ==
        Catch::Approx(100 * 5 * precision * recall / (4 * precision + recall)).epsilon(1e-14));
  CHECK(chrf(Lines{"a"}, Lines{"abc"}, {.characters = 1, .beta = 1}).score == Catch::Approx(50).epsilon(1e-14));
}

TEST_CASE("chrF: names, signatures, case, white space, marks, several references") {
  const Lines upper = {"Grüße ÄB"}, lower = {"grüße äb"};
  CHECK(chrf(upper, lower, {.lower_case = true}).score == Catch::Approx(100).epsilon(1e-14));
  CHECK(chrf(upper, lower).score < 50);
  CHECK(chrf(upper, lower).text() == "chrF2 = 28.69");
  CHECK(chrf(upper, lower).signature() == "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0");
  CHECK(chrf(upper, lower, {.words = 2, .beta = 0.5, .lower_case = true, .white_space = true}).name == "chrF0.5++");
  CHECK(chrf(upper, lower, {.words = 2, .lower_case = true, .white_space = true}).signature() ==
        "nrefs:1|case:lc|eff:yes|nc:6|nw:2|space:yes|version:2.6.0");
  CHECK(chrf(Lines{"ab "}, Lines{"ab"}, {.white_space = true}).text() == "chrF2 = 87.50");
  CHECK(chrf(Lines{"end. (x"}, Lines{"end . ( x"}, {.words = 2}).score == Catch::Approx(100).epsilon(1e-14));
  const std::vector<Lines> two = {{"xyz"}, {"abc"}};
  CHECK(chrf(Lines{"abc"}, two).score == Catch::Approx(100).epsilon(1e-14));
  CHECK(chrf(Lines{""}, Lines{""}).score == 0);
  CHECK(chrf(Lines{""}, Lines{"a"}).score == 0);
  CHECK(chrf(Lines{"a"}, Lines{""}).score == 0);
  CHECK(message<tapeform::ValueError>([] { chrf(Lines{"a"}, Lines{"a"}, {.characters = 0}); }) ==
        "chrF: 1 to 16 characters, 0 to 4 words, beta above 0; got characters 0, words 0, beta 2");
}

TEST_CASE("TER: insertions, deletions, replacements and moves by hand") {
  CHECK(translation_edits({1, 2, 3}, {1, 2, 3}) == 0);
  CHECK(translation_edits({1, 2}, {1, 2, 3}) == 1);
  CHECK(translation_edits({1, 2, 3, 4}, {1, 2, 3}) == 1);
  CHECK(translation_edits({1, 9, 3}, {1, 2, 3}) == 1);
  CHECK(translation_edits({3, 4, 5, 1, 2}, {1, 2, 3, 4, 5}) == 1);  // one move instead of four edits
  CHECK(translation_edits({5, 1, 2, 3, 4, 9}, {1, 2, 3, 4, 5}) == 2);
  CHECK(translation_edits({}, {1, 2}) == 2);
  CHECK(translation_edits({1, 2}, {}) == 2);
  CHECK(translation_edits({}, {}) == 0);
}

TEST_CASE("TER: sentences of thousands of words") {
  std::vector<std::int64_t> reference, hypothesis;
  for (std::int64_t i = 0; i < 4000; ++i) reference.push_back(i);
  hypothesis.assign(reference.begin(), reference.end() - 7);
  CHECK(translation_edits(hypothesis, reference) == 7);
  std::swap(hypothesis[100], hypothesis[101]);  // one word moved
  CHECK(translation_edits(hypothesis, reference) == 8);
  CHECK(translation_edits({5}, reference) == 4000);  // the beam of so short a hypothesis lies about the end: its word is not found
  CHECK(translation_edits(reference, {5}) == 3999);
}

TEST_CASE("TER: the example of its authors") {
  const Lines reference = {"SAUDI ARABIA denied THIS WEEK information published in the AMERICAN new york times"};
  const Lines hypothesis = {"THIS WEEK THE SAUDIS denied information published in the new york times"};
  const TerResult result = ter(hypothesis, reference);
  CHECK(result.edits == 4);  // a move, two replacements, an insertion
  CHECK(result.reference_length == 13);
  CHECK(result.text() == "TER = 30.77");
  CHECK(result.signature() == "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0");
}

TEST_CASE("TER: options, several references, empty sentences") {
  CHECK(ter(Lines{"THE cat"}, Lines{"the CAT"}).score == 0);
  CHECK(ter(Lines{"THE cat"}, Lines{"the CAT"}, {.case_sensitive = true}).score == 100);
  CHECK(ter(Lines{"the cat."}, Lines{"the cat ."}, {.normalized = true}).score == 0);
  CHECK(ter(Lines{"the cat's"}, Lines{"the cat 's"}, {.normalized = true}).score == 0);
  CHECK(ter(Lines{"the, cat!"}, Lines{"(the) cat"}, {.punctuation = false}).score == 0);
  const std::vector<Lines> two = {{"a b c d"}, {"a x"}};
  CHECK(ter(Lines{"a b"}, two).score == Catch::Approx(100.0 * 1 / 3).epsilon(1e-14));  // one edit; lengths 4 and 2
  CHECK(ter(Lines{""}, Lines{""}).score == 0);
  CHECK(ter(Lines{"a"}, Lines{""}).score == 100);
  CHECK(ter(Lines{"", "a"}, Lines{"b c", "a"}).score == Catch::Approx(100.0 * 2 / 3).epsilon(1e-14));
}
