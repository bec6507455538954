#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace examples::text {

/// Which words of a sentence translate which of another: pairs (source, target), from 0. `possible` holds the sure ones too.
struct WordAlignment {
  std::vector<std::pair<int, int>> sure, possible;
};

/// One line of the Pharaoh format: `0-0 1-2 2?1`, `-` between the words of a sure pair, `?` of a possible one. Pairs come out in order,
/// each once.
std::string pharaoh(const WordAlignment& alignment);
/// @throws UsageError naming `source` (a file and a line) and the field that is no pair.
WordAlignment parse_pharaoh(std::string_view line, const std::string& source);
/// One alignment a line. @throws UsageError naming the file and the line.
std::vector<WordAlignment> read_pharaoh(std::string_view lines, const std::string& source);

struct AlignmentScore {
  double error_rate = 0, precision = 0, recall = 0;  ///< 0 … 1
  std::int64_t links = 0, sure = 0;                  ///< pairs that were proposed; sure pairs of the gold
};

/// Alignment error rate of a corpus: 1 − (|A∩S| + |A∩P|) / (|A| + |S|), with precision |A∩P| / |A| and recall |A∩S| / |S|; A are the sure
/// pairs proposed, S and P ⊇ S those of the gold. Nothing proposed where nothing is sure is no error. Och and Ney, "A Systematic Comparison
/// of Various Statistical Alignment Models", 2003. @throws tapeform::ValueError for other numbers of sentences.
AlignmentScore alignment_error_rate(std::span<const WordAlignment> proposed, std::span<const WordAlignment> gold);

}  // namespace examples::text
