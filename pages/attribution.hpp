#pragma once
#include <string>
#include <tapeform/core/tape.hpp>
#include <tapeform/nn/attention.hpp>
#include <tapeform/nn/recorder.hpp>
#include <tapeform/pages/attention.hpp>
#include <vector>

namespace tapeform::pages {

/// Attention weights times the gradient of y with respect to them, P ∘ ∂y/∂P, of the last call of every module: what a weight added to y,
/// to first order, where a weight alone tells only what was looked at. Of either sign. A weight of 0 has 0, whatever its key holds; so has
/// every weight of a call that y does not depend on.
///
/// `recorder` was made with `{.keep_heads = true}` and lives while `tape` records the model, without dropout; y is one number: the logit
/// of a class, the log-probability of a translation. The tape is left as it was.
///
/// Derivative: a head gives out = P·v, so ∂y/∂P = (∂y/∂out)·vᵀ. Row sums of P ∘ ∂y/∂P are the gradient with respect to a factor of that
/// query's output of the head (Michel et al., "Are Sixteen Heads Really Better than One?", 2019, take it for a head's importance).
/// @throws TapeError when the calls were not recorded by `tape`, and as `Tape::gradients`; ValueError, ShapeError as `attention_maps`.
std::vector<AttentionMap> gradient_maps(const nn::AttentionRecorder& recorder, Tape& tape, const Tensor& y,
                                        const std::vector<SentenceTokens>& sentences);

/// How much of each token's row stems from each token of the input, if every layer passes on what its heads attend to, on average, and as
/// much of what was there before: with Ā = ½·mean(A) + ½·1, the product Ā_L·…·Ā_1 (Abnar and Zuidema, "Quantifying Attention Flow in
/// Transformers", 2020, section 3).
///
/// `maps` are those of `attention_maps`. For every sentence there is a map [1, T, T] of the encoder, of the decoder (or a language model),
/// and [1, Tq, Tk] of cross-attention through to the source: a decoder's layer is a step of its self-attention, then one of its
/// cross-attention, which passes on half of what the encoder's rollout attends to; a row of the decoder's and of the cross map sum to 1
/// together. Memory that no encoder of the maps made stands for itself. Feed-forward networks and the size of values play no part.
/// @throws ValueError when there is no map of a layer, ShapeError when the layers of a stack have other tokens.
std::vector<AttentionMap> rollout(const std::vector<AttentionMap>& maps);

/// Switches one head off: its share of the joined heads is 0 from now on, since the output projection no longer reads it.
/// @throws ValueError when there is no such head.
void switch_off(nn::MultiHeadAttention& attention, Dim head);

namespace detail {
/// The module at a path. @throws ValueError when there is none.
nn::MultiHeadAttention& attention_at(const std::vector<nn::detail::AttentionSite>& sites, const std::string& name);
}  // namespace detail

/// The same for the attention module at a path, `decoder.layers.1.multihead_attn`. @throws ValueError when there is none.
template <class M>
void switch_off(M& model, const std::string& name, Dim head) {
  switch_off(detail::attention_at(nn::detail::attention_sites(model), name), head);
}

/// What switching one head off does.
struct HeadEffect {
  nn::AttentionPlace place;
  Dim head;
  double change;  ///< y without the head − y; below 0 when the head served y
};

/// For every head of a model what y(model), a number, changes by when the head is switched off, the others left on. The model itself is
/// not changed: each head is switched off in a copy.
/// @throws ValueError when the model has no MultiHeadAttention.
template <class M, class F>
std::vector<HeadEffect> head_effects(const M& model, const F& y) {
  const double whole = y(model);
  std::vector<HeadEffect> effects;
  for (const nn::AttentionPlace& place : nn::AttentionRecorder(model).places())
    for (Dim head = 0; head < detail::attention_at(nn::detail::attention_sites(model), place.name).num_heads(); ++head) {
      M without = nn::clone(model);
      switch_off(without, place.name, head);
      effects.push_back({place, head, y(without) - whole});
    }
  return effects;
}

/// Effects as maps, one for each kind of attention: layers down (`layers.0`, as in names of parameters), heads across (`heads.0`), 0 where
/// a layer has fewer heads than others.
std::vector<AttentionMap> effect_maps(const std::vector<HeadEffect>& effects, Dim sentence = 0);

}  // namespace tapeform::pages
