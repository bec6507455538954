#include <tapeform/nn/beam_search.hpp>
#include <tapeform/nn/generate.hpp>
#include <tapeform/nn/recorder.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;
using nn::AttentionKind;
using nn::AttentionRecorder;

namespace {

nn::Seq2Seq translator(std::uint64_t seed = 3) {
  Rng rng(seed);
  return exact(
      nn::Seq2Seq(
          9, 9, rng,
          {.num_hiddens = 8, .num_heads = 2, .num_encoder_layers = 1, .num_decoder_layers = 2, .ffn_num_hiddens = 10, .max_len = 12}),
      seed, 1.0);
}

const Ids src = Ids::rows({{1, 2, 3, 4}, {4, 5, 0, 0}, {6, 7, 8, 0}}), src_lens{4, 2, 3};

/// The largest difference of a joined call's sequence s from the weights of a plain call on that sequence alone, over the first `queries`.
double differs(const Array& joined, Dim s, const Array& plain, Dim queries) {
  double worst = 0;
  for (Dim h = 0; h < plain.dim(1); ++h)
    for (Dim i = 0; i < joined.dim(2); ++i)
      for (Dim j = 0; j < joined.dim(3); ++j) {
        const double right = i < queries && j < plain.dim(3) ? plain.at({0, h, i, j}) : 0;
        worst = std::max(worst, std::abs(joined.at({s, h, i, j}) - right));
      }
  return worst;
}

/// What a recorder has heard, by name: plain calls that follow are heard too.
using Heard = std::vector<std::pair<std::string, Array>>;
Heard decoder_attention(const AttentionRecorder& recorder) {
  Heard heard;
  for (const AttentionKind kind : {AttentionKind::decoder_self, AttentionKind::cross})
    for (const std::string& name : recorder.names(kind)) heard.emplace_back(name, recorder[name]);
  return heard;
}

/// The same over all decoder attention of a target that begins with `start` and goes on with ids.
double differs(const nn::Seq2Seq& model, const Heard& joined, Dim s, Dim sample, std::int64_t start, const std::vector<std::int64_t>& ids) {
  std::vector<std::int64_t> target{start};
  target.insert(target.end(), ids.begin(), ids.end() - 1);
  const auto length = static_cast<Dim>(target.size()), valid = src_lens[sample];
  const AttentionRecorder plain(model);
  model(Ids({1, valid}, src.values().subspan(static_cast<std::size_t>(sample * src.dim(1)), static_cast<std::size_t>(valid))), Ids(),
        Ids({1, length}, target));
  double worst = 0;
  for (const auto& [name, weights] : joined) worst = std::max(worst, differs(weights, s, plain[name], length));
  return worst;
}

/// An id that some row meets before its last position, and another row never; −1: none.
std::int64_t met_by_some(const Ids& rows) {
  for (std::int64_t id = 0; id < 9; ++id) {
    bool met = false, missed = false;
    for (Dim b = 0; b < rows.dim(0); ++b) {
      const auto row = rows.values().subspan(static_cast<std::size_t>(b * rows.dim(1)), static_cast<std::size_t>(rows.dim(1)));
      const auto place = std::ranges::find(row, id);
      met = met || place < row.end() - 1;
      missed = missed || place == row.end();
    }
    if (met && missed) return id;
  }
  return -1;
}

}  // namespace

TEST_CASE("a recorder during decoding: one call, a sequence for every sample, whenever it ended") {
  std::uint64_t seed = 0;  // of a model that ends its sequences at different times
  std::int64_t end = -1;
  while (end < 0 && seed < 50) end = met_by_some(nn::generate(translator(++seed), src, src_lens, {.max_new_ids = 8}));
  REQUIRE(end >= 0);
  const nn::Seq2Seq model = translator(seed);
  const Ids plain = nn::generate(model, src, src_lens, {.max_new_ids = 8, .end_id = end});
  AttentionRecorder recorder(model, {.keep_all = true});
  const Ids made = nn::generate(model, src, src_lens, {.max_new_ids = 8, .end_id = end});
  CHECK(made == plain);
  for (const std::string& name : recorder.names()) CHECK(recorder.calls(name).size() == 1);
  CHECK(recorder[recorder.names(AttentionKind::encoder_self)[0]].shape() == Shape{3, 2, 4, 4});
  CHECK(recorder[recorder.names(AttentionKind::cross)[0]].shape() == Shape{3, 2, made.dim(1), 4});
  const Heard heard = decoder_attention(recorder);
  bool some_end = false, some_go_on = false;
  for (Dim b = 0; b < 3; ++b) {
    std::vector<std::int64_t> ids;
    for (Dim t = 0; t < made.dim(1) && (ids.empty() || ids.back() != end); ++t) ids.push_back(made.at({b, t}));
    some_end = some_end || static_cast<Dim>(ids.size()) < made.dim(1);
    some_go_on = some_go_on || static_cast<Dim>(ids.size()) == made.dim(1);
    INFO("sample " << b << ", " << ids.size() << " ids");
    CHECK(differs(model, heard, b, b, 0, ids) <= 1e-12);
  }
  CHECK(some_end);
  CHECK(some_go_on);
}

TEST_CASE("a recorder during beam search: a sequence for every hypothesis, the best of each sample first") {
  const nn::Seq2Seq model = translator();
  const nn::BeamOptions options{.beam = 4, .n_best = 3, .max_new_ids = 7, .end_id = 5};
  const AttentionRecorder recorder(model);
  const auto found = nn::beam_search(model, src, src_lens, options);
  const Heard heard = decoder_attention(recorder);
  Dim s = 0;
  for (std::size_t b = 0; b < found.size(); ++b)
    for (const nn::Hypothesis& hypothesis : found[b]) CHECK(differs(model, heard, s++, static_cast<Dim>(b), 0, hypothesis.ids) <= 1e-12);
  CHECK(s == 9);
  CHECK(heard[3].second.dim(0) == s);
}

TEST_CASE("a recorder during a language model's decoding: prompts of several lengths, then what was generated") {
  Rng rng(4);
  const auto model = exact(nn::CausalLM(9, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 2, .max_len = 12}), 7, 0.6);
  const Ids prompt = Ids::rows({{1, 2, 3, 4}, {5, 6, 0, 0}}), lens{4, 2};
  const AttentionRecorder recorder(model);
  const Ids made = nn::generate(model, prompt, {.max_new_ids = 5, .prompt_lens = lens});
  const Heard heard = decoder_attention(recorder);
  for (Dim b = 0; b < 2; ++b) {
    std::vector<std::int64_t> whole;
    for (Dim t = 0; t < lens[b]; ++t) whole.push_back(prompt.at({b, t}));
    for (Dim t = 0; t < 4; ++t) whole.push_back(made.at({b, t}));
    const auto length = static_cast<Dim>(whole.size());
    const AttentionRecorder plain(model);
    model(Ids({1, length}, whole));
    for (const auto& [name, weights] : heard) CHECK(differs(weights, b, plain[name], length) <= 1e-12);
  }
}

namespace {

/// How far a joined call's sequence s is from what the model attends to for each of `read` (ids from the first that it read): the last row
/// of a plain call on the last max_len ids up to there.
double differs_from_windows(const nn::CausalLM& model, const Heard& heard, Dim s, const std::vector<std::int64_t>& read) {
  double worst = 0;
  for (Dim i = 0; i < std::ssize(read); ++i) {
    const Dim begin = std::max<Dim>(0, i + 1 - model.max_len()), length = i + 1 - begin;
    const AttentionRecorder plain(model);
    model(Ids({1, length}, std::span(read).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(length))));
    for (const auto& [name, weights] : heard)
      for (Dim h = 0; h < weights.dim(1); ++h)
        for (Dim j = 0; j < weights.dim(3); ++j) {
          const bool seen = j >= begin && j <= i;
          const double right = seen ? plain[name].at({0, h, length - 1, j - begin}) : 0;
          worst = std::max(worst, std::abs(weights.at({s, h, i, j}) - right));
        }
  }
  return worst;
}

}  // namespace

TEST_CASE("a recorder during a language model's decoding past its max_len: each query sees the last ids, counted in the whole sequence") {
  for (const Dim max_len : {1, 2, 5}) {
    INFO("max_len " << max_len);
    Rng rng(5);
    const auto model = exact(nn::CausalLM(9, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 2, .max_len = max_len}), 8, 0.6);
    const Ids prompt = Ids::rows({{1, 2, 3, 4}, {5, 6, 0, 0}, {7, 0, 0, 0}}), lens{4, 2, 1};
    // The first sequence ends when it has gone past 5, so that the others go on with what is kept until they go past it themselves.
    const nn::DecodingRules rules{.banned = {8}, .prefix = Ids::rows({{-1, -1, 8}, {-1, -1, -1}, {-1, -1, -1}})};
    const AttentionRecorder recorder(model);
    const Ids made = nn::generate(model, prompt, {.max_new_ids = 9, .end_id = 8, .rules = rules, .prompt_lens = lens});
    const Heard heard = decoder_attention(recorder);
    for (Dim b = 0; b < 3; ++b) {
      std::vector<std::int64_t> read;
      for (Dim t = std::max<Dim>(0, lens[b] - max_len); t < lens[b]; ++t) read.push_back(prompt.at({b, t}));
      for (Dim t = 0; t < (b == 0 ? 2 : 8); ++t) read.push_back(made.at({b, t}));
      CHECK(differs_from_windows(model, heard, b, read) <= 1e-12);
      for (const auto& [name, weights] : heard)
        for (Dim i = std::ssize(read); i < weights.dim(2); ++i)
          for (Dim j = 0; j < weights.dim(3); ++j) CHECK(weights.at({b, 0, i, j}) == 0);
    }
    const auto longest = std::min<Dim>(2, max_len) + 8;
    CHECK(heard[0].second.shape() == Shape{3, 2, longest, longest});
  }
}
