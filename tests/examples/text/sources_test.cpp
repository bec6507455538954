#include "text/sources.hpp"

#include <string>
#include <vector>

#include "catch.hpp"
#include "corpus/corpus.hpp"
#include "examples/programs.hpp"
#include "examples/text/texts.hpp"
#include "text/ding.hpp"

using namespace examples;
using namespace examples::text;

namespace {

/// What the options read, or the error that they give.
std::string read(std::vector<const char*> arguments, Corpus& corpus) {
  arguments.insert(arguments.begin(), "example");
  return usage_error([&] {
    CommandLine options("example", "An example.");
    DataOptions data(options);
    options.parse(static_cast<int>(arguments.size()), arguments.data());
    corpus = data.read();
  });
}

std::string numbered(const char* word, int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += std::string(word) + ' ' + std::to_string(i) + ".\n";
  return lines;
}

}  // namespace

TEST_CASE("sources: two files, one file with tabs, or the dictionary") {
  const TemporaryFolder folder("sources");
  const std::string de = write_into(folder, "a.de", numbered("Satz", 200) + "\n"),
                    en = write_into(folder, "a.en", numbered("Sentence", 200) + "\n");
  const std::string two = write_into(folder, "two", "eins\n\n");
  Corpus corpus;
  REQUIRE(read({"--src", de.c_str(), "--tgt", en.c_str()}, corpus) == "no error");
  CHECK(corpus.name == de + ", " + en);
  CHECK(corpus.valid.size() > 0);  // held out
  CHECK(corpus.train.size() + corpus.valid.size() == 200);
  CHECK(corpus.test.size() == 0);
  CHECK(corpus.report.front() == "train: 201 pairs read, 200 kept; dropped: 1 empty, 0 too long, 0 of unlike lengths");
  REQUIRE(read({"--src", de.c_str(), "--tgt", en.c_str(), "--valid-src", two.c_str(), "--valid-tgt", two.c_str(), "--test-src", two.c_str(),
                "--test-tgt", two.c_str()},
               corpus) == "no error");
  CHECK(corpus.train.size() == 200);
  CHECK(corpus.valid.size() == 2);  // an empty line is a line
  CHECK(corpus.test.size() == 2);
  const std::string tsv = write_into(folder, "a.tsv", "eins\tone\nzwei\ttwo\n");
  REQUIRE(read({"--tsv", tsv.c_str()}, corpus) == "no error");
  CHECK(corpus.train.size() + corpus.valid.size() == 2);
  const std::string ding = write_into(folder, "ding", "Das Brot ist fertig. :: The bread is ready.\n"), named = "ding:" + ding;
  REQUIRE(read({"--data", named.c_str()}, corpus) == "no error");
  CHECK(corpus.name == ding);
  CHECK(corpus.train.target == std::vector<std::string>{"The bread is ready."});
  // Training sentences of the dictionary are cleaned as those of files are; an only pair is trained on, whatever its hash says.
  const std::string more =
                        write_into(folder, "more",
                                   "Das Brot ist fertig. :: The bread is ready.\n"
                                   "Das ist es ja gerade. :: That is just what I have been trying to tell all of you since this morning.\n"
                                   "Der Zug nach Köln fährt um 3 Uhr. :: The train leaves at three.\n"),
                    from_more = "ding:" + more;
  REQUIRE(read({"--data", from_more.c_str(), "--max-characters", "30"}, corpus) == "no error");
  CHECK(corpus.train.target == std::vector<std::string>{"The bread is ready."});
  CHECK(corpus.valid.size() == 1);  // line n of a text to validate on stays line n
  CHECK(corpus.report.back() == "train: 2 pairs read, 1 kept; dropped: 0 empty, 1 too long, 0 of unlike lengths");
  CHECK_THAT(read({"--data", from_more.c_str(), "--max-characters", "5"}, corpus), Contains("no pair of sentences is left: 2 pairs read"));
  const std::string one = write_into(folder, "one.tsv", "Der Zug nach Köln fährt um 3 Uhr.\tThe train leaves at three.\n");
  REQUIRE(frozen_part("Der Zug nach Köln fährt um 3 Uhr.") == Part::valid);
  REQUIRE(read({"--tsv", one.c_str()}, corpus) == "no error");
  CHECK(corpus.train.size() == 1);
  CHECK(corpus.valid.size() == 0);
}

TEST_CASE("sources: sentences that the grammar makes, the same ones from the same seed") {
  const Corpus corpus = generated_corpus(generated_examples(2000, 1));
  CHECK(corpus.train.size() == 2000);
  CHECK(corpus.valid.size() == 500);
  CHECK(corpus.test.size() == 500);
  CHECK(corpus.report == std::vector<std::string>{"generated: 2000 pairs to learn from, 500 to validate on, 500 to test on"});
  const Corpus again = generated_corpus(generated_examples(2000, 1)), other = generated_corpus(generated_examples(2000, 2));
  CHECK(again.train.source == corpus.train.source);
  CHECK(again.test.target == corpus.test.target);
  CHECK(other.train.source != corpus.train.source);
  CHECK(overlap(corpus.train, corpus.test).sources == 0);
}

TEST_CASE("sources: options that miss their other half or exclude each other") {
  Corpus corpus;
  CHECK(read({}, corpus) == "which text? Give --src and --tgt, --tsv or --data");
  CHECK(read({"--src", "a"}, corpus) == "--src goes with --tgt: give both or neither");
  CHECK(read({"--tgt", "a"}, corpus) == "--tgt goes with --src: give both or neither");
  CHECK(read({"--tsv", "a", "--valid-tgt", "b"}, corpus) == "--valid-tgt goes with --valid-src: give both or neither");
  CHECK(read({"--src", "a", "--tgt", "b", "--data", "ding"}, corpus) == "--src and --tgt, --tsv and --data exclude each other: give one");
  CHECK(read({"--data", "news"}, corpus) == "--data is ding or ding:FILE; got 'news'");
  CHECK(read({"--data", "ding", "--test-src", "a", "--test-tgt", "b"}, corpus) ==
        "--data has texts of its own to validate and test on: leave --valid-src and --test-src out");
  CHECK_THAT(read({"--tsv", "/nowhere/a.tsv"}, corpus), StartsWith("/nowhere/a.tsv: No such file"));
}

TEST_CASE("corpus: lengths, words and how subwords spell them") {
  const corpus::Spread spread = corpus::spread({5, 1, 3, 2, 4, 100});
  CHECK(spread.str() == "mean 19.2, median 3, 95 % up to 100, longest 100");
  CHECK(corpus::spread({7}).str() == "mean 7.0, median 7, 95 % up to 7, longest 7");
  CHECK(corpus::spread({}).longest == 0);
  std::vector<std::int64_t> hundred;
  for (std::int64_t i = 1; i <= 100; ++i) hundred.push_back(i);
  CHECK(corpus::spread(hundred).most == 95);
  const corpus::Side side = corpus::describe({"der Hund  der", "", "größer"});
  CHECK(side.words == 4);
  CHECK(side.kinds == 3);
  CHECK(side.characters.longest == 13);  // characters, not bytes
  const Subwords subwords = Subwords::train(german_lines(), {.size = 360});
  const corpus::Spelling spelling = corpus::describe({"Der Hund"}, subwords);
  CHECK(spelling.ids_a_word == static_cast<double>(subwords.encode("Der Hund").size()) / 2);
  CHECK(spelling.bytes_share == 0);
  CHECK(corpus::describe({"\xE4\xBD\xA0"}, subwords).bytes_share == 0.75);  // a space and three bytes
}

TEST_CASE("corpus: the program tells what is there, and what is wrong in one line") {
  const TemporaryFolder folder("corpus");
  std::string de, en;
  for (const std::string& line : german_lines()) de += line + '\n';
  for (const std::string& line : english_lines()) en += line + '\n';
  const std::string files = " --src " + write_into(folder, "a.de", de + "\n") + " --tgt " + write_into(folder, "a.en", en + "\n");
  const Outcome told = run("$BIN/corpus --samples 2" + files + " --test-src " + (folder / "a.de") + " --test-tgt " + (folder / "a.en"));
  INFO(told.text);
  CHECK(told.status == 0);
  CHECK_THAT(told.text, Contains("train: 126 pairs read, 125 kept; dropped: 1 empty") && Contains("test, 126 pairs") &&
                            Contains("of 126 pairs stand in the training text (line ") && Contains("subwords, ") && Contains("% padding") &&
                            Contains("\n  The ") && Contains("ids a word"));
  CHECK(run("$BIN/corpus" + files + " --separate").status == 0);
  const Outcome generated = run("$BIN/corpus --pairs 500 --samples 1");
  CHECK(generated.status == 0);
  CHECK_THAT(generated.text, StartsWith("generated sentences\n") && Contains("train, 500 pairs"));
  const struct {
    std::string arguments, said;
  } wrong[] = {{"--data news", "--data is ding or ding:FILE"},
               {"--src " + (folder / "a.de") + " --tgt " + write_into(folder, "short", "one\n"), "has 126 lines"},
               {files + " --vocabulary 270", "need a vocabulary of at least"},
               {files + " --tokens 2", "--tokens 2: every pair has a side that is too long for a batch"},
               {"--data ding:" + (folder / "a.de"), "there are no sentences in it"}};
  for (const auto& [arguments, said] : wrong) {
    const Outcome outcome = run("$BIN/corpus " + arguments + " >/dev/null");
    INFO(outcome.text);
    CHECK(outcome.status == 2);
    CHECK(one_line(outcome.text));
    CHECK_THAT(outcome.text, Contains(said));
  }
}
