#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "text/parallel.hpp"

namespace examples::text {

/// Where Debian's package trans-de-en has its German-English dictionary: 25 MB, GPL-2+, read in place and never copied.
inline constexpr const char* ding_path = "/usr/share/trans/de-en";

/// What became of the parts of the entries, each counted once.
struct DingReport {
  std::int64_t uneven = 0;       ///< entries whose two sides have different numbers of parts, or that have one side
  std::int64_t parts = 0;        ///< parts of the other entries
  std::int64_t no_sentence = 0;  ///< words and phrases: no capital at the start, no full stop at the end, or fewer than three words
  std::int64_t open = 0;         ///< sentences with a choice (`/`), a gap (`…`), a placeholder (`sth.`) or other marks left
  std::int64_t repeated = 0;     ///< sentences whose German or English stood there before

  std::int64_t kept() const noexcept { return parts - no_sentence - open - repeated; }
  /// `318560 parts read, 17023 sentences kept; left out: 3 uneven entries, …`.
  std::string str() const;
};

struct DingText {
  ParallelText text;  ///< source German, target English; no sentence of either language twice
  DingReport report;
};

/// The whole sentences of a dictionary in Ding's format. An entry is a line `German :: English`; both sides have the same number of parts
/// between `|`, of which part n translates part n; a part has variants between `;`, of which the first is taken. Notes in `{}`, `[]`, `()`
/// and `<>` and abbreviations in `//` are taken out. Lines that begin with `#` are comments.
/// @throws UsageError naming `source` and the line when it is not valid UTF-8; when no sentence is found.
DingText parse_ding(std::string_view bytes, const std::string& source);

/// The dictionary of a file. @throws UsageError as parse_ding; when there is no such file, it says how to get it.
DingText read_ding(const std::string& path = ding_path);

enum class Part : std::uint8_t { train, valid, test };

/// The part of a corpus that a sentence belongs to for ever: 1 of 32 is for validation, 2 for testing. It depends on the bytes of the
/// sentence alone, so that no other sentence, order or version of the corpus moves it.
Part frozen_part(std::string_view sentence) noexcept;

struct SplitText {
  ParallelText train, valid, test;
};
/// Every pair in the part of its source.
SplitText frozen_split(const ParallelText& text);

}  // namespace examples::text
