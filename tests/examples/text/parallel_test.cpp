#include "text/parallel.hpp"

#include <string>
#include <vector>

#include "catch.hpp"
#include "examples/text/texts.hpp"

using namespace examples;
using namespace examples::text;
using Lines = std::vector<std::string>;

TEST_CASE("lines: line feeds alone end them, and the last one needs none") {
  CHECK(split_lines("", "x").empty());
  CHECK(split_lines("\n", "x") == Lines{""});
  CHECK(split_lines("a\nb", "x") == Lines{"a", "b"});
  CHECK(split_lines("a\nb\n", "x") == Lines{"a", "b"});
  CHECK(split_lines("a\n\nb\n\n", "x") == Lines{"a", "", "b", ""});
  CHECK(split_lines("\xEF\xBB\xBF"
                    "a\n\xEF\xBB\xBF"
                    "b",
                    "x") == Lines{"a",
                                  "\xEF\xBB\xBF"
                                  "b"});  // a byte order mark
  // Carriage returns alone, form feeds, U+0085 and U+2028 end no line: both sides of a corpus must be counted alike.
  CHECK(split_lines("a\rb\x0C"
                    "c\xC2\x85"
                    "d\xE2\x80\xA8"
                    "e",
                    "x")
            .size() == 1);
  CHECK(split_lines(std::string("a\0b\nc", 5), "x") == Lines{std::string("a\0b", 3), "c"});
  CHECK(usage_error([] { split_lines("a\nb\xFF", "a.de"); }) == "a.de: line 2 is not valid UTF-8 (byte 0xff at offset 3)");
  CHECK_THAT(usage_error([] {
               split_lines(
                   "\xFF\xFE"
                   "a",
                   "utf16.de");
             }),
             StartsWith("utf16.de: line 1 is not valid UTF-8"));
}

TEST_CASE("lines: what is tidied and what stays") {
  CHECK(tidy_line("  a  b \r") == "a  b");
  CHECK(tidy_line("\xC2\xA0\t\xE3\x80\x80"
                  "a\xE2\x80\x83") == "a");
  CHECK(tidy_line(std::string("a\0b\0", 4)) == "a b");
  CHECK(tidy_line("a\rb") == "a\rb");
  CHECK(tidy_line("\xE2\x80\x8F"
                  "a\xE2\x80\xAE"
                  "b") ==
        "\xE2\x80\x8F"
        "a\xE2\x80\xAE"
        "b");  // direction marks belong to the text
  for (const std::string blank : {"", " ", "\r", "\t \xC2\xA0", "\xE2\x80\x8B\xE2\x80\x8F", "\xEF\xBB\xBF", "\xC2\xAD"})
    CHECK(tidy_line(blank).empty());
  CHECK(tidy_line(std::string(1, '\0')).empty());
}

TEST_CASE("parallel text: pairs are left out for one reason each") {
  const ParallelText text{{"gut", "", "  ", "kurz", std::string(601, 'a'), "Ja.", std::string(600, 'a')},
                          {"good", "empty source", "blank source", " \xE2\x80\x8B", "x", std::string(41, 'b'), std::string(150, 'b')}};
  const CleanText kept = clean(text);
  CHECK(kept.text.source == Lines{"gut", std::string(600, 'a')});
  CHECK(kept.text.target.front() == "good");
  CHECK(kept.report.str() == "7 pairs read, 2 kept; dropped: 3 empty, 1 too long, 1 of unlike lengths");
  CHECK(clean({{"Ja."}, {std::string(40, 'b')}}).report.kept() == 1);  // the shorter side counts as ten characters
  CHECK(clean({{std::string(600, 'a')}, {std::string(149, 'b')}}).report.ratio == 1);
  CHECK(clean({{"\xC3\xA4\xC3\xA4"}, {"b"}}, {.max_characters = 2}).report.kept() == 1);  // characters, not bytes
  const CleanText all = clean(text, CleaningOptions::keep_all());
  CHECK(all.text.size() == 7);
  CHECK(all.report.dropped() == 0);
  CHECK(all.text.source[2].empty());
  CHECK(usage_error([] { clean({{"a"}, {}}); }) == "parallel text: each sentence has one translation; got 1 sentences, 0 translations");
}

TEST_CASE("parallel text: two files") {
  const TemporaryFolder folder("parallel");
  const std::string de = write_into(folder, "a.de", "eins\r\nzwei\r\ndrei"), en = write_into(folder, "a.en", "one\ntwo\nthree\n");
  const CleanText read = read_parallel(de, en);
  CHECK(read.text.source == Lines{"eins", "zwei", "drei"});
  CHECK(read.text.target == Lines{"one", "two", "three"});
  CHECK(read.report.kept() == 3);
  const std::string two = write_into(folder, "b.en", "one\ntwo\n"), one = write_into(folder, "c.en", "one\n");
  CHECK(usage_error([&] { read_parallel(de, two); }) ==
        de + " has 3 lines, " + two + " has 2 lines: line n of one is the translation of line n of the other");
  CHECK_THAT(usage_error([&] { read_parallel(two, one); }), Contains(one + " has 1 line:"));
  CHECK_THAT(usage_error([&] { read_parallel(de, folder / "none"); }), StartsWith(folder / "none") && Contains("No such file"));
  const std::string bad = write_into(folder, "bad.en",
                                     "one\ntwo\nthr\xE9"
                                     "e\n");
  CHECK_THAT(usage_error([&] { read_parallel(de, bad); }), StartsWith(bad + ": line 3 is not valid UTF-8"));
  const std::string nothing = write_into(folder, "nothing", ""), blank = write_into(folder, "blank", " \n\n");
  CHECK(usage_error([&] { read_parallel(nothing, nothing); }) ==
        nothing + " and " + nothing +
            ": no pair of sentences is left: 0 pairs read, 0 kept; dropped: 0 empty, 0 too long, 0 of unlike lengths");
  CHECK_THAT(usage_error([&] { read_parallel(blank, blank); }), Contains("2 pairs read, 0 kept; dropped: 2 empty"));
}

TEST_CASE("parallel text: hostile lines are kept or counted, never lost without a word") {
  const TemporaryFolder folder("parallel");
  const std::string longest(10'000, 'x');
  std::string source("a\0b\n", 4);
  source +=
      "\xE2\x80\xAE"
      "umgekehrt\n";
  source += longest;
  source += "\n   \nletzte";
  const std::string de = write_into(folder, "h.de", source);
  const std::string en = write_into(folder, "h.en", "ab\nturned\n" + longest + "\nspaces\nlast\n");
  const CleanText read = read_parallel(de, en);
  CHECK(read.report.read == 5);
  CHECK(read.report.too_long == 1);
  CHECK(read.report.empty == 1);
  CHECK(read.text.source == Lines{"a b",
                                  "\xE2\x80\xAE"
                                  "umgekehrt",
                                  "letzte"});
}

TEST_CASE("parallel text: one file with tabs") {
  const TemporaryFolder folder("parallel");
  const CleanText read = read_tsv(write_into(folder, "a.tsv", "eins\tone\tCC-BY 1234\r\n zwei \t two\r\n\ndrei\tthree"));
  CHECK(read.text.source == Lines{"eins", "zwei", "drei"});
  CHECK(read.text.target == Lines{"one", "two", "three"});
  CHECK(read.report.str() == "4 pairs read, 3 kept; dropped: 1 empty, 0 too long, 0 of unlike lengths");
  const std::string no_tab = write_into(folder, "b.tsv", "eins\tone\nzwei two\n");
  CHECK(usage_error([&] { read_tsv(no_tab); }) == no_tab + ": line 2 has no tab between a sentence and its translation");
  CHECK_THAT(usage_error([&] { read_tsv(write_into(folder, "c.tsv", "\t\n")); }), Contains("no pair of sentences is left"));
}

TEST_CASE("parallel text: test pairs that stand in training are told") {
  const ParallelText train{{"a", "b", "c"}, {"A", "B", "C"}};
  const Overlap found = overlap(train, {{"x", "b", "a", "y"}, {"X", "B", "Q", "C"}});
  CHECK(found.pairs == 1);
  CHECK(found.sources == 2);
  CHECK(found.targets == 2);
  CHECK(found.str() == "1 of 4 pairs stand in the training text (line 2); 2 of their sources, 2 of their targets");
  CHECK(overlap(train, {{"x"}, {"X"}}).str() == "none of 1 pairs stands in the training text");
  ParallelText many;
  for (int i = 0; i < 7; ++i) many.add("a", "A");
  CHECK(overlap(train, many).str() ==
        "7 of 7 pairs stand in the training text (line 1, 2, 3, 4, 5, …); 7 of their sources, 7 of their targets");
}
