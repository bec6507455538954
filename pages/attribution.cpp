#include <tapeform/pages/attribution.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/ops/packing.hpp>
#include <tapeform/pages/alignment.hpp>

#include "detail/maps.hpp"

namespace tapeform::pages {

namespace {

using nn::AttentionKind;

/// P ∘ dout·vᵀ in every head, [B, H, Tq, Tk], from float64 numbers: P likewise, dout [B, Tq, E], v [B, Tk, E].
Array times_gradient(const Array& weights, const Array& dout, const Array& values) {
  const Dim B = weights.dim(0), H = weights.dim(1), Tq = weights.dim(2), Tk = weights.dim(3), E = dout.dim(2), width = E / H;
  Array product(weights.shape(), DType::float64);
  double* to = product.mutable_data<double>();
  const double* weight = weights.data<double>();
  for (Dim b = 0; b < B; ++b)
    for (Dim h = 0; h < H; ++h)
      for (Dim i = 0; i < Tq; ++i)
        for (Dim j = 0; j < Tk; ++j, ++to, ++weight) {
          const double* const d = dout.data<double>() + (b * Tq + i) * E + h * width;
          const double* const v = values.data<double>() + (b * Tk + j) * E + h * width;
          double gradient = 0;
          for (Dim c = 0; c < width; ++c) gradient += d[c] * v[c];
          *to = *weight == 0 ? 0 : *weight * gradient;
        }
  return product;
}

Array padded(const Array& rows, const Ids& lens, Dim time) {
  const Array numbers = rows.cast(DType::float64);
  return lens.numel() == 0 ? numbers : unpack_rows(Tensor(numbers), lens, time).value();
}

Array gradient_of(const nn::AttentionRecorder& recorder, const std::string& name, Tape& tape, const Tensor& y) {
  const nn::AttentionHeads& heads = recorder.heads(name);
  const Array& weights = recorder[name];
  if (heads.out.tape_id() != tape.id())
    throw TapeError(
        fmt::format("gradient_maps: the last call of '{}' was not recorded by this tape. Call the model while it records", name));
  const Array dout = tape.gradients(y, {heads.out}, {.keep = true})[0];
  if (!dout) return Array::zeros(weights.shape(), DType::float64);
  return times_gradient(weights.cast(DType::float64), padded(dout, heads.q_lens, weights.dim(2)),
                        padded(heads.values, heads.k_lens, weights.dim(3)));
}

/// Layers of one sentence, by kind, in their order.
using Layers = std::map<AttentionKind, std::vector<const AttentionMap*>>;

Array identity(Dim size) {
  Array one = Array::zeros({size, size}, DType::float64);
  for (Dim i = 0; i < size; ++i) one.mutable_data<double>()[i * size + i] = 1;
  return one;
}

/// The mean of a layer's heads. @throws ShapeError unless it has the tokens of the stack's first layer.
Tensor mean_head(const AttentionMap& map, const AttentionMap& first) {
  const bool self = map.kind != AttentionKind::cross;
  const Shape &shape = map.weights.shape(), &same = first.weights.shape();
  if (shape.rank() != 3 || same.rank() != 3 || shape[1] != same[1] || shape[2] != same[2] || (self && shape[1] != shape[2]))
    throw ShapeError(fmt::format("rollout: the layers of a stack have the same tokens; got weights {} of '{}', {} of '{}'", same.str(),
                                 first.name, shape.str(), map.name));
  return Tensor(soft_alignment(map));
}

/// Half of what a layer's heads attend to, half of what was there: x [T, …].
Tensor half_passed(const Tensor& attention, const Tensor& x) { return 0.5 * (matmul(attention, x) + x); }

AttentionMap rolled(const AttentionMap& last, const Tensor& x) {
  const Array& values = x.value();
  return {"",
          last.kind,
          0,
          last.sentence,
          values.reshape({1, values.dim(0), values.dim(1)}),
          last.queries,
          last.keys,
          AttentionMeasure::rollout};
}

/// Adds the rollouts of one sentence.
void roll(Layers& layers, std::vector<AttentionMap>& into) {
  const auto &encoder = layers[AttentionKind::encoder_self], &decoder = layers[AttentionKind::decoder_self],
             &cross = layers[AttentionKind::cross];
  if (!cross.empty() && cross.size() != decoder.size())
    throw ShapeError(fmt::format("rollout: a decoder's layer has two attentions; got {} maps of self-attention, {} of cross-attention",
                                 decoder.size(), cross.size()));
  Tensor memory;  // [S, S]
  if (!encoder.empty()) memory = identity(encoder[0]->weights.dim(-1));
  for (const AttentionMap* layer : encoder) memory = half_passed(mean_head(*layer, *encoder[0]), memory);
  if (!encoder.empty()) into.push_back(rolled(*encoder.back(), memory));
  if (decoder.empty()) return;
  const Dim time = decoder[0]->weights.dim(-1);
  Tensor own = identity(time), source;  // [T, T], [T, S]
  if (!cross.empty()) {
    const Dim keys = cross[0]->weights.dim(-1);
    if (memory && memory.dim(0) != keys)
      throw ShapeError(
          fmt::format("rollout: cross-attention has the encoder's tokens; got {} of them, {} of the encoder", keys, memory.dim(0)));
    if (!memory) memory = identity(keys);
    source = Array::zeros({time, keys}, DType::float64);
  }
  for (std::size_t i = 0; i < decoder.size(); ++i) {
    const Tensor attention = mean_head(*decoder[i], *decoder[0]);
    own = half_passed(attention, own);
    if (cross.empty()) continue;
    source = half_passed(attention, source);
    own = 0.5 * own;
    source = 0.5 * (matmul(mean_head(*cross[i], *cross[0]), memory) + source);
  }
  into.push_back(rolled(*decoder.back(), own));
  if (!cross.empty()) into.push_back(rolled(*cross.back(), source));
}

}  // namespace

std::vector<AttentionMap> gradient_maps(const nn::AttentionRecorder& recorder, Tape& tape, const Tensor& y,
                                        const std::vector<SentenceTokens>& sentences) {
  std::vector<detail::Recorded> recorded;
  for (const nn::AttentionPlace& place : recorder.places())
    if (!recorder.calls(place.name).empty()) recorded.push_back({place, gradient_of(recorder, place.name, tape, y)});
  return detail::maps_of(recorded, sentences, AttentionMeasure::gradient);
}

std::vector<AttentionMap> rollout(const std::vector<AttentionMap>& maps) {
  std::map<Dim, Layers> sentences;
  for (const AttentionMap& map : maps)
    if (map.measure == AttentionMeasure::weights && map.kind != AttentionKind::other) sentences[map.sentence][map.kind].push_back(&map);
  if (sentences.empty()) throw ValueError("rollout: there is no map of an encoder's or a decoder's layer");
  const NoTape no_tape;
  std::vector<AttentionMap> rolled_out;
  for (auto& [sentence, layers] : sentences) {
    for (auto& [kind, stack] : layers) std::ranges::stable_sort(stack, {}, &AttentionMap::layer);
    roll(layers, rolled_out);
  }
  return rolled_out;
}

void switch_off(nn::MultiHeadAttention& attention, Dim head) {
  if (head < 0 || head >= attention.num_heads())
    throw ValueError(fmt::format("switch_off: there is no head {}; got {} heads, counted from 0", head, attention.num_heads()));
  Array weight = attention.out_proj.weight.value();  // [E, E]
  const Dim width = weight.dim(1) / attention.num_heads();
  dispatch(weight.dtype(), [&weight, head, width]<class T>(T) {
    T* const to = weight.mutable_data<T>();
    for (Dim row = 0; row < weight.dim(0); ++row) std::fill_n(to + row * weight.dim(1) + head * width, width, T(0));
  });
  attention.out_proj.weight.assign(weight);
}

namespace detail {

nn::MultiHeadAttention& attention_at(const std::vector<nn::detail::AttentionSite>& sites, const std::string& name) {
  for (const nn::detail::AttentionSite& site : sites)
    if (site.place.name == name) return *static_cast<nn::MultiHeadAttention*>(const_cast<void*>(site.module));
  throw ValueError(fmt::format("switch_off: the model has no attention module '{}'", name));
}

}  // namespace detail

std::vector<AttentionMap> effect_maps(const std::vector<HeadEffect>& effects, Dim sentence) {
  std::vector<AttentionMap> maps;
  for (const AttentionKind kind : {AttentionKind::encoder_self, AttentionKind::decoder_self, AttentionKind::cross, AttentionKind::other}) {
    Dim layers = 0, heads = 0;
    for (const HeadEffect& effect : effects) {
      if (effect.place.kind != kind) continue;
      layers = std::max(layers, effect.place.layer + 1);
      heads = std::max(heads, effect.head + 1);
    }
    if (layers == 0) continue;
    AttentionMap map{"", kind, 0, sentence, Array::zeros({1, layers, heads}, DType::float64), {}, {}, AttentionMeasure::switched_off};
    for (Dim layer = 0; layer < layers; ++layer) map.queries.push_back(fmt::format("layers.{}", layer));
    for (Dim head = 0; head < heads; ++head) map.keys.push_back(fmt::format("heads.{}", head));
    for (const HeadEffect& effect : effects)
      if (effect.place.kind == kind) map.weights.mutable_data<double>()[effect.place.layer * heads + effect.head] = effect.change;
    maps.push_back(std::move(map));
  }
  return maps;
}

}  // namespace tapeform::pages
