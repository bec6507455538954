#pragma once
#include <tapeform/pages/attention.hpp>
#include <vector>

namespace tapeform::pages::detail {

/// Numbers of every weight of one module's call, [B, H, Tq, Tk].
struct Recorded {
  nn::AttentionPlace place;
  Array values;
};

/// As `attention_maps`, of other numbers. @throws ValueError, ShapeError as it does.
std::vector<AttentionMap> maps_of(const std::vector<Recorded>& recorded, const std::vector<SentenceTokens>& sentences,
                                  AttentionMeasure measure);

/// @throws ShapeError unless a map is [H, Tq, Tk] with a token for every row and column, of one head where it is of no layer.
void check(const char* op, const AttentionMap& map);

/// True for a picture of every head of a layer.
constexpr bool has_heads(AttentionMeasure measure) noexcept {
  return measure == AttentionMeasure::weights || measure == AttentionMeasure::gradient;
}
/// True for numbers of either sign; others lie between 0 and 1.
constexpr bool is_signed(AttentionMeasure measure) noexcept {
  return measure == AttentionMeasure::gradient || measure == AttentionMeasure::switched_off;
}

}  // namespace tapeform::pages::detail
