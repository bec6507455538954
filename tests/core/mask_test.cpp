#include <tapeform/core/error.hpp>
#include <tapeform/core/mask.hpp>
#include <type_traits>

#include "catch.hpp"
#include "message.hpp"

using namespace tapeform;

namespace {

// The mask written out for one sample and head: a row of 0 and 1 for every query.
std::vector<std::vector<int>> rows_of(const Mask& mask, Dim Tq, Dim Tk, Dim b = 0, Dim h = 0) {
  std::vector<std::vector<int>> rows;
  for (Dim i = 0; i < Tq; ++i) {
    const MaskRow row = mask.row(b, h, i, Tq, Tk);
    auto& bits = rows.emplace_back();
    for (Dim j = 0; j < Tk; ++j) bits.push_back(row.sees(j));
  }
  return rows;
}

using Rows = std::vector<std::vector<int>>;

template <class T>
concept can_block = requires(const T& table) {
  Mask::block(table, Shape{1, 1});
};

}  // namespace

TEST_CASE("a mask that was given nothing hides nothing") {
  const Mask mask;
  CHECK_FALSE(mask);
  CHECK(rows_of(mask, 2, 3) == Rows{{1, 1, 1}, {1, 1, 1}});
  CHECK_FALSE(mask.has_lens());
  CHECK_FALSE(mask.hides_keys(2, 3, 4));
  CHECK_NOTHROW(mask.check("attention", 2, 1, 3, 4));
}

TEST_CASE("MA-20: causal with fewer queries than keys", "[case]") {
  CHECK(rows_of(Mask::causal(), 1, 8) == Rows{{1, 1, 1, 1, 1, 1, 1, 1}});
  CHECK(rows_of(Mask::causal(), 2, 5) == Rows{{1, 1, 1, 1, 0}, {1, 1, 1, 1, 1}});
  CHECK(rows_of(Mask::causal(), 3, 3) == Rows{{1, 0, 0}, {1, 1, 0}, {1, 1, 1}});
  CHECK(rows_of(Mask::causal(), 3, 2) == Rows{{0, 0}, {1, 0}, {1, 1}});
}

TEST_CASE("valid lengths hide keys a sample or a query") {
  const Mask mask = Mask::valid_lens({1, 3, 0});
  CHECK(rows_of(mask, 2, 3, 0) == Rows{{1, 0, 0}, {1, 0, 0}});
  CHECK(rows_of(mask, 2, 3, 1) == Rows{{1, 1, 1}, {1, 1, 1}});
  CHECK(rows_of(mask, 2, 3, 2) == Rows{{0, 0, 0}, {0, 0, 0}});
  CHECK(mask.has_lens());
  CHECK(mask.lens() == Ids{1, 3, 0});
  const Mask queries = Mask::valid_lens(Ids::rows({{1, 2}, {3, 0}}));
  CHECK(rows_of(queries, 2, 3, 0) == Rows{{1, 0, 0}, {1, 1, 0}});
  CHECK(rows_of(queries, 2, 3, 1) == Rows{{1, 1, 1}, {0, 0, 0}});
  CHECK_FALSE(queries.has_lens());
}

TEST_CASE("allow and block are opposites, by their names") {
  const std::vector<bool> table{true, false, false, true};
  CHECK(rows_of(Mask::allow(table, {2, 2}), 2, 2) == Rows{{1, 0}, {0, 1}});
  CHECK(rows_of(Mask::block(table, {2, 2}), 2, 2) == Rows{{0, 1}, {1, 0}});
  const std::vector<std::uint8_t> bytes{1, 0, 0, 200};
  CHECK(rows_of(Mask::allow(bytes, {2, 2}), 2, 2) == Rows{{1, 0}, {0, 1}});
  CHECK(rows_of(Mask::block(bytes, {2, 2}), 2, 2) == Rows{{0, 1}, {1, 0}});
}

// Numbers wider than a byte are no table at all: they do not compile. Bytes that are not 0 are true, never their bitwise opposite.
TEST_CASE("MA-25: integer padding mask", "[case]") {
  CHECK(can_block<std::vector<bool>>);
  CHECK(can_block<std::vector<std::uint8_t>>);
  CHECK_FALSE(can_block<std::vector<std::int64_t>>);
  CHECK_FALSE(can_block<Ids>);
  CHECK_FALSE(can_block<std::vector<float>>);
  const std::vector<std::uint8_t> padding{0, 1, 0, 2};
  CHECK(rows_of(Mask::block(padding, {1, 1, 1, 4}), 1, 4) == Rows{{1, 0, 1, 0}});
}

TEST_CASE("MA-19: rank-3 mask is [B, Tq, Tk], never heads", "[case]") {
  const std::vector<bool> two(8, true), four(16, true);
  const Mask of_two = Mask::allow(two, {2, 2, 2}), of_four = Mask::allow(four, {4, 2, 2});
  CHECK_NOTHROW(of_two.check("attention", 2, 2, 2, 2));
  CHECK_THROWS_AS(of_four.check("attention", 2, 2, 2, 2), ShapeError);
  CHECK_NOTHROW(of_four.check("attention", 4, 1, 2, 2));
  CHECK_THROWS_AS(of_four.check("attention", 1, 4, 2, 2), ShapeError);
  // Every sample has its own table, under every head.
  const std::vector<bool> table{true, true, false, true};
  const Mask samples = Mask::allow(table, {2, 1, 2});
  for (const Dim h : {0, 1}) {
    CHECK(rows_of(samples, 1, 2, 0, h) == Rows{{1, 1}});
    CHECK(rows_of(samples, 1, 2, 1, h) == Rows{{0, 1}});
  }
}

TEST_CASE("MA-11: padding and a rank-3 attention mask together", "[case]") {
  std::vector<bool> causal;
  for (Dim i = 0; i < 25; ++i) causal.push_back(i % 5 > i / 5);
  const Mask mask = Mask::block(causal, {1, 5, 5}) & Mask::valid_lens({4});
  CHECK(rows_of(mask, 5, 5) == Rows{{1, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {1, 1, 1, 0, 0}, {1, 1, 1, 1, 0}, {1, 1, 1, 1, 0}});
}

TEST_CASE("& allows what both allow, in either order, for every pair of kinds") {
  const std::vector<bool> square{true, false, true, true, true, true, false, true, true};
  const std::vector<bool> heads{true, true, false, true, true, true, false, true, true, true, true, true};
  const Mask masks[] = {Mask::causal(),
                        Mask::valid_lens({2, 3}),
                        Mask::valid_lens(Ids::rows({{3, 1, 2}, {0, 3, 3}})),
                        Mask::allow(square, {3, 3}),
                        Mask::block(heads, {2, 2, 1, 3}),
                        Mask()};
  for (const Mask& a : masks)
    for (const Mask& b : masks)
      for (Dim sample = 0; sample < 2; ++sample)
        for (Dim head = 0; head < 2; ++head) {
          const Rows both = rows_of(a & b, 3, 3, sample, head), x = rows_of(a, 3, 3, sample, head), y = rows_of(b, 3, 3, sample, head);
          for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 3; ++j) CHECK(both[i][j] == (x[i][j] & y[i][j]));
          CHECK(rows_of(b & a, 3, 3, sample, head) == both);
        }
}

TEST_CASE("visible keys are those that some query may attend to") {
  CHECK(Mask::causal().visible_keys(1, 2, 4) == Ids::rows({{1, 1, 1, 1}}));
  CHECK_FALSE(Mask::causal().hides_keys(1, 2, 4));
  const Mask lens = Mask::valid_lens({1, 3});
  CHECK(lens.visible_keys(2, 2, 3) == Ids::rows({{1, 0, 0}, {1, 1, 1}}));
  CHECK(lens.hides_keys(2, 2, 3));
  CHECK_FALSE(Mask::valid_lens({3, 3}).hides_keys(2, 2, 3));
  const std::vector<bool> table{true, false, false, false, false, true};
  CHECK(Mask::allow(table, {1, 2, 1, 3}).visible_keys(2, 5, 3) == Ids::rows({{1, 0, 1}, {1, 0, 1}}));
  CHECK((Mask::allow(table, {1, 2, 1, 3}) & lens).visible_keys(2, 5, 3) == Ids::rows({{1, 0, 0}, {1, 0, 1}}));
}

TEST_CASE("copies of a mask share its table, and a later & leaves them alone") {
  const std::vector<bool> table{true, false, true, true};
  Mask mask = Mask::allow(table, {2, 2});
  const Mask copy = mask;
  CHECK(copy.row(0, 0, 1, 2, 2).allowed == mask.row(0, 0, 1, 2, 2).allowed);
  mask = mask & Mask::block(table, {2, 2}) & Mask::causal();
  CHECK(rows_of(copy, 2, 2) == Rows{{1, 0}, {1, 1}});
  CHECK(rows_of(mask, 2, 2) == Rows{{0, 0}, {0, 0}});
}

TEST_CASE("errors of masks name what was expected and given") {
  CHECK(message<ValueError>([] { Mask::valid_lens({2, 0, -1}); }) == "valid_lens: a length may not be negative; got -1 for sample 2");
  CHECK(message<ValueError>([] {
          Mask::valid_lens(Ids::rows({{2, 0}, {1, -3}}));
        }) == "valid_lens: a length may not be negative; got -3 for sample 1");
  CHECK(message<ShapeError>([] {
          Mask::valid_lens(Ids::full({1, 2, 3}, 0));
        }) == "valid_lens: lengths are [B], one a sample, or [B, Tq], one a query; got [1, 2, 3]");
  CHECK(message<ShapeError>([] { Mask::allow(std::vector<bool>(3), Shape{3}); }) ==
        "Mask::allow: a table is [Tq, Tk], [B, Tq, Tk] or [B or 1, H or 1, Tq or 1, Tk]; got shape [3]. One length a sample is "
        "Mask::valid_lens");
  CHECK(message<ShapeError>([] {
          Mask::block(std::vector<bool>(3), Shape{2, 2});
        }) == "Mask::block: one bool for every element; got 3 bools for shape [2, 2]");
  CHECK(message<ShapeError>([] {
          Mask::valid_lens({1, 2}) & Mask::valid_lens({1});
        }) == "mask &: valid lengths a sample must agree; got [2] and [1]");
  CHECK(message<ShapeError>([] {
          Mask::allow(std::vector<bool>(6), Shape{2, 3}) & Mask::allow(std::vector<bool>(4), Shape{2, 2});
        }) == "mask &: tables must fit each other; got [2, 3] and [2, 2]");
  CHECK(message<ValueError>([] {
          Mask::valid_lens({2, 9}).check("attention", 2, 1, 4, 8);
        }) == "attention: a valid length may not exceed the 8 keys; got 9 for sample 1");
  CHECK(message<ShapeError>([] {
          Mask::valid_lens({2, 3}).check("attention", 3, 1, 4, 8);
        }) == "attention: valid lengths must be [B], one a sample; got lengths [2], scores [3, 1, 4, 8]");
  CHECK(message<ShapeError>([] {
          Mask::valid_lens(Ids::rows({{2, 3}})).check("attention", 1, 1, 4, 8);
        }) == "attention: valid lengths must be [B, Tq], one a query; got lengths [1, 2], scores [1, 1, 4, 8]");
}

TEST_CASE("MA-16: mask of the wrong shape is an error, with and without causal", "[case]") {
  const Mask table = Mask::allow(std::vector<bool>(3, true), Shape{3, 1});
  const std::string text =
      "attention: the mask must fit the scores [B, H, Tq, Tk]; got mask [3, 1], scores [2, 1, 8, 8]. A table is [Tq, Tk], [B, Tq, Tk] or "
      "[B or 1, H or 1, Tq or 1, Tk]";
  CHECK(message<ShapeError>([&] { table.check("attention", 2, 1, 8, 8); }) == text);
  CHECK(message<ShapeError>([&] { (table & Mask::causal()).check("attention", 2, 1, 8, 8); }) == text);
  CHECK(message<ShapeError>([&] { (Mask::causal() & table).check("attention", 2, 1, 8, 8); }) == text);
}
