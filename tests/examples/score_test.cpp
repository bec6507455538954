#include "score/score.hpp"

#include <tapeform/core/error.hpp>

#include "catch.hpp"
#include "core/files.hpp"
#include "examples/programs.hpp"
#include "message.hpp"

using namespace examples;

namespace {

score::Request two_sentences() {
  score::Request request;
  request.hypotheses = {"the cat sat on the mat", "it rains today"};
  request.references = {{"the cat sat on a mat", "it rains today"}};
  return request;
}

const std::string files =
    "printf 'the cat sat on the mat\\nit rains today\\n' > tapeform_hyp.txt; printf 'the cat sat on a mat\\nit rains today\\n' > "
    "tapeform_ref.txt; ";

}  // namespace

TEST_CASE("score: a line for every metric, as sacreBLEU writes it") {
  score::Request request = two_sentences();
  request.metrics = {"bleu", "chrf", "ter"};
  request.chrf.words = 2;
  CHECK(score::report(request) ==
        "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 59.7 88.9/71.4/60.0/33.3 (BP = 1.000 ratio = 1.000 hyp_len = 9 "
        "ref_len = 9)\n"
        "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 82.9\n"
        "TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0 = 11.1\n");
  request.metrics = {};
  CHECK(message<tapeform::ValueError>([&] { score::report(request); }) == "metrics: there are bleu, chrf and ter; got none");
  request.metrics = {"meteor"};
  CHECK(message<tapeform::ValueError>([&] { score::report(request); }) == "metrics: there are bleu, chrf and ter; got 'meteor'");
}

TEST_CASE("score: sentences, intervals and a baseline") {
  score::Request request = two_sentences();
  request.sentences = true;
  request.confidence = true;
  request.bootstrap.samples = 50;
  const std::string report = score::report(request);
  CHECK_THAT(report, Contains("BLEU of sentence 2 = 100.0\n") && Contains("|bs:50|seed:12345|") && Contains(" (μ = ") && Contains(" ± "));
  request.baseline = {"a dog", "no"};
  CHECK_THAT(score::report(request), Contains("baseline: BLEU|") && Contains("system:   BLEU|") && Contains("BLEU: p = "));
  CHECK_THAT(score::report(request), !Contains("no difference"));
  request.baseline = request.hypotheses;  // sacreBLEU's p is then as low as it goes
  CHECK_THAT(score::report(request), Contains("BLEU: p = 0.0196 (no difference)\n"));
}

TEST_CASE("score: lines end with a line feed alone, and a byte order mark is no part of the first") {
  const TemporaryFolder folder("score");
  write_bytes(folder / "marked",
              "\xEF\xBB\xBF"
              "one\r\ntwo\xE2\x80\xA8three\x0C\n\n \xC2\x85\nlast");
  CHECK(score::read_lines(folder / "marked") == score::Lines{"one", "two\u2028three\x0C", "", " \u0085", "last"});
  write_bytes(folder / "empty", "");
  CHECK(score::read_lines(folder / "empty").empty());
}

TEST_CASE("score: the program reads files and standard input") {
  const Outcome from_file = in_folder(files + "$BIN/score --hypothesis tapeform_hyp.txt --reference tapeform_ref.txt --decimals 2");
  CHECK(from_file.status == 0);
  CHECK_THAT(from_file.text, Contains("version:2.6.0 = 59.69 88.9/71.4/60.0/33.3"));
  const Outcome piped = in_folder(files + "cat tapeform_hyp.txt | $BIN/score --reference tapeform_ref.txt,tapeform_hyp.txt");
  CHECK(piped.status == 0);
  CHECK_THAT(piped.text, Contains("nrefs:2|") && Contains(" = 100.0 "));
  const Outcome aligned = in_folder(
      "printf '0-0 1-1\\n' > tapeform_a.txt; printf '0-0 1?1 2-2\\n' > tapeform_g.txt; "
      "$BIN/score --alignment tapeform_a.txt --gold tapeform_g.txt");
  CHECK(aligned.status == 0);
  CHECK(aligned.text == "AER = 0.2500 (precision = 1.0000 recall = 0.5000 links = 2 sure = 2)\n");
}

TEST_CASE("score: wrong input is one line that names it, and exit status 2") {
  const struct {
    const char *arguments, *named;
  } wrong[] = {
      {"", "--reference is needed"},
      {"--reference nowhere.txt", "nowhere.txt"},
      {"--reference tapeform_ref.txt --hypothesis nowhere.txt", "nowhere.txt"},
      {"--reference tapeform_ref.txt --hypothesis tapeform_one.txt", "lines: 1 in tapeform_one.txt, 2 in tapeform_ref.txt;"},
      {"--reference tapeform_ref.txt --hypothesis /dev/null", "/dev/null: there is no line in it"},
      {"--reference tapeform_ref.txt,tapeform_one.txt --hypothesis tapeform_hyp.txt", "2 in tapeform_hyp.txt, 1 in tapeform_one.txt;"},
      {"--reference tapeform_ref.txt --tokenizer zh", "'zh'"},
      {"--reference tapeform_ref.txt --smoothing mteval", "'mteval'"},
      {"--reference tapeform_ref.txt --hypothesis tapeform_hyp.txt --metrics bleu,meteor", "'meteor'"},
      {"--reference tapeform_ref.txt --hypothesis tapeform_bad.txt", "tapeform_bad.txt: line 1 is not valid UTF-8"},
      {"--alignment tapeform_ref.txt", "--alignment and --gold"},
      {"--alignment tapeform_ref.txt --gold tapeform_ref.txt", "tapeform_ref.txt: line 1: 'the' is not a pair"},
      {"--alignment tapeform_a.txt --gold /dev/null", "got 1 alignments, 0 gold"},
      {"--reference tapeform_ref.txt --hypothesis tapeform_hyp.txt --metrics ,", "got none"},
      {"--reference tapeform_ref.txt --hypothesis tapeform_hyp.txt --baseline /dev/null", "2 in tapeform_hyp.txt, 0 in /dev/null;"},
      {"--reference tapeform_ref.txt --hypothesis tapeform_hyp.txt --seed 4294967297", "--seed of a bootstrap is below 2^32"},
      {"--decimals 20", "--decimals"}};
  for (const auto& [arguments, named] : wrong) {
    const Outcome outcome = in_folder(
        files + "echo one > tapeform_one.txt; printf 'a\\377\\n' > tapeform_bad.txt; printf '0-0\\n' > tapeform_a.txt; $BIN/score " +
        arguments);
    INFO(arguments << ": " << outcome.text);
    CHECK(outcome.status == 2);
    CHECK(one_line(outcome.text));
    CHECK_THAT(outcome.text, Contains(named));
  }
  const Outcome help = run("$BIN/score --help");
  CHECK(help.status == 0);
  for (const char* option : {"--seed", "--threads", "--quiet", "--reference", "--gold"}) CHECK_THAT(help.text, Contains(option));
}
