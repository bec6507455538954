#include <tapeform/nn/decoder.hpp>
#include <tapeform/nn/recorder.hpp>

#include "catch.hpp"
#include "nn/decode_models.hpp"
#include "nn/decode_reference.hpp"
#include "threads.hpp"

using namespace tapeform;
using decoding::Batch;
using decoding::end_id;
using decoding::start_id;
using reference::Sequence;

namespace {

/// Row b of what `generate` made, up to its end.
Sequence row_of(const Ids& made, Dim b) {
  const auto row = made.values().subspan(static_cast<std::size_t>(b * made.dim(1)), static_cast<std::size_t>(made.dim(1)));
  const auto end = std::ranges::find(row, end_id);
  return {row.begin(), end == row.end() ? end : end + 1};
}

/// Counts samples for which greedy decoding, in batches of `each`, gives other ids than the reference; those where the reference's
/// own choice was closer than `close` go into `excused` instead.
struct Differences {
  int wrong = 0, excused = 0;
};

Differences greedy_differences(const nn::Seq2Seq& model, const Batch& all, Dim each, double close) {
  Differences count;
  for (Dim begin = 0; begin < all.lens.numel(); begin += each) {
    const Batch batch = rows_of(all, begin, std::min(begin + each, all.lens.numel()));
    const Ids made = nn::generate(model, batch.ids, batch.lens, {.start_id = start_id, .end_id = end_id});
    for (Dim b = 0; b < batch.lens.numel(); ++b) {
      const auto expected =
          reference::greedy(reference::of(model, batch.ids, batch.lens, b, start_id), {.max_new_ids = model.max_len(), .end_id = end_id});
      if (row_of(made, b) != expected.ids) (expected.closest < close ? count.excused : count.wrong) += 1;
    }
  }
  return count;
}

Differences beam_differences(const nn::Seq2Seq& model, const Batch& all, Dim each, const nn::BeamOptions& options, double close) {
  Differences count;
  for (Dim begin = 0; begin < all.lens.numel(); begin += each) {
    const Batch batch = rows_of(all, begin, std::min(begin + each, all.lens.numel()));
    const auto found = nn::beam_search(model, batch.ids, batch.lens, options);
    for (Dim b = 0; b < batch.lens.numel(); ++b) {
      const auto expected = reference::beam_search(reference::of(model, batch.ids, batch.lens, b, start_id), options,
                                                   {.max_new_ids = model.max_len(), .end_id = end_id, .rules = options.rules, .sample = b});
      const auto& own = found[static_cast<std::size_t>(b)];
      bool same = own.size() == std::min(expected.found.size(), static_cast<std::size_t>(options.n_best));
      for (std::size_t i = 0; same && i < own.size(); ++i)
        same = own[i].ids == expected.found[i].ids && own[i].ended == expected.found[i].ended &&
               std::abs(own[i].score - expected.found[i].score) < 1e-4;
      if (!same) (expected.closest < close ? count.excused : count.wrong) += 1;
    }
  }
  return count;
}

const nn::BeamOptions four{.beam = 4, .n_best = 4, .start_id = start_id, .end_id = end_id};

}  // namespace

TEST_CASE("decoding with what is kept gives the ids of decoding without, in any batch") {
  Rng rng(1);
  const Batch all = decoding::batch_of(24, rng);
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const nn::Seq2Seq model = exact(decoding::translator(seed), seed, 0.3);
    for (const Dim each : {1, 5, 24}) {
      INFO("seed " << seed << ", batches of " << each);
      CHECK(greedy_differences(model, all, each, 0).wrong == 0);
      CHECK(beam_differences(model, all, each, four, 0).wrong == 0);
    }
  }
}

TEST_CASE("decoding by 1,000 random and 1,000 trained inputs is the reference's: float64 to the id, float32 but for what lies within 1e-5",
          "[slow]") {
#if defined(TAPEFORM_SANITIZE_MEMORY) || defined(TAPEFORM_SANITIZE_THREAD)
  constexpr Dim inputs = 40;  // the sanitizers see no more in 1,000, and take ten minutes for them
#else
  constexpr Dim inputs = 1000;
#endif
  Rng rng(2);
  const Batch all = decoding::batch_of(inputs, rng);
  const nn::Seq2Seq learned = decoding::trained(3, 400);
  for (const bool is_trained : {false, true}) {
    nn::Seq2Seq model = is_trained ? learned : exact(decoding::translator(4), 4, 0.3);
    nn::cast(model, DType::float64);
    INFO((is_trained ? "trained" : "random"));
    CHECK(greedy_differences(model, all, 64, 0).wrong == 0);
    CHECK(beam_differences(model, all, 100, four, 0).wrong == 0);
    nn::cast(model, DType::float32);
    const Differences greedy = greedy_differences(model, all, 128, 1e-5), beam = beam_differences(model, all, 33, four, 1e-5);
    CHECK(greedy.wrong == 0);
    CHECK(greedy.excused <= 5);
    CHECK(beam.wrong == 0);
    CHECK(beam.excused <= 5);
  }
}

TEST_CASE("every kind of translator decodes as without what is kept") {
  Rng rng(14);
  const Batch batch = decoding::batch_of(10, rng);
  const nn::Seq2SeqOptions plain{.num_hiddens = 12,
                                 .num_heads = 3,
                                 .num_encoder_layers = 1,
                                 .num_decoder_layers = 2,
                                 .ffn_num_hiddens = 20,
                                 .max_len = decoding::longest};
  std::vector<nn::Seq2SeqOptions> kinds(5, plain);
  kinds[1].norm_first = true;
  kinds[2].positions = nn::Positions::learned;
  kinds[3].bias = false;
  kinds[3].activation = nn::Activation::gelu;
  kinds[4].share_embeddings = kinds[4].share_head = kinds[4].scale_embeddings = true;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    INFO("kind " << kind);
    const nn::Seq2Seq model = exact(nn::Seq2Seq(decoding::vocab, decoding::vocab, rng, kinds[kind]), kind, 0.3);
    CHECK(greedy_differences(model, batch, 10, 0).wrong == 0);
    CHECK(beam_differences(model, batch, 10, four, 0).wrong == 0);
    const Ids full = Ids::full({10}, decoding::longest);  // nothing to pack
    CHECK(greedy_differences(model, {batch.ids, full}, 10, 0).wrong == 0);
  }
}

TEST_CASE("a trained translator ends its rows, and says them backwards", "[training]") {
  const nn::Seq2Seq model = decoding::trained(5, 400);
  Rng rng(6);
  const Batch batch = decoding::batch_of(40, rng);
  const Ids made = nn::generate(model, batch.ids, batch.lens, {.start_id = start_id, .end_id = end_id});
  int right = 0;
  for (Dim b = 0; b < 40; ++b) {
    Sequence expected;
    for (Dim t = batch.lens[b]; t-- > 0;) expected.push_back(batch.ids[b * decoding::longest + t]);
    expected.push_back(end_id);
    right += row_of(made, b) == expected;
  }
  CHECK(right >= 20);
}

TEST_CASE("a language model's continuations with what is kept are those without, prompts of any length, past its window too") {
  const nn::CausalLM model = exact(decoding::language_model(1, 8), 7, 0.3);
  const std::vector<Sequence> prompts = {{3, 4, 5, 6, 7}, {8, 9}, {12}};
  const Ids table = Ids::rows({{3, 4, 5, 6, 7}, {8, 9, 0, 0, 0}, {12, 0, 0, 0, 0}}), lens{5, 2, 1};
  const Ids made = nn::generate(model, table, {.max_new_ids = 12, .end_id = end_id, .prompt_lens = lens});
  nn::BeamOptions options{.beam = 3, .n_best = 3, .max_new_ids = 12, .end_id = end_id, .prompt_lens = lens};
  const auto found = nn::beam_search(model, table, options);
  for (Dim b = 0; b < 3; ++b) {
    const auto& prompt = prompts[static_cast<std::size_t>(b)];
    const auto expected = reference::greedy(reference::of(model, prompt), {.max_new_ids = 12, .end_id = end_id});
    CHECK(row_of(made, b) == expected.ids);
    const auto beams = reference::beam_search(reference::of(model, prompt), options, {.max_new_ids = 12, .end_id = end_id});
    const auto& own = found[static_cast<std::size_t>(b)];
    REQUIRE(own.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(own[i].ids == beams.found[i].ids);
      CHECK(own[i].score == Catch::Approx(beams.found[i].score).epsilon(1e-10));
    }
  }
}

TEST_CASE("generation makes as many ids as the model has room for unless told otherwise") {
  const nn::Seq2Seq model = decoding::translator(1);
  Rng rng(1);
  const Batch batch = decoding::batch_of(3, rng);
  CHECK(nn::generate(model, batch.ids, batch.lens).shape() == Shape{3, model.max_len()});
  CHECK(nn::beam_search(model, batch.ids, batch.lens)[2][0].ids.size() == static_cast<std::size_t>(model.max_len()));
  const nn::CausalLM lm = decoding::language_model(1, 6);
  CHECK(nn::generate(lm, Ids::rows({{3, 4}})).shape() == Shape{1, 4});
  CHECK(nn::generate(lm, Ids::rows({{3, 4, 5, 6, 7, 8}})).shape() == Shape{1, 0});
  CHECK(nn::generate(lm, Ids::rows({{3, 4, 5, 6, 7, 8}}), {.max_new_ids = 3}).shape() == Shape{1, 3});
}

TEST_CASE("rules of decoding hold, whichever way ids are chosen") {
  Rng rng(8);
  const Batch batch = decoding::batch_of(12, rng);
  const nn::Seq2Seq model = exact(decoding::translator(2), 2, 0.3);
  std::vector<std::int64_t> prefix;
  for (Dim b = 0; b < 12; ++b) prefix.insert(prefix.end(), {5 + b % 3, -1, b % 2 == 0 ? 4 : -1});
  const nn::DecodingRules rules{.min_new_ids = 6, .no_repeat_ngram = 2, .banned = {0, 3, 11}, .prefix = Ids({12, 3}, prefix)};
  const Dim most = model.max_len();

  const Ids made = nn::generate(model, batch.ids, batch.lens, {.start_id = start_id, .end_id = end_id, .rules = rules});
  const Ids drawn = nn::generate(model, batch.ids, batch.lens, rng, {.start_id = start_id, .end_id = end_id, .rules = rules});
  nn::BeamOptions beams = four;
  beams.rules = rules;
  CHECK(beam_differences(model, batch, 12, beams, 0).wrong == 0);
  for (Dim b = 0; b < 12; ++b) {
    const auto expected = reference::greedy(reference::of(model, batch.ids, batch.lens, b, start_id),
                                            {.max_new_ids = most, .end_id = end_id, .rules = rules, .sample = b});
    CHECK(row_of(made, b) == expected.ids);
    const Sequence row = row_of(drawn, b);
    REQUIRE(row.size() >= 7);
    CHECK(row[0] == 5 + b % 3);
    if (b % 2 == 0) CHECK(row[2] == 4);
    for (std::size_t i = 0; i < row.size(); ++i) {
      CHECK(std::ranges::find(rules.banned, row[i]) == rules.banned.end());
      for (std::size_t j = 0; j + 1 < i && i + 1 < row.size(); ++j) CHECK_FALSE((row[j] == row[i] && row[j + 1] == row[i + 1]));
    }
  }
  // One prefix for all, and rules that count the prompt of a language model.
  const nn::CausalLM lm = exact(decoding::language_model(3), 3, 0.3);
  const nn::DecodingRules once{.no_repeat_ngram = 1, .prefix = Ids{7}};
  const Ids more = nn::generate(lm, Ids::rows({{3, 4}, {5, 6}}), {.max_new_ids = 8, .rules = once});
  for (Dim b = 0; b < 2; ++b) {
    Sequence all = row_of(more, b), unique;
    CHECK(all[0] == 7);
    all.insert(all.end(), {3 + 2 * b, 4 + 2 * b});
    std::ranges::sort(all);
    CHECK(std::ranges::adjacent_find(all) == all.end());
  }
}

TEST_CASE("beam search loses nothing by stopping: against a search to the limit, for every length penalty") {
  Rng rng(9);
  const Batch batch = decoding::batch_of(16, rng);
  const nn::Seq2Seq model = exact(decoding::trained(7, 60), 7, 0.02);
  for (const double penalty : {-0.7, 0.0, 0.6, 1.0, 2.5})
    for (const double offset : {0.0, 5.0})
      for (const Dim n_best : {1, 3}) {
        INFO("length_penalty " << penalty << ", length_offset " << offset << ", n_best " << n_best);
        nn::BeamOptions options{
            .beam = 3, .n_best = n_best, .start_id = start_id, .end_id = end_id, .length_penalty = penalty, .length_offset = offset};
        CHECK(beam_differences(model, batch, 16, options, 0).wrong == 0);
        const auto best = nn::beam_search(model, batch.ids, batch.lens, options);
        options.stop_early = true;
        const auto early = nn::beam_search(model, batch.ids, batch.lens, options);
        for (std::size_t b = 0; b < best.size(); ++b) CHECK(early[b][0].score <= best[b][0].score);
      }
}

TEST_CASE("decoding has the same bits with one thread and two, and records nothing") {
  Rng rng(10);
  const Batch batch = decoding::batch_of(40, rng);
  const nn::Seq2Seq model = decoding::translator(5, 64);
  std::vector<std::vector<nn::Hypothesis>> found[2];
  Ids made[2], drawn[2];
  for (const int i : {0, 1}) {
    const Threads threads(i + 1);
    Tape tape(rng);
    const auto before = rng.state();
    found[i] = nn::beam_search(model, batch.ids, batch.lens, four);
    made[i] = nn::generate(model, batch.ids, batch.lens, {.start_id = start_id, .end_id = end_id});
    CHECK(rng.state() == before);
    Rng draws(11);
    drawn[i] = nn::generate(model, batch.ids, batch.lens, draws, {.temperature = 1.5, .top_k = 9, .start_id = start_id, .end_id = end_id});
    CHECK(tape.nodes() == 0);
  }
  CHECK(made[0] == made[1]);
  CHECK(drawn[0] == drawn[1]);
  for (std::size_t b = 0; b < 40; ++b)
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(found[0][b][i].ids == found[1][b][i].ids);
      CHECK(found[0][b][i].score == found[1][b][i].score);
    }
}

TEST_CASE("a recorder sees the weights of every step, which together are those of one full pass") {
  const nn::Seq2Seq model = exact(decoding::translator(6), 6, 0.3);
  const Ids src = Ids::rows({{3, 4, 5, 6}});
  const Ids made = nn::generate(model, src, {}, {.max_new_ids = 6, .start_id = start_id});
  Sequence tgt{start_id};
  tgt.insert(tgt.end(), made.values().begin(), made.values().end() - 1);
  std::vector<Array> wholes;
  {
    const nn::AttentionRecorder full(model);
    model(src, Ids(), reference::one_row(tgt));
    for (const std::string& name : full.names()) wholes.push_back(full[name]);
  }
  const nn::AttentionRecorder steps(model, {.keep_all = true});
  nn::generate(model, src, {}, {.max_new_ids = 6, .start_id = start_id});
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    const std::string name = steps.names()[i];
    REQUIRE(steps.calls(name).size() == 1);
    CHECK(difference(steps[name], wholes[i]) < 1e-12);
  }
}

TEST_CASE("a decoder's rows go on from any row, and share what they have in common") {
  const nn::Seq2Seq model = exact(decoding::translator(7), 7, 0.3);
  Rng rng(12);
  const Batch batch = decoding::batch_of(3, rng);
  nn::Seq2SeqDecoder decoder(model, batch.ids, batch.lens, start_id);
  CHECK(decoder.room() == model.max_len());
  const std::vector<std::vector<Dim>> from = {{2, 0, 1, 2}, {1, 1, 3}, {2, 0, 0, 1, 2}};
  std::vector<Dim> samples = {0, 1, 2};
  std::int64_t id = 3;
  for (const auto& rows : from) {
    std::vector<Dim> next;
    std::vector<std::int64_t> ids;
    for (const Dim row : rows) {
      next.push_back(samples[static_cast<std::size_t>(row)]);
      ids.push_back(3 + id++ % 10);
    }
    decoder.advance(rows, ids);
    samples = next;
    REQUIRE(decoder.rows() == static_cast<Dim>(rows.size()));
    for (Dim n = 0; n < decoder.rows(); ++n) {
      const Dim sample = samples[static_cast<std::size_t>(n)];
      const auto expected = reference::of(model, batch.ids, batch.lens, sample, start_id)(decoder.sequence(n));
      const auto own = decoder.logits().rows(n, n + 1).to_vector();
      for (std::size_t v = 0; v < own.size(); ++v) CHECK(std::abs(own[v] - expected[v]) < 1e-10);
    }
  }
  decoder.advance({}, {});
  CHECK(decoder.rows() == 0);
  CHECK(decoder.logits().shape() == Shape{0, decoding::vocab});
}

TEST_CASE("decoding names what does not fit") {
  const nn::Seq2Seq model = decoding::translator(1);
  const nn::CausalLM lm = decoding::language_model(1);
  const Ids src = Ids::rows({{3, 4}});
  const auto with = [&](const nn::DecodingRules& rules, std::int64_t end = end_id) {
    return message<ValueError>([&] { nn::generate(model, src, {}, {.end_id = end, .rules = rules}); });
  };
  CHECK(with({}, 13) == "generate: end_id must be from -1 to 12; got 13");
  CHECK(with({.min_new_ids = -1}) == "generate: min_new_ids must be at least 0; got -1");
  CHECK(with({.no_repeat_ngram = -2}) == "generate: no_repeat_ngram must be at least 0; got -2");
  CHECK(with({.banned = {13}}) == "generate: a banned id must be from 0 to 12; got 13");
  CHECK(with({.prefix = Ids{3, -2}}) == "generate: an id of the prefix must be from -1 to 12; got -2");
  CHECK(message<ShapeError>([&] {
          nn::generate(model, src, {}, {.rules = {.prefix = Ids::rows({{3}, {4}})}});
        }) == "generate: the prefix must be [P] or [1, P]; got [2, 1]");
  CHECK(with({.banned = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}) ==
        "generate: every logit is -inf, so no id can follow. Loosen the rules: banned, min_new_ids, no_repeat_ngram, prefix");
  CHECK(message<ValueError>([&] {
          nn::beam_search(model, src, {}, {.rules = {.banned = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}});
        }) == "generate: every logit is -inf, so no id can follow. Loosen the rules: banned, min_new_ids, no_repeat_ngram, prefix");
  CHECK(message<ValueError>([&] { nn::beam_search(model, src, {}, {.beam = 2, .n_best = 3}); }) ==
        "beam_search: n_best must be at least 1 and at most the beam; got beam 2, n_best 3");
  CHECK(message<ValueError>([&] { nn::beam_search(model, src, {}, {.length_offset = -1}); }) ==
        "beam_search: length_penalty must be finite and length_offset at least 0; got 0.6 and -1");
  CHECK(message<ValueError>([&] { nn::beam_search(model, src, {}, {.max_new_ids = 11}); }) ==
        "beam_search: max_new_ids must not be over the model's max_len; got max_new_ids 11, max_len 10");
  CHECK(message<ShapeError>([&] { nn::generate(lm, src, {.prompt_lens = Ids{1, 2}}); }) == "generate: prompt_lens must be [1]; got [2]");
  CHECK(message<ValueError>([&] { nn::generate(lm, src, {.prompt_lens = Ids{3}}); }) ==
        "generate: prompt_lens must be from 1 to 2; got 3 for prompt 0");
  nn::Seq2SeqDecoder decoder(model, src, {}, start_id);
  const std::vector<Dim> rows = {0, 1};
  const std::vector<std::int64_t> ids = {3, 4};
  CHECK(message<ShapeError>([&] { decoder.advance(rows, ids); }) == "decoder: rows are 0 to 0; got 1");
  CHECK(message<ShapeError>([&] { decoder.advance(rows, {}); }) == "decoder: every row needs one id; got 2 rows, 0 ids");
  nn::Seq2Seq broken = decoding::translator(1);
  broken.head->weight.assign(Array::full(broken.head->weight.shape(), nan_value));
  CHECK(message<ValueError>([&] { nn::beam_search(broken, src, {}); }) ==
        "generate: the logit of id 0 is nan. Training has diverged, or a weight is not finite");
}
