#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "text/parallel.hpp"
#include "text/vocabularies.hpp"

namespace examples::corpus {

/// How some lengths are spread.
struct Spread {
  double mean = 0;
  std::int64_t median = 0, most = 0, longest = 0;  ///< `most`: 95 of 100 are no longer
  /// `mean 11.9, median 11, 95 % up to 19, longest 40`.
  std::string str() const;
};
Spread spread(std::vector<std::int64_t> lengths);

/// What one side of a corpus is like.
struct Side {
  Spread characters;
  std::int64_t words = 0, kinds = 0;  ///< between spaces; different ones
};
Side describe(const std::vector<std::string>& lines);

/// How a vocabulary spells one side.
struct Spelling {
  Spread ids;
  double ids_a_word = 0, bytes_share = 0;  ///< share of the ids that are single bytes
};
Spelling describe(const std::vector<std::string>& lines, const text::Subwords& subwords);

}  // namespace examples::corpus
