#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <tapeform/nn/recorder.hpp>
#include <tapeform/pages/panel.hpp>
#include <vector>

namespace tapeform::pages {

/// The tokens of one sentence as the model read them: what the encoder got, and what the decoder got (its start token first). An encoder or
/// a language model alone has one of the two.
struct SentenceTokens {
  std::vector<std::string> source = {};
  std::vector<std::string> target = {};
};

/// What the numbers of a map are. The others than weights come from `tapeform/pages/attribution.hpp`.
enum class AttentionMeasure : std::uint8_t {
  weights,       ///< what heads attend to
  gradient,      ///< weights times the gradient with respect to them, of either sign
  rollout,       ///< weights through all layers: one picture for every kind, of no layer and no head
  switched_off,  ///< what changes without a head: layers down, heads across
};

/// `weights`, `gradient × attention`, `rollout`, `head switched off`.
const char* name(AttentionMeasure measure) noexcept;

/// What one layer's heads attend to in one sentence.
struct AttentionMap {
  std::string name = {};  ///< path of the module
  nn::AttentionKind kind = nn::AttentionKind::other;
  Dim layer = 0;
  Dim sentence = 0;
  Array weights = {};                     ///< [H, Tq, Tk]
  std::vector<std::string> queries = {};  ///< Tq tokens
  std::vector<std::string> keys = {};     ///< Tk tokens
  AttentionMeasure measure = AttentionMeasure::weights;
};

/// The last recorded call of every attention module, sentence by sentence, cut to the sentences' tokens: `sentences[s]` are those of sample
/// s. Modules that were not called are left out.
/// @throws ValueError when nothing was recorded, ShapeError for more sentences than samples or more tokens than positions.
std::vector<AttentionMap> attention_maps(const nn::AttentionRecorder& recorder, const std::vector<SentenceTokens>& sentences);

/// Which maps and heads; whatever is not said takes all. Layers and heads are counted from 0. Maps of no layer are taken whatever layer and
/// head are chosen.
struct AttentionChoice {
  std::optional<nn::AttentionKind> kind = {};
  std::optional<Dim> layer = {};
  std::optional<Dim> head = {};
  std::optional<Dim> sentence = {};
};

struct SvgOptions {
  std::string title = "Attention";
  int columns = 4;  ///< heads side by side
  AttentionChoice choice = {};
};

/// A picture of the chosen heads in a grid: queries down, keys across, a colour bar, every value as a tooltip, readable on light and dark
/// pages, on screens and printed in grey. Numbers of either sign are drawn around 0, each head up to its largest, which stands in its
/// title. About 90 bytes a value: for whole models take `html`.
/// @throws ShapeError unless a map has a token for every row and column, ValueError for weights outside of 0 and 1 or when the choice
/// leaves nothing of maps that are there.
std::string svg(const std::vector<AttentionMap>& maps, const SvgOptions& options = {});
/// `svg(attention_maps(recorder, {tokens}), options)`.
std::string svg(const nn::AttentionRecorder& recorder, const SentenceTokens& tokens, const SvgOptions& options = {});

/// A page on which sentence, kind, layer and head are chosen, and what is shown of them where maps hold several measures. Six layers of
/// eight heads for 40 by 40 tokens, all three kinds, take 0.7 MB.
/// @throws as `svg`, and `html` of panels.
std::string html(const std::vector<AttentionMap>& maps, const PageOptions& options = {});
/// `html(attention_maps(recorder, sentences), options)`.
std::string html(const nn::AttentionRecorder& recorder, const std::vector<SentenceTokens>& sentences, const PageOptions& options = {});

}  // namespace tapeform::pages
