#include <tapeform/pages/attention.hpp>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>

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

AttentionMap map_of(const nn::AttentionPlace& place, const Array& weights, const SentenceTokens& tokens, Dim sentence) {
  const Tokens& queries = side(tokens, place.kind != AttentionKind::encoder_self);
  const Tokens& keys = side(tokens, place.kind == AttentionKind::decoder_self);
  const auto rows = static_cast<Dim>(queries.size()), columns = static_cast<Dim>(keys.size());
  if (rows > weights.dim(2) || columns > weights.dim(3))
    throw ShapeError(fmt::format("attention_maps: no more tokens than positions; got {} and {} tokens for weights {} of '{}', sentence {}",
                                 rows, columns, weights.shape().str(), place.name, sentence));
  return {place.name, place.kind, place.layer, sentence, cut(weights, sentence, rows, columns), queries, keys};
}

}  // namespace

std::vector<AttentionMap> attention_maps(const nn::AttentionRecorder& recorder, const std::vector<SentenceTokens>& sentences) {
  std::vector<AttentionMap> maps;
  bool called = false;
  for (std::size_t s = 0; s < sentences.size(); ++s)
    for (const nn::AttentionPlace& place : recorder.places()) {
      if (recorder.calls(place.name).empty()) continue;
      called = true;
      const Array& weights = recorder[place.name];
      if (static_cast<Dim>(sentences.size()) > weights.dim(0))
        throw ShapeError(fmt::format("attention_maps: no more sentences than samples; got {} sentences for weights {} of '{}'",
                                     sentences.size(), weights.shape().str(), place.name));
      maps.push_back(map_of(place, weights, sentences[s], static_cast<Dim>(s)));
    }
  if (!called && !sentences.empty())
    throw ValueError("attention_maps: nothing has been recorded yet. Call the model while the recorder lives");
  return maps;
}

std::string svg(const nn::AttentionRecorder& recorder, const SentenceTokens& tokens, const SvgOptions& options) {
  return svg(attention_maps(recorder, {tokens}), options);
}

std::string html(const std::vector<AttentionMap>& maps, const PageOptions& options) {
  std::vector<Panel> panels;
  for (const AttentionMap& map : maps)
    panels.push_back(
        {.title = fmt::format("{}, layer {}", name(map.kind), map.layer),
         .formula = map.name,
         .axes = "[H, Tq, Tk]",
         .values = map.weights,
         .rows = map.queries,
         .columns = map.keys,
         .weights = true,
         .choice = {{"sentence", fmt::format("{}", map.sentence)}, {"kind", name(map.kind)}, {"layer", fmt::format("{}", map.layer)}}});
  return html(panels, options);
}

std::string html(const nn::AttentionRecorder& recorder, const std::vector<SentenceTokens>& sentences, const PageOptions& options) {
  PageOptions with_lead = options;
  if (with_lead.lead.empty()) with_lead.lead = "Queries stand down, keys across: each row says where its token looks, and sums to 1.";
  return html(attention_maps(recorder, sentences), with_lead);
}

}  // namespace tapeform::pages
