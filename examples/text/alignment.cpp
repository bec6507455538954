#include "text/alignment.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "common/command_line.hpp"

namespace examples::text {
namespace {

using Pair = std::pair<int, int>;

bool read_pair(std::string_view field, Pair& pair, bool& sure) {
  const auto [behind_first, first_fault] = std::from_chars(field.data(), field.data() + field.size(), pair.first);
  if (first_fault != std::errc() || behind_first == field.data() + field.size()) return false;
  if (*behind_first != '-' && *behind_first != '?') return false;
  sure = *behind_first == '-';
  const auto [end, second_fault] = std::from_chars(behind_first + 1, field.data() + field.size(), pair.second);
  return second_fault == std::errc() && end == field.data() + field.size() && pair.first >= 0 && pair.second >= 0;
}

double share(std::int64_t part, std::int64_t whole) { return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole); }

}  // namespace

std::string pharaoh(const WordAlignment& alignment) {
  std::map<Pair, char> marks;
  for (const Pair& pair : alignment.possible) marks[pair] = '?';
  for (const Pair& pair : alignment.sure) marks[pair] = '-';
  std::string line;
  for (const auto& [pair, mark] : marks) line += fmt::format("{}{}{}{}", line.empty() ? "" : " ", pair.first, mark, pair.second);
  return line;
}

WordAlignment parse_pharaoh(std::string_view line, const std::string& source) {
  WordAlignment alignment;
  constexpr std::string_view spaces = " \t\r";
  for (std::size_t at = line.find_first_not_of(spaces); at != std::string_view::npos; at = line.find_first_not_of(spaces, at)) {
    const std::string_view field = line.substr(at, line.find_first_of(spaces, at) - at);
    Pair pair;
    bool sure = false;
    if (!read_pair(field, pair, sure)) throw UsageError{fmt::format("{}: '{}' is not a pair of words like 0-0 or 2?1", source, field)};
    if (sure) alignment.sure.push_back(pair);
    alignment.possible.push_back(pair);
    at += field.size();
  }
  return alignment;
}

std::vector<WordAlignment> read_pharaoh(std::string_view lines, const std::string& source) {
  std::vector<WordAlignment> alignments;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    alignments.push_back(parse_pharaoh(lines.substr(at, end - at), fmt::format("{}: line {}", source, alignments.size() + 1)));
    at = end + 1;
  }
  return alignments;
}

AlignmentScore alignment_error_rate(std::span<const WordAlignment> proposed, std::span<const WordAlignment> gold) {
  if (proposed.size() != gold.size())
    throw tapeform::ValueError(
        fmt::format("alignment error rate: every alignment needs its gold; got {} alignments, {} gold", proposed.size(), gold.size()));
  AlignmentScore score;
  std::int64_t in_sure = 0, in_possible = 0;
  for (std::size_t i = 0; i < gold.size(); ++i) {
    const std::set<Pair> links(proposed[i].sure.begin(), proposed[i].sure.end()), sure(gold[i].sure.begin(), gold[i].sure.end());
    std::set<Pair> possible(gold[i].possible.begin(), gold[i].possible.end());
    possible.insert(sure.begin(), sure.end());
    score.links += static_cast<std::int64_t>(links.size());
    score.sure += static_cast<std::int64_t>(sure.size());
    for (const Pair& link : links) {
      in_sure += sure.contains(link) ? 1 : 0;
      in_possible += possible.contains(link) ? 1 : 0;
    }
  }
  score.precision = share(in_possible, score.links);
  score.recall = share(in_sure, score.sure);
  score.error_rate = 1 - share(in_sure + in_possible, score.links + score.sure);
  return score;
}

}  // namespace examples::text
