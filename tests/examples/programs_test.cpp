#include <string>

#include "catch.hpp"
#include "examples/programs.hpp"

TEST_CASE("programs: --help lists what every example understands") {
  for (const std::string program : {"copy", "char_lm", "classifier", "corpus"}) {
    const Outcome help = run("$BIN/" + program + " --help");
    CHECK(help.status == 0);
    for (const char* option : {"--seed", "--threads", "--quiet", "--help"}) CHECK_THAT(help.text, Contains(option));
  }
}

TEST_CASE("programs: wrong input is one line that names it, and exit status 2") {
  const struct {
    const char *command, *named;
  } wrong[] = {{"copy --fast", "--fast"},
               {"copy --updates none", "--updates"},
               {"copy --threads 5000", "--threads"},
               {"char_lm --text nowhere.txt", "nowhere.txt"},
               {"char_lm --text /", "/: is a folder"},
               {"char_lm --text /dev/zero", "/dev/zero: holds more than"},
               {"char_lm --heads 3", "heads"},
               {"char_lm --context 5000", "--context"},
               {"char_lm --prompt 中", "U+4E2D"},
               {"char_lm --top-p 1.5", "--top-p"},
               {"char_lm --top-p 0", "--top-p"},
               {"char_lm --temperature nan", "--temperature"},
               {"char_lm --lr nan", "--lr"},
               {"char_lm --lr 0.1x", "--lr"},
               {"char_lm --seed 99999999999999999999", "--seed"},
               {"copy --picture nowhere/picture.svg", "nowhere/picture.svg"},
               {"copy --picture /", "/: is a folder"},
               {"copy --picture ''", "needs a name"},
               {"char_lm --lr 1e-4 --min-lr 1e-3", "--min-lr"}};
  for (const auto& [command, named] : wrong) {
    const Outcome outcome = run(std::string("$BIN/") + command);
    INFO(command << ": " << outcome.text);
    CHECK(outcome.status == 2);
    CHECK(one_line(outcome.text));
    CHECK_THAT(outcome.text, Contains(named));
  }
}

TEST_CASE("programs: a wrong TAPEFORM_THREADS is told before the training") {
  for (const char* threads : {"0", "abc", "1025", "99999999999999999999"}) {
    const Outcome outcome = run(std::string("TAPEFORM_THREADS=") + threads + " $BIN/char_lm --updates 1");
    CHECK(outcome.status == 2);
    CHECK(outcome.text ==
          std::string("char_lm: TAPEFORM_THREADS: a number from 1 to 1024; got '") + threads + "' (--help lists the options)\n");
  }
}

TEST_CASE("programs: a wrong TAPEFORM_ISA is told before the training") {
  for (const char* program : {"char_lm --updates 1", "copy --updates 1", "classifier"}) {
    const Outcome outcome = run(std::string("TAPEFORM_ISA=AVX9 $BIN/") + program);
    CHECK(outcome.status == 2);
    CHECK(one_line(outcome.text));
    CHECK_THAT(outcome.text, Contains(": TAPEFORM_ISA: a vector level; got 'AVX9'. This processor has native, "));
  }
}

TEST_CASE("programs: a run goes on without standard error, and tells when its results are lost") {
  const std::string program = "$BIN/char_lm --updates 2 --layers 1 --width 8 --heads 2 --length 5";
  for (const char* nowhere : {" 2>&-", " 2>/dev/full"}) {
    const Outcome outcome = run(program + nowhere);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, Contains("validation loss:"));
    CHECK(run("$BIN/char_lm --nonsense" + std::string(nowhere)).status == 2);
  }
  for (const char* nowhere : {" >&-", " >/dev/full"}) {
    CHECK(run(program + " --quiet" + nowhere).status == 1);
    CHECK(run("$BIN/copy --help" + std::string(nowhere)).status == 1);
  }
  CHECK_THAT(run(program + " --quiet 2>&1 >/dev/full").text,
             Contains("char_lm: the results could not be written: No space left on device"));
}

TEST_CASE("programs: a picture goes through links and into pipes, and replaces neither") {
  const std::string draw = "$BIN/copy --quiet --updates 1 --sequences 1 --picture ";
  const Outcome link = in_folder("echo old > tapeform_target.svg; ln -sf tapeform_target.svg tapeform_link.svg; " + draw +
                                 "tapeform_link.svg && test -L tapeform_link.svg && grep -c '<svg' tapeform_target.svg");
  CHECK(link.status == 0);
  const Outcome pipe = in_folder("mkfifo tapeform_pipe; { cat tapeform_pipe | grep -q '<svg' && echo drawn; } & " + draw +
                                 "tapeform_pipe; wait; test -p tapeform_pipe");
  CHECK(pipe.status == 0);
  CHECK_THAT(pipe.text, Contains("drawn"));
}

TEST_CASE("programs: bad UTF-8 names the file and the line") {
  const Outcome outcome = in_folder("printf 'one\\nt\\377o' > tapeform_bad.txt; $BIN/char_lm --text tapeform_bad.txt");
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.text, Contains("tapeform_bad.txt: line 2 is not valid UTF-8"));
}

TEST_CASE("programs: a short run prints its results, plain lines where there is no terminal") {
  const Outcome copy = in_folder("$BIN/copy --updates 20 --sequences 5 --picture tapeform_copy.svg");
  CHECK(copy.status == 0);
  CHECK_THAT(copy.text, Contains("update 20/20  loss") && Contains("exact copies:") && Contains("attention picture: tapeform_copy.svg"));
  CHECK_THAT(copy.text, !Contains("\x1b"));
  const Outcome lm = run("$BIN/char_lm --quiet --updates 3 --layers 1 --width 8 --heads 2 --length 5 --prompt The");
  CHECK(lm.status == 0);
  CHECK_THAT(lm.text, Contains("validation loss:") && Contains("\nThe"));
  const Outcome page = in_folder("$BIN/copy --quiet --updates 1 --sequences 1 --picture tapeform_copy.html && cat tapeform_copy.html");
  CHECK_THAT(page.text, Contains("<!DOCTYPE html>") && Contains("cross-attention, layer 1, head 3"));
}

TEST_CASE("programs: Ctrl-C ends after the update, with a summary") {
  const Outcome outcome = in_folder(
      "out=$(mktemp); $BIN/copy --updates 200 --sequences 3 --picture tapeform_copy.svg >$out 2>&1 & pid=$!; "
      "while kill -0 $pid && ! grep -q '^update' $out; do sleep 0.1; done; "  // it trains
      "kill -INT $pid; wait $pid; status=$?; cat $out; rm $out; (exit $status)");
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.text, Contains("stopped after") && Contains("exact copies:"));
}
