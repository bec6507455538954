#include "catch.hpp"
#include "copy/copy_task.hpp"

using namespace tapeform;
using namespace examples;

TEST_CASE("copy: inputs are targets moved on by one, after the start symbol") {
  Rng rng(1);
  const Ids targets = copy::draw_sequences(3, rng), inputs = copy::shifted(targets);
  for (Dim b = 0; b < 3; ++b) {
    CHECK(inputs.at({b, 0}) == copy::start_id);
    for (Dim t = 1; t < copy::length; ++t) CHECK(inputs.at({b, t}) == targets.at({b, t - 1}));
    for (Dim t = 0; t < copy::length; ++t) CHECK((targets.at({b, t}) >= 1 && targets.at({b, t}) <= 10));
  }
}

TEST_CASE("copy: after 300 updates every held-out sequence is copied, and a head looks where it copies from", "[slow]") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u);
  Rng rng(seed);
  nn::Seq2Seq model = copy::make_model(rng);
  const copy::Recipe recipe;
  REQUIRE(recipe.updates <= 300);
  copy::Trainer trainer(model, recipe, seed);
  for (std::int64_t i = 0; i < recipe.updates; ++i) trainer.update();
  const copy::Result result = copy::evaluate(model, 1000, seed);
  CHECK(result.exact == 1000);
  const Ids some(Shape{100, copy::length}, result.sources.values().first(100 * copy::length));
  const copy::CrossAttention attention = copy::look(model, some);
  CHECK(attention.layers.size() == 2);
  INFO(attention.best_head << " " << attention.best_share);
  CHECK(attention.best_share >= 0.7);
  CHECK_THAT(copy::draw(attention, some), Contains("cross-attention, layer 1, head 3"));
}
