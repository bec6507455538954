#include <string>

#include "catch.hpp"
#include "examples/programs.hpp"

namespace {

/// Two small runs, and how they go on.
struct Program {
  std::string name, train, resume;
};
const Program programs[] = {
    {"char_lm", "$BIN/char_lm --quiet --layers 1 --width 8 --heads 2 --context 16 --batch 2 --dropout 0.1 --updates 1000 --length 20",
     "$BIN/char_lm --quiet --length 20"},
    {"copy", "$BIN/copy --quiet --updates 40 --sequences 3 --picture run_files.svg",
     "$BIN/copy --quiet --sequences 3 --picture run_files.svg"}};

}  // namespace

TEST_CASE("programs: a run that is killed and resumed ends with the bits of one that was not", "[slow]") {
  for (const Program& program : programs) {
    INFO(program.name);
    // Killed three times where a save may be going on, and resumed each time from what the last one left.
    const std::string kill_after =
        "kill_after() { while kill -0 $pid && ! test -e run; do sleep 0.02; done; sleep $1; kill -9 $pid; wait $pid; test $? = 137 && echo "
        "killed; } 2>/dev/null; ";
    const Outcome outcome = in_folder(kill_after + program.train + " --save whole >whole.txt; " + program.train +
                                      " --save run --save-every 1 >/dev/null & pid=$!; kill_after 0.11; " + "for pause in 0.13 0.17; do " +
                                      program.resume + " --resume run --save-every 1 >/dev/null & pid=$!; kill_after $pause; done; " +
                                      program.resume + " --resume run >resumed.txt && cmp whole.txt resumed.txt && cmp whole run && ls");
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, Contains("killed") && !Contains(".part"));
  }
}

TEST_CASE("programs: a run that Ctrl-C stopped is saved, and goes on to the same bits", "[slow]") {
  for (const Program& program : programs) {
    INFO(program.name);
    const Outcome outcome =
        in_folder(program.train + " --save whole >whole.txt; " + program.train +
                  " --save run --save-every 7 >stopped.txt & pid=$!; "
                  "while kill -0 $pid && ! test -e run; do sleep 0.02; done; kill -INT $pid; wait $pid && cat stopped.txt && " +
                  program.resume + " --resume run >resumed.txt && cmp whole.txt resumed.txt && cmp whole run");
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, Contains("stopped after"));
  }
}

TEST_CASE("programs: a saved model writes on and copies without training") {
  const Outcome lm = in_folder(
      "$BIN/char_lm --quiet --layers 1 --width 8 --heads 2 --context 16 --updates 3 --length 30 --prompt The --save run >trained && "
      "$BIN/char_lm --load run --length 30 --prompt The >loaded && tail -n +2 trained | cmp - loaded && "
      "$BIN/char_lm --load run --length 30 --prompt The --seed 2 >other && ! cmp -s loaded other");
  INFO(lm.text);
  CHECK(lm.status == 0);
  const Outcome copy = in_folder(
      "$BIN/copy --quiet --updates 2 --sequences 3 --picture a.svg --save run | grep -v picture: >trained && "
      "$BIN/copy --load run --sequences 3 --picture b.svg | grep -v picture: >loaded && cmp trained loaded && cmp a.svg b.svg");
  INFO(copy.text);
  CHECK(copy.status == 0);
}

TEST_CASE("programs: a resumed run may be made longer, and its other options are the file's") {
  const std::string train =
      "$BIN/char_lm --quiet --layers 1 --width 8 --heads 2 --context 16 --length 3 --updates 3 --save run >/dev/null && ";
  const Outcome longer = in_folder(train + "$BIN/char_lm --quiet --resume run --updates 5 --length 3 && $BIN/char_lm --resume run --quiet");
  CHECK(longer.status == 0);
  CHECK_THAT(longer.text, Contains("after 5 updates"));
  const struct {
    const char *options, *said;
  } wrong[] = {{"--resume run --width 16", "char_lm: --width comes from run: leave it out"},
               {"--resume run --seed 2", "char_lm: --seed comes from run: leave it out"},
               {"--load run --lr 0.1", "char_lm: --lr comes from run: leave it out"},
               {"--load run --save other", "char_lm: --load trains nothing: leave --save out"},
               {"--load run --resume run", "char_lm: --load trains nothing: leave --resume out"},
               {"--load nowhere", "char_lm: read_safetensors: the file must be readable; got No such file or directory in \"nowhere\""},
               {"--resume text", "char_lm: read_safetensors: the header must"},
               {"--load run --prompt 中", "U+4E2D"},
               {"--save nowhere/run", "char_lm: nowhere/run: cannot be written"},
               {"--resume run --text text", "/text: has other characters than the text that run was trained on"}};
  std::string commands = train + "for i in $(seq 300); do echo some other text; done >text; ";
  for (const auto& [options, said] : wrong) commands += std::string("$BIN/char_lm ") + options + "; echo status $?; ";
  const Outcome outcome = in_folder(commands + "true");
  INFO(outcome.text);
  std::size_t at = 0;
  for (const auto& [options, said] : wrong) {
    const std::size_t end = outcome.text.find("status 2\n", at);
    REQUIRE(end != std::string::npos);
    CHECK_THAT(outcome.text.substr(at, end - at), Contains(said));
    at = end + 9;
  }
}

TEST_CASE("programs: a save that fails on the way is told, and the training goes on; at the end it is an error") {
  const Outcome outcome =
      in_folder("$BIN/char_lm --quiet --layers 1 --width 8 --heads 2 --context 16 --length 3 --updates 4 --save-every 2 --save /dev/full");
  CHECK(outcome.status == 1);
  CHECK_THAT(outcome.text,
             Contains("char_lm: the run goes on, not saved: save_checkpoint: every byte must be written; got \"No space left on "
                      "device\" for \"/dev/full\"") &&
                 Contains("char_lm: save_checkpoint: every byte must be written"));
}
