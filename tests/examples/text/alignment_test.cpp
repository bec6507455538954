#include "text/alignment.hpp"

#include <tapeform/core/error.hpp>

#include "catch.hpp"
#include "common/command_line.hpp"
#include "message.hpp"

using namespace examples::text;

namespace {

using Pairs = std::vector<std::pair<int, int>>;

std::string usage_error(const std::string& line) {
  try {
    read_pharaoh(line, "gold.txt");
  } catch (const examples::UsageError& error) {
    return error.message;
  }
  return "no error";
}

}  // namespace

TEST_CASE("Pharaoh format: in and out") {
  const WordAlignment alignment = parse_pharaoh(" 2-1 0-0\t1?2\r", "x");
  CHECK(alignment.sure == Pairs{{2, 1}, {0, 0}});
  CHECK(alignment.possible == Pairs{{2, 1}, {0, 0}, {1, 2}});
  CHECK(pharaoh(alignment) == "0-0 1?2 2-1");
  CHECK(pharaoh({}).empty());
  CHECK(pharaoh({{{3, 3}, {3, 3}}, {}}) == "3-3");
  const std::vector<WordAlignment> lines = read_pharaoh("0-0\n\n1-1 2-2", "x");
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].sure.empty());
  CHECK(lines[2].sure == Pairs{{1, 1}, {2, 2}});
  CHECK(read_pharaoh("", "x").empty());
}

TEST_CASE("Pharaoh format: what is wrong, by file and line") {
  CHECK(usage_error("0-0\n0-1 2:3") == "gold.txt: line 2: '2:3' is not a pair of words like 0-0 or 2?1");
  for (const char* field : {"-1-0", "1", "1-", "-1", "1-x", "1-2-3", "1--2", "99999999999-0", "1?"})
    CHECK_THAT(usage_error(field), Contains("gold.txt: line 1: '" + std::string(field) + "' is not a pair"));
}

TEST_CASE("alignment error rate: by hand") {
  // Proposed: 0-0 (sure), 1-1 (possible), 2-2 (wrong); sure: 0-0, 3-3.
  const std::vector<WordAlignment> proposed = {{{{0, 0}, {1, 1}, {2, 2}}, {}}};
  const std::vector<WordAlignment> gold = {{{{0, 0}, {3, 3}}, {{0, 0}, {3, 3}, {1, 1}}}};
  const AlignmentScore score = alignment_error_rate(proposed, gold);
  CHECK(score.precision == 2.0 / 3);
  CHECK(score.recall == 1.0 / 2);
  CHECK(score.error_rate == Catch::Approx(1 - 3.0 / 5).epsilon(1e-15));
  CHECK(score.links == 3);
  CHECK(score.sure == 2);
}

TEST_CASE("alignment error rate: perfect, empty, over a corpus, and what does not fit") {
  const std::vector<WordAlignment> gold = {{{{0, 0}}, {}}, {{{0, 1}, {1, 0}}, {{2, 2}}}};
  CHECK(alignment_error_rate(gold, gold).error_rate == 0);
  const std::vector<WordAlignment> twice = {{{{0, 0}, {0, 0}}, {}}, gold[1]};
  CHECK(alignment_error_rate(twice, gold).links == 3);
  const std::vector<WordAlignment> none(2);
  CHECK(alignment_error_rate(none, gold).error_rate == 1);
  CHECK(alignment_error_rate(none, none).error_rate == 0);
  CHECK(message<tapeform::ValueError>([&] { alignment_error_rate(std::span(gold).first(1), gold); }) ==
        "alignment error rate: every alignment needs its gold; got 1 alignments, 2 gold");
}
