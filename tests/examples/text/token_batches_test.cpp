#include "text/token_batches.hpp"

#include <tapeform/tapeform.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "examples/text/texts.hpp"

using namespace tapeform;
using namespace examples;
using namespace examples::text;

namespace {

/// Pairs of random lengths; the source's first id is the number of the pair, so that batches can be traced back.
EncodedPairs random_pairs(std::int64_t count, std::int64_t longest, std::uint64_t seed) {
  Rng rng(seed);
  EncodedPairs pairs;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> source{100 + i}, target;
    for (std::int64_t n = rng.below(longest - 1); n > 0; --n) source.push_back(4 + rng.below(50));
    for (std::int64_t n = rng.below(longest); n > 0; --n) target.push_back(4 + rng.below(50));
    pairs.source.push_back(source);
    pairs.target.push_back(target);
  }
  return pairs;
}

std::vector<std::int64_t> traced(const TokenBatch& batch) {
  std::vector<std::int64_t> pairs;
  for (Dim b = 0; b < batch.src.dim(0); ++b) pairs.push_back(batch.src.at({b, 0}) - 100);
  return pairs;
}

/// The pairs of every batch of one epoch.
std::vector<std::vector<std::int64_t>> epoch(TokenBatches& batches) {
  std::vector<std::vector<std::int64_t>> all;
  for (std::int64_t n = batches.batches_in_epoch(); n > 0; --n) all.push_back(traced(batches.next()));
  return all;
}

bool same(const TokenBatch& a, const TokenBatch& b) {
  return a.src == b.src && a.src_lens == b.src_lens && a.tgt_in == b.tgt_in && a.tgt_lens == b.tgt_lens && a.labels == b.labels;
}

nn::Seq2Seq small_model(Rng& rng) {
  return nn::Seq2Seq(
      60, 60, rng,
      {.num_hiddens = 16, .num_heads = 2, .num_encoder_layers = 1, .num_decoder_layers = 2, .ffn_num_hiddens = 32, .dropout = 0.0});
}

}  // namespace

TEST_CASE("token batches: labels are the decoder's inputs moved on by one, padding is ignored") {
  const TokenBatch batch = make_batch({{{10, 11}, {12}, {}}, {{20}, {21, 22, 23}, {}}}, {1, 0, 2});
  CHECK(batch.src == tapeform::Ids::rows({{12, eos_id, pad_id}, {10, 11, eos_id}, {eos_id, pad_id, pad_id}}));
  CHECK(batch.src_lens == tapeform::Ids{2, 3, 1});
  CHECK(batch.tgt_in == tapeform::Ids::rows({{bos_id, 21, 22, 23}, {bos_id, 20, pad_id, pad_id}, {bos_id, pad_id, pad_id, pad_id}}));
  CHECK(batch.tgt_lens == tapeform::Ids{4, 2, 1});
  CHECK(batch.labels ==
        tapeform::Ids::rows({{21, 22, 23, eos_id}, {20, eos_id, ignore_id, ignore_id}, {eos_id, ignore_id, ignore_id, ignore_id}}));
  CHECK(batch.src_tokens == 6);
  CHECK(batch.tgt_tokens == 7);
  TokenBatches batches(random_pairs(300, 12, 1), {.tokens = 100});
  for (std::int64_t n = batches.batches_in_epoch(); n > 0; --n) {
    const TokenBatch some = batches.next();
    REQUIRE(some.labels.shape() == some.tgt_in.shape());
    for (Dim b = 0; b < some.labels.dim(0); ++b) {
      const Dim length = some.tgt_lens[b];
      for (Dim t = 0; t + 1 < length; ++t) REQUIRE(some.labels.at({b, t}) == some.tgt_in.at({b, t + 1}));
      REQUIRE(some.labels.at({b, length - 1}) == eos_id);
      for (Dim t = length; t < some.labels.dim(1); ++t) REQUIRE(some.labels.at({b, t}) == ignore_id);
    }
  }
}

TEST_CASE("token batches: every pair once an epoch, no batch over its tokens, each epoch in an order of its own") {
  for (const std::int64_t bucket : {1, 7, 100, 1'000'000}) {
    TokenBatches batches(random_pairs(500, 20, 2), {.tokens = 120, .bucket = bucket});
    std::vector<std::vector<std::vector<std::int64_t>>> epochs;
    for (int e = 0; e < 3; ++e) {
      CHECK(batches.epoch() == e);
      epochs.push_back(epoch(batches));
      std::vector<std::int64_t> seen;
      for (const auto& rows : epochs.back()) seen.insert(seen.end(), rows.begin(), rows.end());
      std::ranges::sort(seen);
      CHECK(seen.size() == 500);
      CHECK(std::ranges::adjacent_find(seen) == seen.end());
    }
    CHECK(epochs[0] != epochs[1]);
    CHECK(epochs[1] != epochs[2]);
    TokenBatches sizes(random_pairs(500, 20, 2), {.tokens = 120, .bucket = bucket});
    for (std::int64_t n = sizes.batches_in_epoch(); n > 0; --n) {
      const TokenBatch batch = sizes.next();
      CHECK(batch.src.dim(0) * std::max(batch.src.dim(1), batch.tgt_in.dim(1)) <= 120);
    }
  }
}

TEST_CASE("token batches: the seed decides the order") {
  TokenBatches one(random_pairs(200, 20, 3), {.tokens = 120, .seed = 5}), same_seed(random_pairs(200, 20, 3), {.tokens = 120, .seed = 5}),
      other(random_pairs(200, 20, 3), {.tokens = 120, .seed = 6});
  const auto order = epoch(one);
  CHECK(order == epoch(same_seed));
  CHECK(order != epoch(other));
}

TEST_CASE("token batches: sorting in buckets saves padding, and what is told is what is there") {
  double before = 1;
  for (const std::int64_t bucket : {1, 64, 2000}) {
    TokenBatches batches(random_pairs(2000, 30, 4), {.tokens = 600, .bucket = bucket});
    const double told = batches.padding_share();
    double padding = 0, cells = 0;
    for (std::int64_t n = batches.batches_in_epoch(); n > 0; --n) {
      const TokenBatch batch = batches.next();
      cells += static_cast<double>(batch.src.numel() + batch.tgt_in.numel());
      padding += static_cast<double>(batch.src.numel() + batch.tgt_in.numel() - batch.tokens());
    }
    CHECK(told == Catch::Approx(padding / cells).epsilon(1e-12));
    if (bucket > 1) CHECK(told < before);  // a bucket of one pair wastes nothing: it is a batch of its own
    before = bucket > 1 ? told : before;
  }
  CHECK(TokenBatches(EncodedPairs{{{10}, {11}}, {{12}, {13}}}).padding_share() == 0);
}

TEST_CASE("token batches: without shuffling all are sorted, the same every epoch") {
  TokenBatches batches(random_pairs(300, 20, 5), {.tokens = 100, .shuffle = false});
  const auto first = epoch(batches);
  CHECK(first == epoch(batches));
  TokenBatches shuffled(random_pairs(300, 20, 5), {.tokens = 100, .bucket = 50});
  CHECK(batches.padding_share() < shuffled.padding_share());
}

TEST_CASE("token batches: a checkpoint goes on with the very next batch, wherever it was saved") {
  const TokenBatchOptions options{.tokens = 100, .bucket = 60, .seed = 9};
  TokenBatches batches(random_pairs(150, 20, 6), options);
  const std::int64_t in_epoch = batches.batches_in_epoch();
  const TemporaryFolder folder("token_batches");
  for (std::int64_t n = 0; n < 2 * in_epoch + 3; ++n) {
    io::save_checkpoint(folder / "run", {{"batches", batches}});
    TokenBatches resumed(random_pairs(150, 20, 6), {.tokens = 100, .bucket = 60, .seed = 1});  // the seed is the file's
    if (n % 2) resumed.next();
    io::load_checkpoint(folder / "run", {{"batches", resumed}});
    TokenBatches ahead = batches;
    for (int i = 0; i < 3; ++i) {
      CHECK(resumed.order() == ahead.order());
      REQUIRE(same(resumed.next(), ahead.next()));
      CHECK(resumed.epoch() == ahead.epoch());
      CHECK(resumed.position() == ahead.position());
    }
    batches.next();
  }
}

TEST_CASE("token batches: a run is not gone on with on other pairs") {
  const TemporaryFolder folder("other_pairs");
  TokenBatches batches(random_pairs(50, 20, 7), {.tokens = 100});
  io::save_checkpoint(folder / "run", {{"batches", batches}});
  TokenBatches other(random_pairs(50, 20, 8), {.tokens = 100}), sizes(random_pairs(50, 20, 7), {.tokens = 101});
  for (TokenBatches* loaded : {&other, &sizes}) {
    io::load_checkpoint(folder / "run", {{"batches", *loaded}});
    CHECK_THROWS_WITH(loaded->next(),
                      "batches: a run goes on with the pairs and the sizes of batches that it was saved with; these are others");
  }
}

TEST_CASE("token batches: what cannot be cut into batches is one error") {
  CHECK(usage_error([] { TokenBatches(EncodedPairs{}); }) == "batches: need sentences and as many translations, at least one; got 0 and 0");
  CHECK(usage_error([] {
          TokenBatches(EncodedPairs{{{1}}, {}});
        }) == "batches: need sentences and as many translations, at least one; got 1 and 0");
  CHECK(usage_error([] {
          TokenBatches(EncodedPairs{{{9}, {9, 9, 9}}, {{9}, {9}}}, {.tokens = 3});
        }) == "batches: pair 2 has a side of 4 ids, and a batch holds 3. Leave longer pairs out, or make batches larger");
  CHECK(TokenBatches(EncodedPairs{{{9, 9, 9}}, {{9}}}, {.tokens = 4}).batches_in_epoch() == 1);
  CHECK_THAT(usage_error([] { TokenBatches(EncodedPairs{{{9}}, {{9}}}, {.bucket = 0}); }), StartsWith("batches: a bucket"));
}

TEST_CASE("token batches: no target after a position reaches what is predicted there, bit for bit") {
  Rng rng(10);
  const nn::Seq2Seq model = small_model(rng);
  EncodedPairs pairs;
  for (int i = 0; i < 4; ++i) {
    pairs.source.push_back({4 + i, 5, 6});
    pairs.target.push_back({});
    for (int t = 0; t < 3 + 2 * i; ++t) pairs.target.back().push_back(4 + rng.below(50));
  }
  const TokenBatch batch = make_batch(pairs, {0, 1, 2, 3});
  const auto logits = [&](const tapeform::Ids& tgt_in) {
    return model(batch.src, batch.src_lens, tgt_in, {.tgt_lens = batch.tgt_lens}).value();
  };
  const Array before = logits(batch.tgt_in);  // [B, T, V]
  for (Dim t = 0; t + 1 < batch.tgt_in.dim(1); ++t) {
    tapeform::Ids changed = batch.tgt_in;
    changed.write([&](auto ids) {
      for (std::size_t i = 0; i < ids.size(); ++i)
        if (static_cast<Dim>(i) % batch.tgt_in.dim(1) > t) ids[i] = 4 + (ids[i] + 7) % 50;
    });
    const Array after = logits(changed);
    bool moved = false;
    for (Dim b = 0; b < 4; ++b)
      for (Dim i = 0; i < batch.tgt_lens[b]; ++i) {
        const auto row = [&](const Array& all) {
          return all.reshape({4 * before.dim(1), before.dim(2)}).rows(b * before.dim(1) + i, b * before.dim(1) + i + 1);
        };
        if (i <= t)
          CHECK(same_bits(row(before), row(after)));
        else
          moved = moved || !same_bits(row(before), row(after));
      }
    CHECK(moved);
  }
}

TEST_CASE("token batches: a model learns from them, and padding changes no loss") {
  Rng rng(11);
  nn::Seq2Seq model = small_model(rng);
  const EncodedPairs pairs{{{10, 11}, {12}}, {{20}, {21, 22, 23}}};
  const auto sum = [&](const TokenBatch& batch) {
    return model
        .loss(batch.src, batch.src_lens, batch.tgt_in, batch.labels, {.ignore_id = ignore_id, .reduction = Reduction::sum},
              {.tgt_lens = batch.tgt_lens})
        .item();
  };
  const double together = sum(make_batch(pairs, {0, 1})), alone = sum(make_batch(pairs, {0})) + sum(make_batch(pairs, {1}));
  CHECK(together == Catch::Approx(alone).epsilon(1e-5));
}
