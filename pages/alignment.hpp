#pragma once
#include <optional>
#include <string>
#include <tapeform/pages/attention.hpp>
#include <utility>
#include <vector>

namespace tapeform::pages {

/// Which positions stand for one another: (key, query) for every link, so of cross-attention (source, target), from 0, ordered by target.
using Alignment = std::vector<std::pair<Dim, Dim>>;

struct AlignmentOptions {
  std::optional<Dim> head = {};  ///< one head; otherwise the mean of all
  double threshold = 0;  ///< over 0: a link wherever the weight is at least this; 0: each query with the key that it attends to most
};

/// How much each query attends to each key, one head or the mean of all: [Tq, Tk]. Rows that sum to 1 still do.
/// @throws ValueError when there is no such head, ShapeError unless weights are [H, Tq, Tk].
Array soft_alignment(const AttentionMap& map, const AlignmentOptions& options = {});

/// Links taken from `soft_alignment`. Equal weights: the first key; a query that attends to nothing (or holds NaN) has no link.
///
/// A decoder's query at position t is what predicts the target's token t: with its start token first, row t is aligned like the word that
/// follows. A map whose last rows or columns stand for end tokens is given without them, by fewer tokens in `SentenceTokens`.
/// @throws as `soft_alignment`, and ValueError for a threshold outside of 0 and 1.
Alignment hard_alignment(const AttentionMap& map, const AlignmentOptions& options = {});

/// `0-0 1-2 2-1`: a line of the Pharaoh format, without its end.
std::string pharaoh(const Alignment& alignment);

/// `soft_alignment` as a table: keys in the first line, then a line for every query with its token, separated by tabs. Characters that
/// cannot be seen are written out, so that a token is one field.
std::string alignment_table(const AttentionMap& map, const AlignmentOptions& options = {});

}  // namespace tapeform::pages
