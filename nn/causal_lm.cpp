#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/core/ops/dropout.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/nn/init.hpp>

#include "detail/checks.hpp"

namespace tapeform::nn {

static TransformerStackOptions stack_of(const CausalLMOptions& options) {
  return {.ffn_num_hiddens = options.ffn_num_hiddens ? options.ffn_num_hiddens : 4 * options.num_hiddens,
          .dropout = options.dropout,
          .activation = options.activation,
          .layer_norm_eps = options.layer_norm_eps,
          .norm_first = options.norm_first,
          .bias = options.bias,
          .final_norm = true,
          .gated = options.gated};
}

CausalLM::CausalLM(Dim vocab, Rng& rng, const Options& options)
    : tok(vocab, options.num_hiddens, rng),
      pos(options.max_len, options.num_hiddens, rng),
      encoder(options.num_layers, options.num_hiddens, options.num_heads, rng, stack_of(options)),
      dropout_(options.dropout) {
  if (!options.tie_head) head.emplace(options.num_hiddens, vocab, rng, Linear::Options{.bias = false});
  init_gpt2(*this, rng);
}

Tensor CausalLM::run(const Ids& ids, const Call& call) const {
  detail::check_ids("causal_lm", "ids", ids);
  const Tensor x = dropout(pos(tok(ids), {.begin = call.cache ? call.cache->lengths() : Ids()}), dropout_);  // [B, T, D]
  if (call.cache && !call.cache->empty()) return encoder(x, {.cache = call.cache});
  const Mask mask = Mask::causal() & detail::valid_mask("causal_lm", "lens", call.lens);
  return encoder(x, {.mask = mask, .cache = call.cache});
}

Tensor CausalLM::forward(const Ids& ids, const Call& call) const {
  return linear(run(ids, call), head ? head->weight : tok.weight);  // [B, T, V]
}

Tensor CausalLM::loss(const Ids& ids, const Ids& targets, const CrossEntropyOptions& options, const Call& call) const {
  const detail::Running<CausalLM> running(this);
  const Tensor h = run(ids, call);  // [B, T, D]
  const Ids valid = detail::valid_targets("causal_lm", targets, ids, call.lens, options.ignore_id);
  return linear_cross_entropy(h, head ? head->weight : tok.weight, valid, options);
}

Tensor CausalLM::hiddens(const Ids& ids, const Call& call) const {
  const detail::Running<CausalLM> running(this);
  return run(ids, call);
}

Tensor CausalLM::logits(const Tensor& hiddens) const {
  const detail::Running<CausalLM> running(this);
  return linear(hiddens, head ? head->weight : tok.weight);
}

}  // namespace tapeform::nn
