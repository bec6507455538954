#include "text/ter_edits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

namespace examples::text {
namespace {

using Words = std::vector<std::int64_t>;

// Tercom's limits.
constexpr std::size_t longest_run = 10, farthest_move = 50, most_candidates = 1000;
constexpr double half_beam = 25;

enum class Edit : std::uint8_t { keep, replace, remove, insert };

/// The cheapest edits without moves, and how they place the words of the reference in the hypothesis.
struct Placement {
  std::int64_t edits = 0;
  std::vector<std::int64_t> place;  // of each word of the reference: the last word of the hypothesis at or before it, −1 before the first
  std::vector<bool> wrong_hypothesis, wrong_reference;
};

/// Levenshtein distance in a beam about the diagonal; of equally cheap ways keep or replace, then remove, then insert. What lies outside of
/// the beam is not stored: a table of long sentences would be large.
class EditTable {
 public:
  EditTable(const Words& hypothesis, const Words& reference)
      : hypothesis_(hypothesis), reference_(reference), width_(reference.size() + 1), rows_{{0, width_, 0}}, cells_(width_) {
    for (std::size_t j = 0; j < width_; ++j) cells_[j] = {static_cast<std::int64_t>(j), Edit::insert};
    for (std::size_t i = 1; i <= hypothesis.size(); ++i) fill_row(i);
  }

  std::int64_t edits() const { return cells_.back().cost; }

  Placement placement() const {
    std::vector<Edit> way;
    for (std::size_t i = hypothesis_.size(), j = reference_.size(); i > 0 || j > 0;) {
      const Edit edit = cell(i, j).edit;
      way.push_back(edit);
      if (edit != Edit::insert) --i;
      if (edit != Edit::remove) --j;
    }
    std::ranges::reverse(way);
    Placement placed;
    placed.edits = edits();
    std::int64_t at = -1;
    for (const Edit edit : way) {
      if (edit != Edit::insert) {
        ++at;
        placed.wrong_hypothesis.push_back(edit != Edit::keep);
      }
      if (edit != Edit::remove) {
        placed.place.push_back(at);
        placed.wrong_reference.push_back(edit != Edit::keep);
      }
    }
    return placed;
  }

 private:
  struct Cell {
    std::int64_t cost = std::numeric_limits<std::int64_t>::max() / 2;
    Edit edit = Edit::keep;
  };
  struct Row {
    std::size_t begin, end, at;  // columns [begin, end), from cells_[at] on
  };

  Cell cell(std::size_t i, std::size_t j) const {
    const Row& row = rows_[i];
    return j >= row.begin && j < row.end ? cells_[row.at + j - row.begin] : Cell{};
  }

  void fill_row(std::size_t i) {
    const double slope = static_cast<double>(reference_.size()) / static_cast<double>(hypothesis_.size());
    const double beam = slope / 2 > half_beam ? std::ceil(slope / 2 + half_beam) : half_beam;
    const double diagonal = std::floor(static_cast<double>(i) * slope);
    const auto begin = static_cast<std::size_t>(std::max(0.0, diagonal - beam));
    auto end = std::min(width_, static_cast<std::size_t>(diagonal + beam));
    if (i == hypothesis_.size()) end = width_;
    rows_.push_back({begin, end, cells_.size()});
    for (std::size_t j = begin; j < end; ++j) {
      Cell best;
      const auto take = [&best](std::int64_t cost, Edit edit) {
        if (cost < best.cost) best = {cost, edit};
      };
      if (j > 0) {
        const bool same = hypothesis_[i - 1] == reference_[j - 1];
        take(cell(i - 1, j - 1).cost + (same ? 0 : 1), same ? Edit::keep : Edit::replace);
      }
      take(cell(i - 1, j).cost + 1, Edit::remove);
      if (j > begin) take(cells_.back().cost + 1, Edit::insert);
      cells_.push_back(best);
    }
  }

  const Words& hypothesis_;
  const Words& reference_;
  std::size_t width_;
  std::vector<Row> rows_;
  std::vector<Cell> cells_;
};

/// `length` words from `start` are put before the word that stands at `target`.
Words moved(const Words& words, std::size_t start, std::size_t length, std::size_t target) {
  Words result = words;
  const auto at = [&result](std::size_t i) { return result.begin() + static_cast<std::ptrdiff_t>(i); };
  if (target < start)
    std::rotate(at(target), at(start), at(start + length));
  else if (target > start + length)
    std::rotate(at(start), at(start + length), at(target));
  // Into its own middle: as far past its end as the target lies past its start.
  else
    std::rotate(at(start), at(start + length), at(std::min(length + target, words.size())));
  return result;
}

/// The best move so far: the most edits saved, then the longest run, the earliest start, the earliest target.
struct Move {
  std::int64_t saved = 0, length = 0, minus_start = 0, minus_target = 0;
  Words words = {};
  auto rank() const { return std::tie(saved, length, minus_start, minus_target, words); }
};

class MoveSearch {
 public:
  MoveSearch(const Words& hypothesis, const Words& reference, std::size_t& candidates)
      : hypothesis_(hypothesis), reference_(reference), placed_(EditTable(hypothesis, reference).placement()), candidates_(candidates) {}

  /// Every run of words that the two have in common, as long as it does not stand where it should.
  std::optional<Move> best() {
    for (std::size_t start = 0; start < hypothesis_.size(); ++start)
      for (std::size_t reference_start = 0; reference_start < reference_.size(); ++reference_start) {
        if (std::max(start, reference_start) - std::min(start, reference_start) > farthest_move) continue;
        for (std::size_t length = 1; length <= longest_run && in_common(start, reference_start, length); ++length) {
          try_run(start, reference_start, length);
          if (candidates_ >= most_candidates) return best_;
        }
      }
    return best_;
  }

 private:
  bool in_common(std::size_t start, std::size_t reference_start, std::size_t length) const {
    const std::size_t i = start + length - 1, j = reference_start + length - 1;  // those before have been compared
    return i < hypothesis_.size() && j < reference_.size() && hypothesis_[i] == reference_[j];
  }

  void try_run(std::size_t start, std::size_t reference_start, std::size_t length) {
    const auto any_wrong = [length](const std::vector<bool>& wrong, std::size_t begin) {
      const auto first = wrong.begin() + static_cast<std::ptrdiff_t>(begin);
      return std::find(first, first + static_cast<std::ptrdiff_t>(length), true) != first + static_cast<std::ptrdiff_t>(length);
    };
    if (!any_wrong(placed_.wrong_hypothesis, start) || !any_wrong(placed_.wrong_reference, reference_start)) return;
    const std::int64_t here = placed_.place[reference_start];
    if (here >= static_cast<std::int64_t>(start) && here < static_cast<std::int64_t>(start + length)) return;
    std::int64_t last = -1;
    for (std::size_t offset = 0; offset <= length;
         ++offset) {  // behind the word of the reference before the run, then behind each of the run's
      const std::size_t behind = reference_start + offset;
      if (behind > reference_.size()) break;
      const std::int64_t target = behind == 0 ? 0 : placed_.place[behind - 1] + 1;
      if (target == last) continue;
      last = target;
      Words words = moved(hypothesis_, start, length, static_cast<std::size_t>(target));
      const std::int64_t saved = placed_.edits - EditTable(words, reference_).edits();
      Move move{saved, static_cast<std::int64_t>(length), -static_cast<std::int64_t>(start), -target, std::move(words)};
      ++candidates_;
      if (!best_ || move.rank() > best_->rank()) best_ = std::move(move);
    }
  }

  const Words& hypothesis_;
  const Words& reference_;
  Placement placed_;
  std::size_t& candidates_;
  std::optional<Move> best_;
};

}  // namespace

std::int64_t translation_edits(const Words& hypothesis, const Words& reference) {
  if (reference.empty()) return static_cast<std::int64_t>(hypothesis.size());
  Words words = hypothesis;
  std::int64_t moves = 0;
  for (std::size_t candidates = 0;;) {
    const std::optional<Move> best = MoveSearch(words, reference, candidates).best();
    if (candidates >= most_candidates || !best || best->saved <= 0) break;
    words = best->words;
    ++moves;
  }
  return moves + EditTable(words, reference).edits();
}

}  // namespace examples::text
