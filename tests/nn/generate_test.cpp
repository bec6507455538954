#include <algorithm>
#include <cmath>
#include <tapeform/nn/generate.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

const Array logits = Array::of({5}, {1.0, 3.0, 2.0, -INFINITY, 3.0}, DType::float64);

/// How often each id is drawn in 4,000 draws.
std::vector<double> shares(const Array& x, const nn::SamplingOptions& options) {
  Rng rng(1);
  std::vector<double> counts(static_cast<std::size_t>(x.numel()));
  for (int i = 0; i < 4000; ++i) counts[static_cast<std::size_t>(nn::sample_id(x, rng, options))] += 1.0 / 4000;
  return counts;
}

std::int64_t best(const Array& x) {
  const auto values = x.to_vector();
  return std::ranges::max_element(values) - values.begin();
}

}  // namespace

TEST_CASE("sampling follows softmax, temperature, top k and top p") {
  const double e1 = std::exp(-2.0), e2 = std::exp(-1.0), total = 2 + e1 + e2;
  const auto plain = shares(logits, {});
  CHECK(plain[1] == Catch::Approx(1 / total).margin(0.03));
  CHECK(plain[2] == Catch::Approx(e2 / total).margin(0.03));
  CHECK(plain[0] == Catch::Approx(e1 / total).margin(0.03));
  CHECK(plain[3] == 0);
  const auto cold = shares(logits, {.temperature = 0.5});
  CHECK(cold[2] == Catch::Approx(std::exp(-2.0) / (2 + std::exp(-2.0) + std::exp(-4.0))).margin(0.03));
  CHECK(shares(logits, {.temperature = 0})[1] == Catch::Approx(1.0));
  const auto two = shares(logits, {.top_k = 2});
  CHECK(two[1] + two[4] == Catch::Approx(1.0));
  CHECK(two[1] == Catch::Approx(0.5).margin(0.03));
  CHECK(shares(logits, {.top_k = 1})[1] == Catch::Approx(1.0));
  // 1/total = 0.40: the two most likely reach 0.80, the third is needed for more.
  const auto nucleus = shares(logits, {.top_p = 0.79});
  CHECK(nucleus[1] + nucleus[4] == Catch::Approx(1.0));
  CHECK(shares(logits, {.top_p = 0.85})[2] > 0);
  CHECK(shares(logits, {.top_p = 0.85})[0] == 0);
  CHECK(shares(logits, {.top_p = 1e-9})[1] == Catch::Approx(1.0));
}

TEST_CASE("greedy generation by a language model is one full pass read step by step") {
  Rng rng(2);
  const nn::CausalLM model = exact(nn::CausalLM(9, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 2, .max_len = 8}), 3, 0.7);
  const Ids prompt = Ids::rows({{1, 2}, {5, 7}});
  const Ids made = nn::generate(model, prompt, {.max_new_ids = 5});
  REQUIRE(made.shape() == Shape{2, 5});
  for (const Dim b : {0, 1}) {
    std::vector<std::int64_t> sequence = {prompt.at({b, 0}), prompt.at({b, 1})};
    for (Dim t = 0; t < 5; ++t) sequence.push_back(made.at({b, t}));
    const Array all = model(Ids({1, 7}, sequence)).value();
    for (Dim t = 0; t < 5; ++t) CHECK(best(part(all, 0, t + 1, t + 2)) == made.at({b, t}));
  }
  // Beyond max_len the model reads the last ids: 40 draws, each made again from its window.
  Rng first(6), again(6);
  const Ids more = nn::generate(model, Ids::rows({{1, 2}}), first, {.max_new_ids = 40});
  std::vector<std::int64_t> all = {1, 2};
  for (const std::int64_t id : more.values()) {
    const std::size_t length = std::min<std::size_t>(8, all.size());
    const Array logits_of_all = model(Ids({1, static_cast<Dim>(length)}, std::span(all).last(length))).value();
    const Dim last = static_cast<Dim>(length) - 1;
    CHECK(nn::sample_id(part(logits_of_all, 0, last, last + 1).reshape({9}), again, {}) == id);
    all.push_back(id);
  }
  Tape tape(rng);
  CHECK(nn::generate(model, prompt, {.max_new_ids = 5}) == made);
  CHECK(tape.nodes() == 0);

  Rng draw(3), same(3);
  const Ids sampled = nn::generate(model, prompt, draw, {.max_new_ids = 4, .temperature = 2.0});
  CHECK(sampled == nn::generate(model, prompt, same, {.max_new_ids = 4, .temperature = 2.0}));
  CHECK(draw.state().position == 8);
}

TEST_CASE("greedy translation decodes from the start id, ends with the end id and records nothing") {
  Rng rng(4);
  const nn::Seq2Seq model =
      exact(nn::Seq2Seq(
                9, 9, rng,
                {.num_hiddens = 8, .num_heads = 2, .num_encoder_layers = 1, .num_decoder_layers = 1, .ffn_num_hiddens = 10, .max_len = 12}),
            3);
  const Ids src = Ids::rows({{1, 2, 3}, {4, 5, 0}}), src_lens{3, 2};
  Tape tape(rng);
  const auto before = rng.state();
  const Ids made = nn::generate(model, src, src_lens, {.max_new_ids = 6, .start_id = 1});
  CHECK(tape.nodes() == 0);
  CHECK(rng.state() == before);
  REQUIRE(made.shape() == Shape{2, 6});
  const NoTape off;
  for (const Dim b : {0, 1}) {
    std::vector<std::int64_t> sequence = {1};
    for (Dim t = 0; t < 5; ++t) sequence.push_back(made.at({b, t}));
    const Ids one({1, 3}, src.values().subspan(static_cast<std::size_t>(3 * b), 3));
    const Array all = model(one, Ids{src_lens[b]}, Ids({1, 6}, sequence)).value();
    for (Dim t = 0; t < 6; ++t) CHECK(best(part(all, 0, t, t + 1)) == made.at({b, t}));
  }
  // With the first id of sample 0 as the end, that sequence is over at once and filled up.
  const std::int64_t end = made.at({0, 0});
  const Ids ended = nn::generate(model, src, src_lens, {.max_new_ids = 6, .start_id = 1, .end_id = end});
  for (Dim t = 0; t < ended.dim(1); ++t) CHECK(ended.at({0, t}) == end);
  const auto row = made.values().subspan(6, 6);
  const auto stop = std::ranges::find(row, end) - row.begin();
  CHECK(ended.dim(1) == std::min<Dim>(6, stop + 1));
  CHECK(nn::generate(model, src, src_lens, {.max_new_ids = 0}).shape() == Shape{2, 0});
}
