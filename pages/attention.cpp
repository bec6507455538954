#include <tapeform/pages/attention.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>

#include "detail/maps.hpp"

namespace tapeform::pages {

namespace {

using nn::AttentionKind;
using Tokens = std::vector<std::string>;

const Tokens& side(const SentenceTokens& tokens, bool target) {
  if (target) return tokens.target.empty() ? tokens.source : tokens.target;
  return tokens.source.empty() ? tokens.target : tokens.source;
}

/// weights [B, H, Tq, Tk] of sample b, cut to the first queries and keys: [H, queries, keys].
Array cut(const Array& weights, Dim b, Dim queries, Dim keys) {
  const Dim heads = weights.dim(1), q_time = weights.dim(2), k_time = weights.dim(3);
  const Array sample = weights.rows(b, b + 1).cast(DType::float64);
  Array part({heads, queries, keys}, DType::float64);
  const double* const from = sample.data<double>();
  double* to = part.mutable_data<double>();
  for (Dim h = 0; h < heads; ++h)
    for (Dim i = 0; i < queries; ++i)
      for (Dim j = 0; j < keys; ++j) *to++ = from[(h * q_time + i) * k_time + j];
  return part;
}

AttentionMap map_of(const nn::AttentionPlace& place, const Array& values, const SentenceTokens& tokens, Dim sentence,
                    AttentionMeasure measure) {
  const Tokens& queries = side(tokens, place.kind != AttentionKind::encoder_self);
  const Tokens& keys = side(tokens, place.kind == AttentionKind::decoder_self);
  const auto rows = static_cast<Dim>(queries.size()), columns = static_cast<Dim>(keys.size());
  if (rows > values.dim(2) || columns > values.dim(3))
    throw ShapeError(fmt::format("attention_maps: no more tokens than positions; got {} and {} tokens for weights {} of '{}', sentence {}",
                                 rows, columns, values.shape().str(), place.name, sentence));
  return {place.name, place.kind, place.layer, sentence, cut(values, sentence, rows, columns), queries, keys, measure};
}

Panel panel_of(const AttentionMap& map) {
  const bool heads = detail::has_heads(map.measure);
  Panel panel{.title = name(map.kind),
              .formula = map.name,
              .axes = heads                                      ? "[H, Tq, Tk]"
                      : map.measure == AttentionMeasure::rollout ? "[Tq, Tk]"
                                                                 : "[layers, H]",
              .values = map.weights,
              .rows = map.queries,
              .columns = map.keys,
              .weights = !detail::is_signed(map.measure)};
  panel.choice.emplace_back("sentence", fmt::format("{}", map.sentence));
  panel.choice.emplace_back("kind", name(map.kind));
  if (heads) {
    panel.title += fmt::format(", layer {}", map.layer);
    panel.choice.emplace_back("layer", fmt::format("{}", map.layer));
  } else {
    panel.values = map.weights.reshape({map.weights.dim(1), map.weights.dim(2)});
  }
  if (map.measure == AttentionMeasure::weights) return panel;
  panel.title = fmt::format("{}: {}", name(map.measure), panel.title);
  const char* const formula = heads                                      ? "P ∘ ∂y/∂P"
                              : map.measure == AttentionMeasure::rollout ? "½·(A + 1) through all layers"
                                                                         : "y without the head − y";
  panel.formula = map.name.empty() ? formula : fmt::format("{}, {}", formula, map.name);
  return panel;
}

}  // namespace

const char* name(AttentionMeasure measure) noexcept {
  switch (measure) {
    case AttentionMeasure::gradient:
      return "gradient × attention";
    case AttentionMeasure::rollout:
      return "rollout";
    case AttentionMeasure::switched_off:
      return "head switched off";
    case AttentionMeasure::weights:
      break;
  }
  return "weights";
}

namespace detail {

std::vector<AttentionMap> maps_of(const std::vector<Recorded>& recorded, const std::vector<SentenceTokens>& sentences,
                                  AttentionMeasure measure) {
  std::vector<AttentionMap> maps;
  for (std::size_t s = 0; s < sentences.size(); ++s)
    for (const Recorded& one : recorded) {
      if (static_cast<Dim>(sentences.size()) > one.values.dim(0))
        throw ShapeError(fmt::format("attention_maps: no more sentences than samples; got {} sentences for weights {} of '{}'",
                                     sentences.size(), one.values.shape().str(), one.place.name));
      maps.push_back(map_of(one.place, one.values, sentences[s], static_cast<Dim>(s), measure));
    }
  if (recorded.empty() && !sentences.empty())
    throw ValueError("attention_maps: nothing has been recorded yet. Call the model while the recorder lives");
  return maps;
}

void check(const char* op, const AttentionMap& map) {
  const Shape& shape = map.weights.shape();
  const auto queries = static_cast<Dim>(map.queries.size()), keys = static_cast<Dim>(map.keys.size());
  if (!has_heads(map.measure) && (shape.rank() != 3 || shape[0] != 1))
    throw ShapeError(fmt::format("{}: a map of no layer is [1, Tq, Tk]; got {} of '{}'", op, shape.str(), name(map.measure)));
  if (shape.rank() != 3 || shape[1] != queries || shape[2] != keys)
    throw ShapeError(fmt::format("{}: weights must be [H, Tq, Tk] with a token for every row and column; got weights {}, {} and {} tokens",
                                 op, shape.str(), queries, keys));
}

}  // namespace detail

std::vector<AttentionMap> attention_maps(const nn::AttentionRecorder& recorder, const std::vector<SentenceTokens>& sentences) {
  std::vector<detail::Recorded> recorded;
  for (const nn::AttentionPlace& place : recorder.places())
    if (!recorder.calls(place.name).empty()) recorded.push_back({place, recorder[place.name]});
  return detail::maps_of(recorded, sentences, AttentionMeasure::weights);
}

std::string svg(const nn::AttentionRecorder& recorder, const SentenceTokens& tokens, const SvgOptions& options) {
  return svg(attention_maps(recorder, {tokens}), options);
}

std::string html(const std::vector<AttentionMap>& maps, const PageOptions& options) {
  const bool several = std::ranges::any_of(maps, [&maps](const AttentionMap& map) { return map.measure != maps[0].measure; });
  std::vector<Panel> panels;
  for (const AttentionMap& map : maps) {
    if (!detail::has_heads(map.measure)) detail::check("page", map);
    panels.push_back(panel_of(map));
    if (several) panels.back().choice.emplace(panels.back().choice.begin() + 1, "shown", name(map.measure));
  }
  return html(panels, options);
}

std::string html(const nn::AttentionRecorder& recorder, const std::vector<SentenceTokens>& sentences, const PageOptions& options) {
  PageOptions with_lead = options;
  if (with_lead.lead.empty()) with_lead.lead = "Queries stand down, keys across: each row says where its token looks, and sums to 1.";
  return html(attention_maps(recorder, sentences), with_lead);
}

}  // namespace tapeform::pages
