// The cases. Sizes are those of well-known small programs, so that the numbers mean something beside other libraries'.

#include "bench/bench.hpp"

#include <tapeform/tapeform.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bench {
namespace {

using namespace tapeform;

/// A model with its optimizer; `loss` is called with the model and makes one scalar.
template <class Model, class Loss>
Step training_step(std::unique_ptr<Model> model, optim::AdamWOptions options, double max_norm, Loss loss, double flop) {
  struct State {
    std::unique_ptr<Model> model;
    std::vector<ParameterRef> parameters;
    optim::AdamW adamw;
    Rng rng;
  };
  const auto parameters = nn::parameters(*model);
  const auto state = std::make_shared<State>(State{std::move(model), parameters, optim::AdamW(parameters, options), Rng(7)});
  const auto step = [state, max_norm, loss = std::move(loss)] {
    Tape tape(state->rng);
    const Tensor value = loss(*state->model);
    tape.backward(value);
    if (max_norm > 0) optim::clip_grad_norm(state->parameters, max_norm);
    state->adamw.step();
    state->adamw.zero_grad();
    return value.item();
  };
  return {step, flop};
}

Ids random_ids(const Shape& shape, std::int64_t low, std::int64_t high, Rng& rng) {
  Ids ids = Ids::full(shape, low);
  ids.write([&](auto values) {
    for (std::int64_t& value : values) value = low + rng.below(high - low);
  });
  return ids;
}

struct Mlp : nn::Module<Mlp> {
  nn::Linear up, down;
  explicit Mlp(Rng& rng) : up(16, 32, rng), down(32, 4, rng) {}
  Tensor forward(const Tensor& x) const { return down(relu(up(x))); }
  void visit(nn::Fields& field) {
    field("up", up);
    field("down", down);
  }
};

Step tiny_mlp() {
  Rng rng(1);
  auto model = std::make_unique<Mlp>(rng);
  const Array x = normal({8, 16}, 0, 1, rng);
  const Ids y = random_ids({8}, 0, 4, rng);
  const auto loss = [x, y](const Mlp& mlp) { return cross_entropy(mlp(x), y); };
  return training_step(std::move(model), {.lr = 1e-3, .weight_decay = 0}, 0, loss, 6.0 * 8 * (16 * 32 + 32 * 4));
}

Step gpt_char() {
  constexpr Dim vocabulary = 65, time = 64, layers = 4, width = 128, batch = 12;
  Rng rng(1);
  auto model = std::make_unique<nn::CausalLM>(
      vocabulary, rng, nn::CausalLMOptions{.num_hiddens = width, .num_heads = 4, .num_layers = layers, .max_len = time, .bias = false});
  const Ids ids = random_ids({batch, time}, 0, vocabulary, rng);
  const Ids targets = random_ids({batch, time}, 0, vocabulary, rng);
  const auto parameters = static_cast<double>(nn::count_parameters(*model) - time * width);
  const double flop = batch * time * (6 * parameters + 12.0 * layers * width * time);
  const auto loss = [ids, targets](const nn::CausalLM& lm) { return lm.loss(ids, targets); };
  return training_step(std::move(model), {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1}, 1.0, loss, flop);
}

/// Ids of pairs padded to one length, their valid lengths, and the work that the real tokens need.
struct Pairs {
  Ids src, src_lens, tgt, tgt_lens, targets;
};

Ids random_lens(Dim batch, Dim longest, Rng& rng) {
  Ids lens = random_ids({batch}, longest / 2, longest + 1, rng);
  lens.write([longest](auto values) { values[0] = longest; });
  return lens;
}

/// Writes the padding id 0 over what stands beyond a valid length.
Ids padded(Ids ids, const Ids& lens) {
  const auto time = static_cast<std::size_t>(ids.dim(1));
  ids.write([&](auto values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (static_cast<std::int64_t>(i % time) >= lens.values()[i / time]) values[i] = 0;
    }
  });
  return ids;
}

Pairs random_pairs(Dim vocabulary, Dim batch, Dim longest, Rng& rng) {
  Pairs pairs;
  pairs.src_lens = random_lens(batch, longest, rng);
  pairs.tgt_lens = random_lens(batch, longest, rng);
  pairs.src = padded(random_ids({batch, longest}, 1, vocabulary, rng), pairs.src_lens);
  pairs.tgt = padded(random_ids({batch, longest}, 1, vocabulary, rng), pairs.tgt_lens);
  pairs.targets = padded(random_ids({batch, longest}, 1, vocabulary, rng), pairs.tgt_lens);
  return pairs;
}

double seq2seq_flop(const Pairs& pairs, double vocabulary, double width, double ffn, double layers) {
  double sources = 0, targets = 0, encoder_scores = 0, decoder_scores = 0;
  for (std::size_t i = 0; i < pairs.src_lens.values().size(); ++i) {
    const auto s = static_cast<double>(pairs.src_lens.values()[i]), t = static_cast<double>(pairs.tgt_lens.values()[i]);
    sources += s;
    targets += t;
    encoder_scores += s * s;
    decoder_scores += t * t / 2 + t * s;
  }
  const double encoder = 6 * sources * layers * (4 * width * width + 2 * width * ffn) + 12 * layers * width * encoder_scores;
  const double decoder = 6 * targets * layers * (6 * width * width + 2 * width * ffn) + 6 * sources * layers * 2 * width * width +
                         12 * layers * width * decoder_scores;
  return encoder + decoder + 6 * targets * width * vocabulary;
}

Step copy() {
  constexpr Dim vocabulary = 11, width = 64, ffn = 256, layers = 2, batch = 80, longest = 10;
  Rng rng(1);
  auto model = std::make_unique<nn::Seq2Seq>(vocabulary, vocabulary, rng,
                                             nn::Seq2SeqOptions{.num_hiddens = width,
                                                                .num_heads = 4,
                                                                .num_encoder_layers = layers,
                                                                .num_decoder_layers = layers,
                                                                .ffn_num_hiddens = ffn,
                                                                .dropout = 0,
                                                                .share_embeddings = true,
                                                                .share_head = true,
                                                                .scale_embeddings = true});
  const Pairs pairs = random_pairs(vocabulary, batch, longest, rng);
  const auto loss = [pairs](const nn::Seq2Seq& seq2seq) {
    return seq2seq.loss(pairs.src, pairs.src_lens, pairs.tgt, pairs.targets, {.ignore_id = 0, .label_smoothing = 0.1},
                        {.tgt_lens = pairs.tgt_lens});
  };
  return training_step(std::move(model), {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.98, .weight_decay = 0}, 1.0, loss,
                       seq2seq_flop(pairs, vocabulary, width, ffn, layers));
}

constexpr std::array all_cases{
    Case{"tiny_mlp", "MLP 16-32-4, batch 8, ReLU, cross-entropy, Adam", tiny_mlp},
    Case{"gpt_char", "V 65, T 64, 4 layers, 4 heads, d 128, batch 12, no bias, AdamW, clip 1", gpt_char},
    Case{"copy", "V 11 tied, d 64, 4 heads, 2+2 layers, ffn 256, 80 pairs of 5-10 tokens padded to 10, label smoothing .1, Adam, clip 1",
         copy},
};

}  // namespace

std::span<const Case> cases() { return all_cases; }

}  // namespace bench
