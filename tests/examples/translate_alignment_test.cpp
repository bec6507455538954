#include <string>
#include <vector>

#include "catch.hpp"
#include "examples/programs.hpp"
#include "translate/alignment.hpp"

using namespace examples;
using namespace examples::translate;
using tapeform::Array;

namespace {

/// Two words of two and one pieces and eos, translated by two words of one and two pieces; the second head looks elsewhere.
const PiecedPair pair{.source = {4, 5, 6, 2}, .target = {7, 8, 9}, .source_words = {0, 0, 1, -1}, .target_words = {0, 1, 1}};
const Array weights = Array::of({2, 4, 4}, {0.5,  0.25, 0.25, 0,    // the first word
                                            0.25, 0,    0.25, 0.5,  // the second's first piece
                                            0,    0.5,  0.5,  0,    // and its second
                                            0,    0,    0,    1,    // eos
                                            0,    0,    0,    1,    //
                                            0,    0,    1,    0,    //
                                            0,    0,    1,    0,    //
                                            1,    0,    0,    0});

}  // namespace

TEST_CASE("translate: a piece belongs to a word between spaces, one of spaces alone and a special one to none") {
  const auto words = [](std::vector<std::string> surfaces) { return words_of_pieces(surfaces); };
  CHECK(words({" Hau", "s", " ist", "."}) == std::vector<int>{0, 0, 1, 1});
  CHECK(words({"Haus", " ", "ist", ""}) == std::vector<int>{0, -1, 1, -1});
  CHECK(words({" ", " ", "a", "", "b", "\t", "\xC3", "\xBC"}) == std::vector<int>{-1, -1, 0, -1, 0, -1, 1, 1});
  CHECK(words({}).empty());
}

TEST_CASE("translate: a word's weights are summed over its source pieces and averaged over its target pieces") {
  CHECK(word_weights(weights, 0, pair).to_vector() == std::vector<double>{0.75, 0.25, 0.375, 0.375});
  CHECK(word_weights(weights, 0, pair).shape() == tapeform::Shape{2, 2});
  CHECK(word_weights(weights, 1, pair).to_vector() == std::vector<double>{0, 0, 0, 1});
  CHECK(text::pharaoh(word_links(weights, 0, pair)) == "0-0 0-1");  // of equals the first
  CHECK(text::pharaoh(word_links(weights, 1, pair)) == "1-1");      // who looks at eos alone is aligned with nothing
  CHECK(word_links(weights, 0, {.source = {2}, .target = {7}, .source_words = {-1}, .target_words = {0}}).sure.empty());
}

TEST_CASE("translate: the head that aligns words best is kept in the run's folder, told, and used by every command") {
  const Outcome outcome = in_folder(
      "$BIN/translate train --pairs 200 --vocabulary 500 --encoder-layers 1 --decoder-layers 2 --width 16 --heads 2 --ffn 32 --tokens 400 "
      "--warmup 20 --epochs 1 --out run >train.txt 2>&1; grep -o 'words are aligned best by cross-attention layer . head .' train.txt; "
      "cat run/alignment.json; $BIN/translate info run | grep aligned; cp -r run old; rm old/alignment.json; "
      "printf 'Der Hund schläft .\\n' >in.txt; $BIN/translate run --alignments <in.txt >new.txt && $BIN/translate old --alignments <in.txt "
      ">mean.txt && grep -cE '^[^|]* \\|\\|\\| ([0-9]+-[0-9]+( [0-9]+-[0-9]+)*)?$' new.txt mean.txt; "
      "$BIN/translate test run --beam 1 >with.txt && $BIN/translate test old --beam 1 >without.txt && cmp with.txt without.txt && cmp "
      "run/alignment.json "
      "old/alignment.json && echo chosen again; "
      "echo '{\"layer\": 1, \"head\": 1, \"valid_error_rate\": 0.5, \"weights\": \"best.safetensors\"}' >run/alignment.json; "
      "$BIN/translate plot run 'Der Hund schläft .' -o page.html --svg head.svg --heads-svg heads.svg --effects | tail -12; "
      "grep -o '\"chosen\":[^p]*' page.html; grep -oc 'class=\"h\"' heads.svg; grep -o '>[^<]*layer 1, head 1[^<]*<' head.svg; "
      "$BIN/translate plot run x --head 2; echo status $?; "
      "for bad in '{\"layer\": 2, \"head\": 0, \"valid_error_rate\": 0, \"weights\": \"\"}' '{\"layer\": \"1\"}' '[' ''; do "
      "echo \"$bad\" >run/alignment.json; $BIN/translate run <in.txt; echo status $?; done");
  INFO(outcome.text);
  CHECK_THAT(outcome.text, Contains("words are aligned best by cross-attention layer ") && Contains("{\"layer\":") &&
                               Contains("on the validation set, by best.safetensors") && Contains("new.txt:1\nmean.txt:1\n") &&
                               Contains("chosen again"));
  CHECK_THAT(outcome.text,
             Contains("log-probability of the translation without a head") &&
                 Contains("\"chosen\":[[\"shown\",\"all\"],[\"kind\",\"cross-attention\"],[\"layer\",\"1\"],[\"head\",\"1\"]]") &&
                 Contains("\n4\n") && Contains(">cross-attention, layer 1, head 1<") &&
                 Contains(">gradient × attention: cross-attention, layer 1, head 1 (±"));
  CHECK_THAT(outcome.text, Contains("translate: the model has no cross-attention layer 1 head 2: 2 layers of 2 heads") &&
                               Contains("alignment.json: the model has no cross-attention layer 2 head 0: 2 layers of 2 heads") &&
                               Contains("alignment.json is no alignment head: it needs layer, head, valid_error_rate and weights"));
  std::size_t refused = 0;
  for (std::size_t at = 0; (at = outcome.text.find("\nstatus 2", at)) != std::string::npos; ++at) ++refused;
  CHECK(refused == 5);
}
