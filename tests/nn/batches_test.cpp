#include <tapeform/nn/batches.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/checkpoint.hpp>

#include <algorithm>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "core/files.hpp"
#include "message.hpp"

using namespace tapeform;

namespace {

std::vector<std::int64_t> list(const Ids& ids) { return {ids.values().begin(), ids.values().end()}; }

std::vector<std::vector<std::int64_t>> epoch(nn::Minibatches& batches) {
  std::vector<std::vector<std::int64_t>> all;
  for (Dim i = batches.batches_per_epoch(); i > 0; --i) all.push_back(list(batches.next()));
  return all;
}

std::vector<std::int64_t> sorted(const std::vector<std::vector<std::int64_t>>& batches) {
  std::vector<std::int64_t> rows;
  for (const auto& batch : batches) rows.insert(rows.end(), batch.begin(), batch.end());
  std::ranges::sort(rows);
  return rows;
}

}  // namespace

TEST_CASE("minibatches: every row once an epoch, in an order of its own that the seed decides") {
  for (const Dim count : {1, 7, 8, 9, 33})
    for (const Dim size : {1, 8, 40}) {
      nn::Minibatches batches(count, {.batch = size, .seed = 3}), again(count, {.batch = size, .seed = 3});
      CHECK(batches.batches_per_epoch() == (count + size - 1) / size);
      for (std::int64_t e = 0; e < 3; ++e) {
        CHECK(batches.epoch() == e);
        const auto order = epoch(batches);
        CHECK(sorted(order) == list(Ids::arange(count)));
        for (std::size_t i = 0; i + 1 < order.size(); ++i) CHECK(static_cast<Dim>(order[i].size()) == size);
        CHECK(order == epoch(again));
      }
    }
  nn::Minibatches all(3, {.batch = std::numeric_limits<Dim>::max(), .shuffle = false});  // however large: all rows at once
  CHECK(all.batches_per_epoch() == 1);
  CHECK(list(all.next()) == list(Ids::arange(3)));
  CHECK(list(all.next()) == list(Ids::arange(3)));
  CHECK(all.epoch() == 2);
  nn::Minibatches batches(50, {.batch = 50}), other(50, {.batch = 50, .seed = 1});
  const auto first = epoch(batches);
  CHECK(first != epoch(batches));
  CHECK(first != epoch(other));
  CHECK(first.front() != list(Ids::arange(50)));
}

TEST_CASE("minibatches: rows of one's own, in their order where that is wanted, and without a smaller last batch") {
  nn::Minibatches plain(Ids{5, 3, 9}, {.batch = 2, .shuffle = false});
  CHECK(list(plain.next()) == std::vector<std::int64_t>{5, 3});
  CHECK(list(plain.next()) == std::vector<std::int64_t>{9});
  CHECK(list(plain.next()) == std::vector<std::int64_t>{5, 3});
  CHECK(plain.epoch() == 1);
  nn::Minibatches whole(Ids{5, 3, 9, 2, 4}, {.batch = 2, .drop_last = true});
  CHECK(whole.batches_per_epoch() == 2);
  for (int i = 0; i < 6; ++i) CHECK(whole.next().numel() == 2);
  CHECK(whole.epoch() == 3);
}

TEST_CASE("minibatches: a checkpoint goes on with the very next batch") {
  const TemporaryFile file("minibatches");
  nn::Minibatches batches(10, {.batch = 3, .seed = 5});
  for (int n = 0; n < 9; ++n) {
    io::save_checkpoint(file.path, {{"batches", batches}});
    nn::Minibatches resumed(10, {.batch = 3});  // the seed is the file's
    if (n % 2) resumed.next();
    io::load_checkpoint(file.path, {{"batches", resumed}});
    nn::Minibatches ahead = batches;
    for (int i = 0; i < 5; ++i) {
      CHECK(resumed.epoch() == ahead.epoch());
      CHECK(list(resumed.next()) == list(ahead.next()));
    }
    batches.next();
  }
  nn::Minibatches other(11, {.batch = 3});
  io::load_checkpoint(file.path, {{"batches", other}});
  CHECK(message<ValueError>([&] { other.next(); }) ==
        "Minibatches: what was loaded must fit; got 11 rows in batches of 3, loaded 10 rows in batches of 3");
}

TEST_CASE("minibatches: what makes no batch is an error") {
  CHECK(message<ValueError>([] { nn::Minibatches(0); }) == "Minibatches: an epoch must have a batch; got 0 rows, batches of 32");
  CHECK(message<ValueError>([] { nn::Minibatches(3, {.batch = 4, .drop_last = true}); }) ==
        "Minibatches: an epoch must have a batch; got 3 rows, batches of 4, the last smaller one left out");
  CHECK(message<ValueError>([] { nn::Minibatches(3, {.batch = 0}); }) ==
        "Minibatches: an epoch must have a batch; got 3 rows, batches of 0");
  CHECK(message<ShapeError>([] { nn::Minibatches(Ids::rows({{1, 2}})); }) == "Minibatches: rows must have one axis; got [1, 2]");
}

TEST_CASE("take_rows: whole rows of arrays and of ids, in the order asked for") {
  const Array x = Array::of({3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(nn::take_rows(x, Ids{2, 0, 2}).to_vector() == std::vector<double>{5, 6, 1, 2, 5, 6});
  CHECK(nn::take_rows(x, Ids()).shape() == Shape{0, 2});
  const Ids ids = Ids::rows({{1, 2}, {3, 4}, {5, 6}});
  CHECK(nn::take_rows(ids, Ids{2, 0}) == Ids::rows({{5, 6}, {1, 2}}));
  CHECK(nn::take_rows(Ids{7, 8, 9}, Ids{1, 1}) == Ids{8, 8});
  CHECK(nn::take_rows(Ids(), Ids()).numel() == 0);
  CHECK(message<ValueError>([&] { nn::take_rows(ids, Ids{3}); }) == "take_rows: rows must lie in [0, 3); got 3");
  CHECK(message<ValueError>([&] { nn::take_rows(ids, Ids{-1}); }) == "take_rows: rows must lie in [0, 3); got -1");
  CHECK_THROWS_AS(nn::take_rows(x, Ids{3}), ValueError);
  CHECK(message<ShapeError>([&] { nn::take_rows(ids, ids); }) ==
        "take_rows: rows must have one axis, and x at least one; got x [3, 2], rows [3, 2]");
}

TEST_CASE("pad: ids and how many of each row are valid") {
  const nn::PaddedIds padded = nn::pad({{3, 4}, {}, {5, 6, 7}}, 9);
  CHECK(padded.ids == Ids::rows({{3, 4, 9}, {9, 9, 9}, {5, 6, 7}}));
  CHECK(padded.lens == Ids{2, 0, 3});
  CHECK(nn::pad({{1}}).ids == Ids::rows({{1}}));
  CHECK(nn::pad({}).ids.shape() == Shape{0, 0});
  CHECK(nn::pad({{}, {}}).ids.shape() == Shape{2, 0});
}

TEST_CASE("train_valid_split: every row on one side, by chance and seed") {
  Rng rng(1), again(1);
  const auto [train, valid] = nn::train_valid_split(100, 0.2, rng);
  CHECK(train.numel() == 80);
  CHECK(valid.numel() == 20);
  CHECK(std::ranges::is_sorted(train.values()));
  CHECK(sorted({list(train), list(valid)}) == list(Ids::arange(100)));
  CHECK(valid == nn::train_valid_split(100, 0.2, again).valid);
  CHECK(!(valid == nn::train_valid_split(100, 0.2, again).valid));  // the Rng has moved on
  CHECK(nn::train_valid_split(3, 0.0, rng).valid.numel() == 0);
  CHECK(nn::train_valid_split(3, 1.0, rng).train.numel() == 0);
  CHECK(nn::train_valid_split(0, 0.5, rng).train.numel() == 0);
  CHECK(message<ValueError>([&] { nn::train_valid_split(3, 1.5, rng); }) ==
        "train_valid_split: count must not be negative, and the share lie in [0, 1]; got 3, 1.5");
  CHECK_THROWS_AS(nn::train_valid_split(-1, 0.5, rng), ValueError);
}

TEST_CASE("TX-05: last small batch weighted as a full one", "[case]") {
  const std::vector<double> losses{0, 0, 0, 0, 10};
  nn::Minibatches batches(5, {.batch = 2, .shuffle = false});
  nn::RunningMean mean;
  for (Dim i = batches.batches_per_epoch(); i > 0; --i) {
    const Ids rows = batches.next();
    double sum = 0;
    for (const std::int64_t row : rows.values()) sum += losses[static_cast<std::size_t>(row)];
    mean.add(sum / static_cast<double>(rows.numel()), rows.numel());
  }
  CHECK(mean.value() == 2.0);
  CHECK(mean.count() == 5);
  nn::RunningMean tokens;  // where lengths differ, by tokens
  tokens.add(1.0, 30);
  tokens.add(4.0, 10);
  CHECK(tokens.value() == 1.75);
  CHECK(nn::RunningMean().value() == 0.0);
  tokens.add(std::numeric_limits<double>::quiet_NaN(), 0);  // the mean of nothing
  CHECK(tokens.value() == 1.75);
  CHECK_THROWS_AS(tokens.add(1.0, -1), ValueError);
}
