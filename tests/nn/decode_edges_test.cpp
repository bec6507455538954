#include <tapeform/nn/decoder.hpp>

#include "catch.hpp"
#include "nn/decode_models.hpp"
#include "nn/decode_reference.hpp"

using namespace tapeform;
using decoding::Batch;
using decoding::end_id;
using decoding::start_id;
using reference::Sequence;

namespace {

/// Row b says 1 until it has said as many ids as `lengths[b]` tells, the end (0) among them. What was asked of it is written down.
class Counted final : public nn::Decoder {
 public:
  explicit Counted(const std::vector<Dim>& lengths) : nn::Decoder(20), lengths_(lengths) {
    for (std::size_t b = 0; b < lengths.size(); ++b) sequences_.push_back({static_cast<std::int64_t>(b)});
    step({});
  }
  std::vector<Dim> asked;  ///< rows of every step

 private:
  void step(const Ids&) override {
    asked.push_back(rows());
    logits_ = Array::full({rows(), 4}, -30, DType::float64);
    logits_.write<double>([this](std::span<double> logits) {
      for (std::size_t n = 0; n < sequences_.size(); ++n) {
        const bool ends = std::ssize(sequences_[n]) >= lengths_[static_cast<std::size_t>(sequences_[n][0])];
        logits[4 * n + (ends ? 0 : 1)] = 0;
      }
    });
  }

  std::vector<Dim> lengths_;
};

/// Two logits that differ, and whose log-probabilities are one number in float32.
class Close final : public nn::Decoder {
 public:
  Close() : nn::Decoder(3) {
    sequences_.resize(1);
    step({});
  }

 private:
  void step(const Ids&) override { logits_ = Array::of({rows(), 4}, {-9, 1e-8, 2e-8, 0}); }
};

nn::Seq2Seq translator() { return exact(decoding::translator(11), 11, 0.3); }

const nn::BeamOptions four{.beam = 4, .n_best = 4, .start_id = start_id, .end_id = end_id};

}  // namespace

TEST_CASE("rows that have ended leave the batch at once, in greedy decoding and in beams") {
  const std::vector<Dim> lengths = {1, 4, 2, 4, 3};
  Counted greedy(lengths), one(lengths), beams(lengths);
  CHECK(nn::generate(greedy, {.end_id = 0}) == Ids::rows({{0, 0, 0, 0}, {1, 1, 1, 0}, {1, 0, 0, 0}, {1, 1, 1, 0}, {1, 1, 0, 0}}));
  CHECK(greedy.asked == std::vector<Dim>{5, 4, 3, 2});
  const auto found = nn::beam_search(one, {.beam = 1, .end_id = 0});
  CHECK(one.asked == std::vector<Dim>{5, 4, 3, 2});
  CHECK(found[4][0].ids == Sequence{1, 1, 0});
  // An unlikely sequence goes on beside the likely one, until what was found cannot be reached: then the whole sample leaves.
  const auto wide = nn::beam_search(beams, {.beam = 3, .end_id = 0});
  for (std::size_t b = 0; b < lengths.size(); ++b) CHECK(std::ssize(wide[b][0].ids) == lengths[b]);
  CHECK(beams.asked == std::vector<Dim>{5, 8, 6, 4});
}

TEST_CASE("a beam of one is greedy decoding: among ids that are all but equal, under rules, whatever the penalty") {
  Close greedy, one;
  CHECK(nn::generate(greedy) == Ids::rows({{2, 2, 2}}));
  CHECK(nn::beam_search(one, {.beam = 1})[0][0].ids == Sequence{2, 2, 2});
  const nn::CausalLM lm = decoding::language_model(4, 9);
  const Ids prompt = Ids::rows({{3, 4, 5}, {6, 0, 0}, {7, 8, 0}}), lens{3, 1, 2};
  const nn::DecodingRules rules{.min_new_ids = 2, .no_repeat_ngram = 2, .banned = {4}, .prefix = Ids{-1, 9}};
  const Ids made = nn::generate(lm, prompt, {.max_new_ids = 12, .end_id = end_id, .rules = rules, .prompt_lens = lens});
  for (const double penalty : {-2.0, 0.0, 0.6, 5.0})
    for (const bool early : {false, true}) {
      const auto found = nn::beam_search(lm, prompt,
                                         {.beam = 1,
                                          .max_new_ids = 12,
                                          .end_id = end_id,
                                          .length_penalty = penalty,
                                          .stop_early = early,
                                          .rules = rules,
                                          .prompt_lens = lens});
      for (Dim b = 0; b < 3; ++b) {
        Sequence ids = found[static_cast<std::size_t>(b)][0].ids;
        ids.resize(static_cast<std::size_t>(made.dim(1)), end_id);
        CHECK(Ids({1, made.dim(1)}, ids) == Ids({1, made.dim(1)}, made.values().subspan(static_cast<std::size_t>(b * made.dim(1)),
                                                                                        static_cast<std::size_t>(made.dim(1)))));
      }
    }
}

TEST_CASE("a beam wider than the vocabulary keeps all there is") {
  const nn::Seq2Seq model = translator();
  Rng rng(1);
  const Batch batch = decoding::batch_of(4, rng);
  nn::BeamOptions options = four;
  options.beam = options.n_best = 40;
  options.max_new_ids = 3;
  const auto found = nn::beam_search(model, batch.ids, batch.lens, options);
  for (Dim b = 0; b < 4; ++b) {
    const auto expected =
        reference::beam_search(reference::of(model, batch.ids, batch.lens, b, start_id), options, {.max_new_ids = 3, .end_id = end_id});
    const auto& own = found[static_cast<std::size_t>(b)];
    REQUIRE(own.size() == std::min<std::size_t>(40, expected.found.size()));
    for (std::size_t i = 0; i < own.size(); ++i) {
      CHECK(own[i].ids == expected.found[i].ids);
      CHECK(own[i].score == Catch::Approx(expected.found[i].score).epsilon(1e-10));
    }
  }
  options.max_new_ids = 1;  // a vocabulary of 13 has 13 hypotheses of one id
  for (const auto& of_sample : nn::beam_search(model, batch.ids, batch.lens, options)) CHECK(of_sample.size() == 13);
  options.rules.banned = {0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  for (const auto& of_sample : nn::beam_search(model, batch.ids, batch.lens, options)) {
    REQUIRE(of_sample.size() == 1);
    CHECK(of_sample[0].ids == Sequence{end_id});
  }
}

TEST_CASE("one id, or none: a result is cut where it was asked to be") {
  const nn::Seq2Seq model = translator();
  Rng rng(2);
  const Batch batch = decoding::batch_of(5, rng);
  const Ids one = nn::generate(model, batch.ids, batch.lens, {.max_new_ids = 1, .start_id = start_id, .end_id = end_id});
  CHECK(one.shape() == Shape{5, 1});
  nn::BeamOptions options = four;
  options.max_new_ids = 1;
  const auto found = nn::beam_search(model, batch.ids, batch.lens, options);
  for (Dim b = 0; b < 5; ++b) {
    const auto& best = found[static_cast<std::size_t>(b)];
    REQUIRE(best.size() == 4);
    CHECK(best[0].ids == Sequence{one.at({b, 0})});
    CHECK(best[0].ended == (one.at({b, 0}) == end_id));
    CHECK(best[0].score == best[0].log_probability);  // the penalty of one id is 1
  }
  options.max_new_ids = 0;
  CHECK(nn::generate(model, batch.ids, batch.lens, {.max_new_ids = 0}).shape() == Shape{5, 0});
  for (const auto& of_sample : nn::beam_search(model, batch.ids, batch.lens, options)) {
    REQUIRE(of_sample.size() == 1);
    CHECK(of_sample[0].ids.empty());
    CHECK(of_sample[0].score == 0);
    CHECK_FALSE(of_sample[0].ended);
  }
  const nn::CausalLM lm = decoding::language_model(1, 3);  // a prompt that leaves no room
  CHECK(nn::beam_search(lm, Ids::rows({{3, 4, 5}}))[0][0].ids.empty());
}

TEST_CASE("all rows may end at the first step") {
  const nn::Seq2Seq model = translator();
  Rng rng(3);
  const Batch batch = decoding::batch_of(6, rng);
  const nn::DecodingRules at_once{.prefix = Ids{end_id}};
  CHECK(nn::generate(model, batch.ids, batch.lens, {.start_id = start_id, .end_id = end_id, .rules = at_once}) ==
        Ids::full({6, 1}, end_id));
  nn::BeamOptions options = four;
  options.rules = at_once;
  for (const auto& of_sample : nn::beam_search(model, batch.ids, batch.lens, options)) {
    REQUIRE(of_sample.size() == 1);
    CHECK(of_sample[0].ids == Sequence{end_id});
    CHECK(of_sample[0].ended);
  }
}

TEST_CASE("no samples, and samples without sources") {
  const nn::Seq2Seq model = translator();
  CHECK(nn::generate(model, Ids::full({0, 4}, 3), {}, {.end_id = end_id}).dim(0) == 0);
  CHECK(nn::beam_search(model, Ids::full({0, 4}, 3), {}, four).empty());
  // A source of length 0 is attended to by nobody; it changes nothing for the others.
  const Ids src = Ids::rows({{3, 4, 5}, {6, 7, 8}}), alone = Ids::rows({{6, 7, 8}});
  const nn::GreedyOptions options{.start_id = start_id, .end_id = end_id};
  const Ids both = nn::generate(model, src, Ids{0, 3}, options),
            other = nn::generate(model, Ids::rows({{9, 9, 9}, {6, 7, 8}}), Ids{0, 3}, options);
  CHECK(both == other);
  const Ids one = nn::generate(model, alone, Ids{3}, options);
  for (Dim t = 0; t < one.dim(1); ++t) CHECK(both.at({1, t}) == one.at({0, t}));
}

TEST_CASE("a prefix is cut with the result, and goes before every other rule") {
  const nn::Seq2Seq model = translator();
  Rng rng(4);
  const Batch batch = decoding::batch_of(2, rng);
  nn::DecodingRules rules{.min_new_ids = 9, .no_repeat_ngram = 1, .banned = {5}, .prefix = Ids{5, 5, end_id, 7, 8, 9, 10, 11, 12, 3, 4, 5}};
  nn::BeamOptions beams = four;
  beams.rules = rules;
  for (const Dim most : {1, 2, 3, 10}) {
    const Ids made =
        nn::generate(model, batch.ids, batch.lens, {.max_new_ids = most, .start_id = start_id, .end_id = end_id, .rules = rules});
    REQUIRE(made.shape() == Shape{2, std::min<Dim>(most, 3)});  // the forced end ends it
    beams.max_new_ids = most;
    const auto found = nn::beam_search(model, batch.ids, batch.lens, beams);
    for (Dim b = 0; b < 2; ++b)
      for (Dim t = 0; t < made.dim(1); ++t) {
        CHECK(made.at({b, t}) == rules.prefix[t]);
        CHECK(found[static_cast<std::size_t>(b)][0].ids[static_cast<std::size_t>(t)] == rules.prefix[t]);
      }
  }
  // What was forced counts for the ids that follow: no pair of a prefix comes again.
  rules = {.no_repeat_ngram = 2, .prefix = Ids{6, 6, 6, 7}};
  const Ids made = nn::generate(model, batch.ids, batch.lens, {.max_new_ids = 10, .start_id = start_id, .rules = rules});
  for (Dim b = 0; b < 2; ++b)
    for (Dim t = 4; t < 10; ++t) {
      CHECK_FALSE((made.at({b, t - 1}) == 6 && (made.at({b, t}) == 6 || made.at({b, t}) == 7)));
      for (Dim i = 1; i < t; ++i) CHECK_FALSE((made.at({b, i - 1}) == made.at({b, t - 1}) && made.at({b, i}) == made.at({b, t})));
    }
  // Ids that come once are used up: told, not looped over.
  CHECK(message<ValueError>([&] {
          const nn::CausalLM lm = decoding::language_model(1, 64);
          nn::generate(lm, Ids::rows({{3}}), {.max_new_ids = 13, .rules = {.no_repeat_ngram = 1}});
        }) == "generate: every logit is -inf, so no id can follow. Loosen the rules: banned, min_new_ids, no_repeat_ngram, prefix");
}

TEST_CASE("a rule of more ids in a row than a sequence has hides nothing") {
  const nn::CausalLM lm = exact(decoding::language_model(2), 2, 0.3);
  const Ids prompt = Ids::rows({{3, 3, 3}}), plain = nn::generate(lm, prompt, {.max_new_ids = 10});
  for (const Dim n : {Dim{14}, Dim{1'000'000'000'000}})
    CHECK(nn::generate(lm, prompt, {.max_new_ids = 10, .rules = {.min_new_ids = n, .no_repeat_ngram = n}}) == plain);
}

TEST_CASE("lengths and prefixes of another batch are errors, in a large batch too") {
  const nn::Seq2Seq model = decoding::translator(1);
  const Ids src = Ids::full({256, 2}, 3), half = Ids::full({128}, 2);  // 128 samples with a beam of 4 are one group of the search
  CHECK(message<ShapeError>([&] { nn::beam_search(model, src, half, four); }) == "beam_search: src_lens must be [256]; got [128]");
  nn::BeamOptions options = four;
  options.rules.prefix = Ids::full({128, 1}, 3);
  CHECK(message<ShapeError>([&] { nn::beam_search(model, src, {}, options); }) ==
        "beam_search: the prefix must be [P] or [256, P]; got [128, 1]");
}

TEST_CASE("a large batch is searched in groups, each sample with its own lengths and prefix") {
  const nn::Seq2Seq model = translator();
  Rng rng(5);
  const Batch batch = decoding::batch_of(150, rng);  // more than one group
  std::vector<std::int64_t> prefix;
  for (Dim b = 0; b < 150; ++b) prefix.push_back(3 + b % 10);
  nn::BeamOptions options{.beam = 4, .start_id = start_id, .end_id = end_id, .rules = {.prefix = Ids({150, 1}, prefix)}};
  const auto together = nn::beam_search(model, batch.ids, batch.lens, options);
  REQUIRE(together.size() == 150);
  for (const Dim b : {0, 127, 128, 149}) {
    const Batch one = decoding::rows_of(batch, b, b + 1);
    options.rules.prefix = Ids{3 + b % 10};
    const auto alone = nn::beam_search(model, one.ids, one.lens, options);
    CHECK(together[static_cast<std::size_t>(b)][0].ids == alone[0][0].ids);
    CHECK(alone[0][0].ids[0] == 3 + b % 10);
  }
}
