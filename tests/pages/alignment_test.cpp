#include <tapeform/pages/alignment.hpp>
#include <tapeform/core/error.hpp>

#include <cmath>

#include "catch.hpp"
#include "message.hpp"

using namespace tapeform;
using namespace pages;

namespace {

/// Two heads, three target tokens, two source tokens.
const AttentionMap map{.weights = Array::of({2, 3, 2}, {1, 0, 0.25, 0.75, 0.5, 0.5, 0.5, 0.5, 0, 1, 0.5, 0.5}),
                       .queries = {"the", "house", "\t"},
                       .keys = {"das", "▁Haus"}};

}  // namespace

TEST_CASE("pages: a soft alignment is one head or the mean of all, rows summing to 1") {
  CHECK(soft_alignment(map).to_vector() == std::vector<double>{0.75, 0.25, 0.125, 0.875, 0.5, 0.5});
  CHECK(soft_alignment(map, {.head = 1}).to_vector() == std::vector<double>{0.5, 0.5, 0, 1, 0.5, 0.5});
  CHECK(soft_alignment(map).shape() == Shape{3, 2});
  CHECK(message<ValueError>([] { soft_alignment(map, {.head = 2}); }) == "alignment: there is no head 2; got weights [2, 3, 2]");
  CHECK(message<ShapeError>([] {
          soft_alignment({.weights = Array::ones({2, 2})});
        }) == "alignment: weights must be [H, Tq, Tk]; got [2, 2]");
}

TEST_CASE("pages: a hard alignment links each target token with the source that it attends to most; ties take the first") {
  CHECK(pharaoh(hard_alignment(map)) == "0-0 1-1 0-2");
  CHECK(hard_alignment(map, {.head = 1}) == Alignment{{0, 0}, {1, 1}, {0, 2}});
  CHECK(pharaoh({}).empty());
}

TEST_CASE("pages: with a threshold, every weight that reaches it is a link") {
  CHECK(pharaoh(hard_alignment(map, {.threshold = 0.25})) == "0-0 1-0 1-1 0-2 1-2");
  CHECK(pharaoh(hard_alignment(map, {.threshold = 1})).empty());
  CHECK(message<ValueError>([] { hard_alignment(map, {.threshold = 1.5}); }) == "alignment: threshold must be from 0 to 1; got 1.5");
  CHECK_THROWS_AS(hard_alignment(map, {.threshold = NAN}), ValueError);
}

TEST_CASE("pages: a query that attends to nothing, or to no number, is not aligned") {
  const AttentionMap holes{.weights = Array::of({1, 3, 2}, {0, 0, NAN, NAN, 0, 1})};
  CHECK(pharaoh(hard_alignment(holes)) == "1-2");
  CHECK(pharaoh(hard_alignment(holes, {.threshold = 0.5})) == "1-2");
}

TEST_CASE("pages: an alignment as a table has a field for every token, whatever it holds") {
  CHECK(alignment_table(map) == "\tdas\t▁Haus\nthe\t0.75\t0.25\nhouse\t0.125\t0.875\n␉\t0.5\t0.5\n");
  CHECK_THROWS_AS(alignment_table({.weights = Array::ones({1, 1, 1})}), ShapeError);
}
