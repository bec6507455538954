#include "catch.hpp"
#include "char_lm/char_lm.hpp"
#include "common/command_line.hpp"

using namespace tapeform;
using namespace examples;

namespace {

std::u32string repeated(const std::u32string& text, int times) {
  std::u32string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

constexpr char_lm::Recipe small{
    .layers = 1, .heads = 2, .width = 16, .context = 8, .batch = 4, .updates = 150, .warmup = 5, .lr = 1e-2, .min_lr = 1e-3};

}  // namespace

TEST_CASE("char_lm: the last tenth is held out, and a text that is too short says so") {
  const char_lm::Corpus corpus(repeated(U"abcde ", 50), 8, "x");
  CHECK(corpus.train.size() == 270);
  CHECK(corpus.valid.size() == 30);
  CHECK(corpus.alphabet.size() == 6);
  CHECK_THROWS_AS(char_lm::Corpus(U"too short", 8, "x"), UsageError);
  CHECK_THROWS_AS(char_lm::Corpus(U"", 8, "x"), UsageError);
}

TEST_CASE("char_lm: learns a text that repeats, and writes on") {
  const std::u32string text = repeated(U"the tide, ", 60);
  const char_lm::Corpus corpus(text, small.context, "x");
  Rng rng(1);
  nn::CausalLM model = char_lm::make_model(corpus.alphabet.size(), small, rng);
  char_lm::Trainer trainer(model, corpus, small, 1);
  const double before = char_lm::validation_loss(model, corpus.valid, small.context);
  for (int i = 0; i < small.updates; ++i) trainer.update();
  const double after = char_lm::validation_loss(model, corpus.valid, small.context);
  CHECK(before == Catch::Approx(std::log(7.0)).margin(0.2));
  CHECK(after < 0.4);
  Rng sampling(2);
  const std::u32string written = char_lm::write_on(model, corpus.alphabet, U"the ti", sampling, {.max_new_ids = 12, .temperature = 0});
  CHECK(written == U"the tide, the tide");
  CHECK(char_lm::write_on(model, corpus.alphabet, U"", sampling, {.max_new_ids = 3}).size() == 4);
}

TEST_CASE("char_lm: heads that do not divide the width are a usage error") {
  Rng rng(1);
  char_lm::Recipe recipe = small;
  recipe.heads = 3;
  CHECK_THROWS_AS(char_lm::make_model(7, recipe, rng), UsageError);
}
