#include <string>

#include "catch.hpp"
#include "examples/programs.hpp"

namespace {

/// A run of seconds, with everything in it that a state can hold.
const std::string small =
    "$BIN/translate train --quiet --pairs 200 --vocabulary 500 --encoder-layers 1 --decoder-layers 1 --width 16 --heads 2 --ffn 32 "
    "--tokens 400 --accumulate 2 --warmup 20 --average 2 ";

double number_behind(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  REQUIRE(at != std::string::npos);
  return std::stod(text.substr(at + mark.size()));
}

}  // namespace

TEST_CASE("translate: a run of a minute on generated sentences is far above both baselines", "[slow]") {
  const Outcome outcome =
      in_folder("$BIN/translate train --quiet --pairs 20000 --updates 1200 --save-every 2000 --out run && $BIN/translate test run");
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  const double bleu = number_behind(outcome.text, "\nBLEU = ");
  CHECK(bleu > 40 + number_behind(outcome.text, "for comparison: "));
  CHECK(bleu > 20 + number_behind(outcome.text, "for the sources as they are, "));
}

TEST_CASE("translate: a run's folder holds what its table says, and every command reads it") {
  const Outcome outcome = in_folder(small +
                                    "--epochs 4 --out run && test $(grep -c valid_loss run/log.jsonl) = 4 && ls run && cat run/README.txt "
                                    "&& head -1 run/log.csv && $BIN/translate info run && "
                                    "printf 'Der Hund schläft .\\n\\nDer Mann sieht die Frau .' | $BIN/translate run | wc -l && "
                                    "$BIN/translate average run best.safetensors average.safetensors --out mean.safetensors && "
                                    "$BIN/translate test run --weights mean.safetensors && "
                                    "$BIN/translate plot run 'Der Hund schläft .' -o page.html && grep -c '<html' page.html");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  for (const char* file : {"README.txt", "average.safetensors", "alignment.json", "best.safetensors", "config.txt", "last.safetensors",
                           "log.csv", "log.jsonl", "subwords.source.model", "subwords.target.model"})
    CHECK_THAT(outcome.text, Contains(std::string(file) + "\n"));
  CHECK_THAT(outcome.text, Contains("translate resume") && Contains("update,epoch,loss,lr") && Contains("\n3\n") &&
                               Contains("mean of 2 files") && Contains("BLEU = ") && Contains("alignment error rate: "));
}

TEST_CASE("translate: a run that is killed and resumed ends with the bits of one that was not", "[slow]") {
  const Outcome outcome = in_folder(
      "kill_after() { while kill -0 $pid && ! test -e run/last.safetensors; do sleep 0.02; done; sleep $1; kill -9 $pid; wait $pid; test "
      "$? "
      "= 137 && echo killed; } 2>/dev/null; " +
      small + "--epochs 6 --out whole >/dev/null; " + small + "--epochs 6 --save-every 1 --out run >/dev/null & pid=$!; kill_after 0.11; " +
      "for pause in 0.33 0.57; do $BIN/translate resume run --quiet >/dev/null & pid=$!; kill_after $pause; done; "
      "$BIN/translate resume run --quiet && for file in last best average; do cmp whole/$file.safetensors run/$file.safetensors || exit 1; "
      "done; "
      "test $(grep -c bleu run/log.jsonl) = 6 && ls run");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.text, Contains("killed") && !Contains(".part"));
}

TEST_CASE("translate: Ctrl-C ends after the update, saves and says how to go on; one and two threads give the same bits") {
  const Outcome outcome =
      in_folder(small + "--epochs 4 --threads 1 --out whole >/dev/null; " + small +
                "--epochs 4 --threads 2 --save-every 1 --out run >stopped.txt & pid=$!; "
                "while kill -0 $pid && ! test -e run/last.safetensors; do sleep 0.02; done; kill -INT $pid; wait $pid; cat stopped.txt; "
                "$BIN/translate resume run --quiet --threads 2 && cmp whole/last.safetensors run/last.safetensors && cmp "
                "whole/average.safetensors run/average.safetensors");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.text, Contains("interrupted and saved: go on with 'translate resume run'"));
}

TEST_CASE("translate: on a full disk the training goes on, and the last good state stays") {
  // Files of more than 40 kB cannot be written: the log and the vocabulary fit, the state does not.
  const Outcome outcome = in_folder(
      "trap '' XFSZ; " + small +
      "--epochs 1 --out run >/dev/null && cp run/last.safetensors before && "
      "sed -i 's/^updates = .*/updates = 12/' run/config.txt; ulimit -f 40; "
      "$BIN/translate resume run --quiet; echo status $?; ulimit -f unlimited 2>/dev/null; cmp before run/last.safetensors && ls run && "
      "sed -i 's/^smoothing = .*/smoothing = 0.25/' run/config.txt; $BIN/translate resume run; echo status $?");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.text, Contains("translate: the run goes on, not saved: ") && Contains("status 1") &&
                               Contains("and now it says 'smoothing = 0.25'") && Contains("status 2") && !Contains(".part"));
}

TEST_CASE("translate: hostile input is translated or named") {
  const Outcome outcome = in_folder(
      small +
      "--epochs 1 --out run >/dev/null; "
      "{ printf '\\n   \\n\\r\\n\\342\\200\\256abc\\n\\0\\0\\n'; head -c 20000 /dev/zero | tr '\\0' x; printf "
      "'\\n\\360\\237\\230\\200\\n▁▁</s><s>'; } >hostile.txt; "
      "$BIN/translate run <hostile.txt >out.txt && wc -l <out.txt && printf 'gut\\n\\377\\n' | $BIN/translate run; echo status $?; "
      "printf 'Der Hund schläft .' | $BIN/translate run --nbest 3 --scores --alignments; : | $BIN/translate run && echo nothing");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.text, Contains("line 6 is too long") && Contains("\n8\n") && Contains("line 2") && Contains("status 2") &&
                               Contains("0 ||| ") && Contains("nothing\n"));
}

TEST_CASE("translate: what the user gets wrong is one line, and exit status 2") {
  const struct {
    const char *command, *named;
  } wrong[] = {{"nowhere", "nowhere: there is no such folder"},
               {"test /", "holds no run: config.txt is missing"},
               {"resume", "DIR"},
               {"train --preset huge", "--preset is tiny, small or base; got 'huge'"},
               {"train --heads 3", "--width must be a multiple of --heads"},
               {"train --share all --separate true", "--share"},
               {"train --budget soon", "--budget is a time such as 90s"},
               {"train --budget 1h --updates 5", "--budget plans the updates"},
               {"train --positions square", "--positions is one of sinusoidal, learned"},
               {"train --src nowhere.de --tgt nowhere.en", "nowhere.de"},
               {"train --src /dev/null", "--tgt"},
               {"train --tsv a --data ding", "exclude each other"},
               {"train --config nowhere.txt", "nowhere.txt"},
               {"train --pairs 200 --out /dev/null/run", "/dev/null/run"}};
  for (const auto& [command, named] : wrong) {
    const Outcome outcome = run(std::string("$BIN/translate ") + command + " --quiet");
    INFO(command << ": " << outcome.text);
    CHECK(outcome.status == 2);
    CHECK(one_line(outcome.text));
    CHECK_THAT(outcome.text, Contains(named));
  }
}

TEST_CASE("translate: text is learned by the small preset, generated sentences by the tiny one, unless another is named") {
  const Outcome outcome = in_folder(
      "for i in $(seq 40); do echo \"der Hund $i schläft\" >>a.de; echo \"the dog $i sleeps\" >>a.en; done; "
      "size='--updates 1 --vocabulary 500 --encoder-layers 1 --decoder-layers 1 --width 16 --heads 2 --ffn 32'; "
      "for more in '--src a.de --tgt a.en --valid-src a.de --valid-tgt a.en' '--pairs 200' "
      "'--src a.de --tgt a.en --valid-src a.de --valid-tgt a.en --preset tiny'; do "
      "rm -rf run; $BIN/translate train --quiet $size $more --out run >/dev/null && grep '^preset' run/config.txt; done");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.text, Contains("preset = \"small\"\npreset = \"tiny\"\npreset = \"tiny\"\n"));
}

TEST_CASE("translate: a config file gives what the command line leaves out, and a run's own begins another like it") {
  const Outcome outcome =
      in_folder(small +
                "--epochs 1 --out run >/dev/null; $BIN/translate train --quiet --config run/config.txt --out twin >/dev/null; "
                "cmp run/last.safetensors twin/last.safetensors && echo twins; echo 'nonsense = 3' >wrong.txt; "
                "$BIN/translate train --config wrong.txt; echo status $?; $BIN/translate train --quiet --out run; echo status $?");
  INFO(outcome.text);
  CHECK_THAT(outcome.text, Contains("twins") && Contains("nonsense") && Contains("holds a run: go on with 'translate resume run'"));
  CHECK_THAT(outcome.text, !Contains("status 0") && !Contains("status 1"));
}
