#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace examples::text {

/// Sentences and their translations: target[i] says what source[i] says.
struct ParallelText {
  std::vector<std::string> source, target;

  std::size_t size() const noexcept { return source.size(); }
  void add(std::string from, std::string to) {
    source.push_back(std::move(from));
    target.push_back(std::move(to));
  }
};

/// Which pairs are left out. Lengths are in characters; the shorter side of a ratio counts as at least ten.
struct CleaningOptions {
  bool drop_empty = true;             ///< pairs with an empty side
  std::int64_t max_characters = 600;  ///< longest side; 0: any
  double max_ratio = 4.0;             ///< longer over shorter side; 0: any

  /// Nothing is left out, as for a test set: line n of what is translated must stay line n.
  static CleaningOptions keep_all() { return {.drop_empty = false, .max_characters = 0, .max_ratio = 0.0}; }
};

/// How many pairs were left out, each for the first reason that it gave.
struct DropReport {
  std::int64_t read = 0, empty = 0, too_long = 0, ratio = 0;

  std::int64_t dropped() const noexcept { return empty + too_long + ratio; }
  std::int64_t kept() const noexcept { return read - dropped(); }
  /// `29000 pairs read, 28990 kept; dropped: 3 empty, 5 too long, 2 of unlike lengths`.
  std::string str() const;
};

struct CleanText {
  ParallelText text;
  DropReport report;
};

/// A line as the model shall see it: a carriage return at its end, white space on both ends and U+0000 are gone (U+0000 inside becomes a
/// space); everything else stays. A line of nothing but white space, direction marks and zero-width characters becomes empty.
std::string tidy_line(std::string_view line);

/// The lines of UTF-8 text. A line ends with a line feed and with nothing else; the last one needs none; a byte order mark at the start is
/// left out. @throws UsageError naming `source` and the line when it is not valid UTF-8.
std::vector<std::string> split_lines(std::string_view bytes, const std::string& source);

/// Tidies every line and leaves out pairs as the options say. @throws UsageError when the sides have different lengths.
CleanText clean(const ParallelText& text, const CleaningOptions& options = {});

/// Line n of one file is the translation of line n of the other.
/// @throws UsageError naming a file that cannot be read or holds invalid UTF-8, with its line; both files and their numbers of lines when
/// these differ; both files when no pair is left.
CleanText read_parallel(const std::string& source_path, const std::string& target_path, const CleaningOptions& options = {});

/// Source, tab, target on each line; what follows a second tab is left out. Empty lines count as empty pairs.
/// @throws UsageError naming the file and the line that has no tab or is not valid UTF-8; the file when no pair is left.
CleanText read_tsv(const std::string& path, const CleaningOptions& options = {});

/// Test pairs that training holds too: what a model is asked that it has seen.
struct Overlap {
  std::int64_t pairs = 0, sources = 0, targets = 0;  ///< test pairs of which both sides, the source, the target stand in training
  std::int64_t of = 0;                               ///< test pairs
  std::vector<std::int64_t> first = {};              ///< positions of the first few whole pairs, from 0

  /// `12 of 1000 pairs stand in the training text (line 3, 17, …); 20 of their sources, 15 of their targets`.
  std::string str() const;
};
Overlap overlap(const ParallelText& train, const ParallelText& test);

}  // namespace examples::text
