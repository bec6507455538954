#include "cases.hpp"

#include <memory>
#include <tapeform/tapeform.hpp>

namespace bench {

using namespace tapeform;

namespace {

Ids random_ids(const Shape& shape, std::int64_t low, std::int64_t high, Rng& rng) {
  Ids ids = Ids::full(shape, 0);
  ids.write([&](auto values) {
    for (auto& value : values) value = low + rng.below(high - low);
  });
  return ids;
}

/// A model with its optimizer, stepped as in training: loss, backward, clip at 1 when asked, update.
template <class M>
struct Training {
  Rng rng{0};
  M model;
  std::vector<ParameterRef> parameters = nn::parameters(model);
  optim::AdamW adamw;
  double clip;

  template <class Make>
  Training(Make make, const optim::AdamWOptions& options, double limit = 0) : model(make(rng)), adamw(parameters, options), clip(limit) {}

  template <class Loss>
  double step(Loss loss_of) {
    Tape tape(rng);
    const Tensor loss = loss_of(model);
    tape.backward(loss);
    if (clip > 0) optim::clip_grad_norm(parameters, clip);
    adamw.step();
    adamw.zero_grad();
    return loss.item();
  }
};

struct GptSizes {
  Dim V, T, L, H, D, B;
  bool bias;
};

std::function<double()> gpt(const GptSizes& s, double& flop) {
  auto training = std::make_shared<Training<nn::CausalLM>>(
      [&](Rng& rng) {
        return nn::CausalLM(s.V, rng, {.num_hiddens = s.D, .num_heads = s.H, .num_layers = s.L, .max_len = s.T, .bias = s.bias});
      },
      optim::AdamWOptions{.lr = 1e-3, .beta2 = 0.99, .weight_decay = 0.1}, 1.0);
  const Ids ids = random_ids({s.B, s.T}, 0, s.V, training->rng), targets = random_ids({s.B, s.T}, 0, s.V, training->rng);
  const double weights = static_cast<double>(nn::count_parameters(training->model) - s.T * s.D);
  flop = static_cast<double>(s.B * s.T) * (6 * weights + 12.0 * static_cast<double>(s.L * s.D * s.T));
  return [training, ids, targets] { return training->step([&](const nn::CausalLM& model) { return model.loss(ids, targets); }); };
}

struct Seq2SeqSizes {
  Dim V, D, H, L, F, B, S, T;
  double dropout = 0.1;
};

// Ids with a valid length from half to all of `time`, the first row full; zeros beyond.
Ids padded(Dim batch, Dim time, std::int64_t vocabulary, const Ids& lens, Rng& rng) {
  Ids ids = random_ids({batch, time}, 1, vocabulary, rng);
  ids.write([&](auto values) {
    for (Dim b = 0; b < batch; ++b)
      for (Dim t = lens[b]; t < time; ++t) values[static_cast<std::size_t>(b * time + t)] = 0;
  });
  return ids;
}

Ids random_lens(Dim batch, Dim time, Rng& rng) {
  Ids lens = random_ids({batch}, time / 2, time + 1, rng);
  lens.write([&](auto values) { values[0] = time; });
  return lens;
}

// 6 products of d·d or 2 of d·f a row and layer, counted over real rows only: what a step without padding costs.
double seq2seq_flop(const Seq2SeqSizes& s, const Ids& src_lens, const Ids& tgt_lens) {
  double ns = 0, nt = 0, ss = 0, tt = 0, ts = 0;
  for (Dim b = 0; b < s.B; ++b) {
    const auto l = static_cast<double>(src_lens[b]), m = static_cast<double>(tgt_lens[b]);
    ns += l, nt += m, ss += l * l, tt += m * m / 2, ts += m * l;
  }
  const auto d = static_cast<double>(s.D), f = static_cast<double>(s.F), layers = static_cast<double>(s.L), v = static_cast<double>(s.V);
  const double encoder = 6 * ns * layers * (4 * d * d + 2 * d * f) + 12 * layers * d * ss;
  const double decoder = 6 * nt * layers * (6 * d * d + 2 * d * f) + 6 * ns * layers * 2 * d * d + 12 * layers * d * (tt + ts);
  return encoder + decoder + 6 * nt * d * v;
}

std::function<double()> seq2seq(const Seq2SeqSizes& s, double& flop) {
  auto training = std::make_shared<Training<nn::Seq2Seq>>(
      [&](Rng& rng) {
        return nn::Seq2Seq(s.V, s.V, rng,
                           {.num_hiddens = s.D,
                            .num_heads = s.H,
                            .num_encoder_layers = s.L,
                            .num_decoder_layers = s.L,
                            .ffn_num_hiddens = s.F,
                            .dropout = s.dropout,
                            .share_embeddings = true,
                            .share_head = true,
                            .scale_embeddings = true});
      },
      optim::AdamWOptions{.lr = 1e-3, .beta2 = 0.98, .weight_decay = 0.0}, 1.0);
  Rng& rng = training->rng;
  const Ids src_lens = random_lens(s.B, s.S, rng), tgt_lens = random_lens(s.B, s.T, rng);
  const Ids src = padded(s.B, s.S, s.V, src_lens, rng), tgt = padded(s.B, s.T, s.V, tgt_lens, rng);
  const Ids labels = padded(s.B, s.T, s.V, tgt_lens, rng);
  flop = seq2seq_flop(s, src_lens, tgt_lens);
  return [=] {
    return training->step([&](const nn::Seq2Seq& model) {
      return model.loss(src, src_lens, tgt, labels, {.ignore_id = 0, .label_smoothing = 0.1}, {.tgt_lens = tgt_lens});
    });
  };
}

struct Mlp : nn::Module<Mlp> {
  std::vector<nn::Linear> layers;
  Mlp(std::initializer_list<Dim> widths, Rng& rng) {
    for (auto width = widths.begin(); width + 1 != widths.end(); ++width) layers.emplace_back(width[0], width[1], rng);
  }
  Tensor forward(const Tensor& x) const {
    Tensor h = layers.front()(x);
    for (std::size_t i = 1; i < layers.size(); ++i) h = layers[i](relu(h));
    return h;
  }
  void visit(nn::Fields& field) { field("layers", layers); }
};

std::function<double()> mlp(std::initializer_list<Dim> widths, Dim batch, const optim::AdamWOptions& options, double& flop) {
  auto training = std::make_shared<Training<Mlp>>([&](Rng& rng) { return Mlp(widths, rng); }, options);
  const Array x = normal({batch, *widths.begin()}, 0, 1, training->rng);
  const Ids labels = random_ids({batch}, 0, *(widths.end() - 1), training->rng);
  flop = 0;
  for (auto width = widths.begin(); width + 1 != widths.end(); ++width) flop += 6.0 * static_cast<double>(batch * width[0] * width[1]);
  return [=] { return training->step([&](const Mlp& model) { return cross_entropy(model(x), labels); }); };
}

// Forward and backward of one module from the sum of its output, the input's gradient included.
template <class M>
std::function<double()> module(std::shared_ptr<M> model, const Array& x, const typename M::Call& call) {
  return [=] {
    for (const ParameterRef& parameter : nn::parameters(*model)) parameter.grad() = Array();
    Tape tape(Tape::no_dropout);
    tape.backward(sum((*model)(tape.watch(x), call)));
    return 0.0;
  };
}

std::function<double()> block(double& flop) {
  Rng rng(0);
  auto layer =
      std::make_shared<nn::TransformerEncoderLayer>(512, 8, rng, nn::TransformerLayerOptions{.ffn_num_hiddens = 2048, .dropout = 0.0});
  flop = 8 * 128 * (6.0 * (4 * 512 * 512 + 2 * 512 * 2048) + 12 * 512 * 128);
  return module(layer, normal({8, 128, 512}, 0, 1, rng), {});
}

std::function<double()> long_attention(Dim time, bool weights, double& flop) {
  Rng rng(0);
  auto mha = std::make_shared<nn::MultiHeadAttention>(256, 8, rng);
  auto seen = std::make_shared<Array>();
  const auto t = static_cast<double>(time);
  flop = t * (6.0 * 4 * 256 * 256 + 6 * 256 * t);
  nn::MultiHeadAttention::Call call{.mask = Mask::causal(), .weights = weights ? seen.get() : nullptr};
  return [step = module(mha, normal({1, time, 256}, 0, 1, rng), call), seen] { return step(); };
}

// Translation of 1,000 sentences of 14 ids into 14: greedy with a beam of 1.
std::function<double()> decode(Dim beam, double& flop) {
  constexpr Dim sentences = 1000, time = 14, layers = 3;
  Rng rng(0);
  auto model = std::make_shared<nn::Seq2Seq>(8000, 8000, rng,
                                             nn::Seq2SeqOptions{.num_hiddens = 256,
                                                                .num_heads = 8,
                                                                .num_encoder_layers = layers,
                                                                .num_decoder_layers = layers,
                                                                .ffn_num_hiddens = 1024,
                                                                .share_embeddings = true,
                                                                .share_head = true,
                                                                .scale_embeddings = true});
  const Ids src = random_ids({sentences, time}, 1, 8000, rng);
  const double square = 256.0 * 256, feed = 2.0 * 256 * 1024, rows = sentences * time,
               decoded = static_cast<double>(sentences * (1 + (time - 1) * beam));
  flop = 2 * layers * (rows * (4 * square + feed) + rows * 2 * square + decoded * (6 * square + feed)) + 2 * decoded * 256 * 8000;
  return [=] {
    if (beam == 1)
      nn::generate(*model, src, {}, {.max_new_ids = time});
    else
      nn::beam_search(*model, src, {}, {.beam = beam, .max_new_ids = time});
    return 0.0;
  };
}

std::function<double()> peak(double& flop) {
  Rng rng(0);
  const Array a = normal({2048, 2048}, 0, 1, rng), b = normal({2048, 2048}, 0, 1, rng);
  flop = 2.0 * 2048 * 2048 * 2048;
  return [=] { return matmul(a, b).value().at({0, 0}) * 0; };
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"gpt_char", "V 65, T 64, 4 layers, 4 heads, d 128, batch 12, no bias, AdamW, clip 1",
       [](double& f) {
         return gpt({65, 64, 4, 4, 128, 12, false}, f);
       }},
      {"gpt2_124m", "V 50257, T 64, 12 layers, 12 heads, d 768, batch 4, AdamW, clip 1",
       [](double& f) {
         return gpt({50257, 64, 12, 12, 768, 4, true}, f);
       }},
      {"mt_d256", "translation: V 8000 tied, d 256, 8 heads, 3+3 layers, ffn 1024, dropout .1, 96 pairs of 12-24 tokens",
       [](double& f) {
         return seq2seq({8000, 256, 8, 3, 1024, 96, 24, 24}, f);
       }},
      {"mt_tiny", "translation: V 9716 tied, d 128, 4 heads, 4+4 layers, ffn 256, dropout .3, 128 pairs of 16-32 tokens",
       [](double& f) {
         return seq2seq({9716, 128, 4, 4, 256, 128, 32, 32, 0.3}, f);
       }},
      {"copy", "V 11 tied, d 64, 4 heads, 2+2 layers, ffn 256, 80 pairs of 5-10 tokens",
       [](double& f) {
         return seq2seq({11, 64, 4, 2, 256, 80, 10, 10, 0.0}, f);
       }},
      {"block_d512", "TransformerEncoderLayer forward and backward: d 512, 8 heads, ffn 2048, batch 8, T 128",
       [](double& f) { return block(f); }},
      {"attention_long", "MultiHeadAttention forward and backward: d 256, 8 heads, T 4096, causal",
       [](double& f) { return long_attention(4096, false, f); }},
      {"attention_16k", "as attention_long at T 16384", [](double& f) { return long_attention(16384, false, f); }},
      {"attention_weights", "as attention_long at T 1024, weights asked for", [](double& f) { return long_attention(1024, true, f); }},
      {"tiny_mlp", "MLP 16-32-4, batch 8, ReLU, cross-entropy, Adam",
       [](double& f) {
         return mlp({16, 32, 4}, 8, {.lr = 1e-3, .weight_decay = 0.0}, f);
       }},
      {"mnist_mlp", "MLP 784-512-512-10, batch 128, ReLU, cross-entropy, AdamW",
       [](double& f) {
         return mlp({784, 512, 512, 10}, 128, {.lr = 1e-3}, f);
       }},
      {"decode", "greedy translation of 1,000 sentences, 14 ids into 14: V 8000 tied, d 256, 8 heads, 3+3 layers, ffn 1024",
       [](double& f) { return decode(1, f); }},
      {"decode_beam", "as decode with a beam of 4", [](double& f) { return decode(4, f); }},
      {"peak", "square product of 2048: what the machine can do", [](double& f) { return peak(f); }},
  };
  return all;
}

}  // namespace bench
