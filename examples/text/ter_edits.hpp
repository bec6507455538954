#pragma once
#include <cstdint>
#include <vector>

namespace examples::text {

/// Edits that turn the words of a hypothesis into those of a reference: insertions, deletions, replacements, and moves of runs of words.
std::int64_t translation_edits(const std::vector<std::int64_t>& hypothesis, const std::vector<std::int64_t>& reference);

}  // namespace examples::text
