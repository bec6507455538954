#include "text/ding.hpp"

#include <string>
#include <vector>

#include "catch.hpp"
#include "examples/text/texts.hpp"

using namespace examples;
using namespace examples::text;
using Lines = std::vector<std::string>;

TEST_CASE("ding: whole sentences of an entry, without notes, the first of several variants") {
  const DingText found = parse_ding(
      "# a comment :: Das ist keiner. | It is none.\n"
      "Ofen {m} [techn.] | Öfen {pl} | Der Ofen (in der Küche) ist kalt. :: stove; oven [Am.] | stoves | The stove (in the kitchen) is "
      "cold.\n"
      "\n"
      "backen {vt} | Sie backt heute {adv} Brot; Sie bäckt heute Brot. | Wer backt das Brot?; Wer bäckt es? :: to bake | She bakes bread "
      "today. | Who bakes the bread?\n"
      "Das Brot ist fertig [ugs.]. :: The bread is ready /TBR/ .\n",
      "made up");
  CHECK(found.text.source == Lines{"Der Ofen ist kalt.", "Wer backt das Brot?", "Das Brot ist fertig."});
  CHECK(found.text.target == Lines{"The stove is cold.", "Who bakes the bread?", "The bread is ready."});
  CHECK(found.report.str() ==
        "7 parts of entries read, 3 sentences kept; left out: 4 words and phrases, 0 with choices or gaps, 0 repeated; 0 uneven entries");
}

TEST_CASE("ding: each thing that is left out, and why") {
  const auto count = [](const std::string& german, const std::string& english) {
    const DingReport report = parse_ding("Das hier ist gut. :: This here is good.\n" + german + " :: " + english + "\n", "x").report;
    CHECK(report.kept() + report.no_sentence + report.open + report.repeated == report.parts);
    return report;
  };
  CHECK(count("Ein Hund bellt laut.", "A dog barks loudly.").kept() == 2);
  CHECK(count("„Ein Hund bellt laut!“", "“A dog barks loudly!”").kept() == 2);
  CHECK(count("Ärger gibt es immer.", "Trouble comes every day.").kept() == 2);
  for (const auto& [german, english] : {std::pair{"ein Hund bellt laut.", "A dog barks loudly."},
                                        {"Ein Hund bellt laut", "A dog barks loudly."},
                                        {"Ein Hund bellt laut.", "a dog barks loudly."},
                                        {"Hund bellt.", "A dog barks loudly."},
                                        {"Ein Hund bellt laut.", ""},
                                        {"(Ein Hund bellt laut.)", "A dog barks loudly."},
                                        {"„“", "A dog barks loudly."}})
    CHECK(count(german, english).no_sentence == 1);
  for (const auto& [german, english] : {std::pair{"Ein Hund/Wolf bellt laut.", "A dog barks loudly."},
                                        {"Ein Hund bellt laut.", "A dog … barks loudly."},
                                        {"Ein Hund sieht etw. in der Nacht.", "A dog barks loudly."},
                                        {"Ein Hund bellt laut.", "A dog barks at sb.’s house."},
                                        {"Ein Hund ... bellt laut.", "A dog barks loudly."},
                                        {"Ein Hund = bellt laut.", "A dog barks loudly."},
                                        {"Ein Hund (bellt laut.", "A dog barks loudly."}})
    CHECK(count(german, english).open + count(german, english).no_sentence == 1);
  CHECK(count("Das hier ist gut.", "This one is good.").repeated == 1);
  CHECK(count("Dies hier ist gut.", "This here is good.").repeated == 1);
  CHECK(count("Ein Hund bellt laut. | Hunde", "A dog barks loudly.").uneven == 1);
  CHECK(count("Ein Hund bellt laut. :: x", "A dog barks loudly.").uneven == 1);
  CHECK(parse_ding("nur eine Seite\nDas hier ist gut. :: This here is good.", "x").report.uneven == 1);
}

TEST_CASE("ding: a file that is missing, broken or something else is one error") {
  const TemporaryFolder folder("ding");
  CHECK_THAT(usage_error([&] { read_ding(folder / "none"); }),
             Equals((folder / "none") + ": there is no such file; Debian's package trans-de-en brings the dictionary as "
                                        "/usr/share/trans/de-en: apt-get install trans-de-en"));
  CHECK(
      usage_error([] { parse_ding("Haus {n} :: house\n", "dictionary"); }) ==
      "dictionary: there are no sentences in it: 1 parts of entries read, 0 sentences kept; left out: 1 words and phrases, 0 with choices "
      "or gaps, 0 repeated; 0 uneven entries");
  CHECK_THAT(usage_error([] { parse_ding("", "empty"); }), StartsWith("empty: there are no sentences"));
  CHECK_THAT(usage_error([] { parse_ding("a :: b\n\xFF", "bad"); }), StartsWith("bad: line 2 is not valid UTF-8"));
  const std::string path = write_into(folder, "words", "Das Brot ist fertig. :: The bread is ready.\r\n");
  CHECK(read_ding(path).text.target == Lines{"The bread is ready."});
}

TEST_CASE("ding: the split is frozen, and of the sizes that it says") {
  // What is here may not change: figures of one version must be comparable with those of the next.
  const struct {
    const char* sentence;
    Part part;
  } frozen[] = {{"Das Brot ist fertig.", Part::train},
                {"", Part::test},
                {"Der Zug nach Köln fährt um 1 Uhr.", Part::train},
                {"Der Zug nach Köln fährt um 3 Uhr.", Part::valid},
                {"Der Zug nach Graz fährt um 6 Uhr.", Part::test},
                {"Der Zug nach Graz fährt um 10 Uhr.", Part::valid},
                {"Der Zug nach Köln fährt um 13 Uhr.", Part::valid},
                {"Der Zug nach Köln fährt um 15 Uhr.", Part::test}};
  for (const auto& [sentence, part] : frozen) {
    INFO(sentence);
    CHECK(frozen_part(sentence) == part);
  }
  ParallelText text;
  for (int i = 0; i < 32'000; ++i) text.add("Satz " + std::to_string(i) + ".", std::to_string(i));
  const SplitText split = frozen_split(text);
  CHECK(split.train.size() + split.valid.size() + split.test.size() == 32'000);
  CHECK(split.valid.size() > 900);
  CHECK(split.valid.size() < 1100);
  CHECK(split.test.size() > 1850);
  CHECK(split.test.size() < 2150);
  CHECK(split.train.source.front() == "Satz " + split.train.target.front() + ".");
}
