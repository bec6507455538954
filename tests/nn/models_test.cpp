#include <algorithm>
#include <cmath>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/init.hpp>
#include <tapeform/nn/seq2seq.hpp>
#include <tapeform/nn/summary.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

nn::Seq2SeqOptions small() {
  return {.num_hiddens = 8,
          .num_heads = 2,
          .num_encoder_layers = 1,
          .num_decoder_layers = 1,
          .ffn_num_hiddens = 10,
          .dropout = 0,
          .max_len = 6};
}

bool has(const std::vector<std::string>& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

double deviation(const Array& x) {
  double squares = 0;
  for (const double value : x.to_vector()) squares += value * value;
  return std::sqrt(squares / static_cast<double>(x.numel()));
}

const Ids src = Ids::rows({{1, 2, 3, 4, 5}, {6, 5, 0, 0, 0}}), src_lens{5, 2};
const Ids tgt = Ids::rows({{0, 4, 3}, {0, 6, 1}}), targets = Ids::rows({{4, 3, 2}, {6, 1, 2}});

}  // namespace

TEST_CASE("Seq2Seq names its parameters, and what it shares are aliases") {
  Rng rng(1);
  const nn::Seq2Seq apart(7, 9, rng, small());
  const auto names = names_of(apart);
  CHECK(names.front() == "src_embed.weight [7, 8]");
  CHECK(names[1] == "tgt_embed.weight [9, 8]");
  CHECK(names.back() == "head.weight [9, 8]");
  CHECK(has(names, "transformer.encoder.layers.0.self_attn.in_proj_weight [24, 8]"));
  CHECK(has(names, "transformer.decoder.norm.bias [8]"));

  auto options = small();
  options.share_head = true;
  const nn::Seq2Seq head(7, 9, rng, options);
  CHECK(nn::count_parameters(head) == nn::count_parameters(apart) - 9 * 8);
  CHECK(deviation(head.tgt_embed->weight.value()) == Catch::Approx(1.0 / std::sqrt(8.0)).epsilon(0.3));
  CHECK_THAT(nn::summary(head), Contains("head.weight") && Contains("= tgt_embed.weight"));

  options.share_embeddings = true;
  options.positions = nn::Positions::learned;
  const nn::Seq2Seq one(7, 7, rng, options);
  CHECK(has(names_of(one), "src_pos.weight [6, 8]"));
  CHECK(has(names_of(one), "tgt_pos.weight [6, 8]"));
  CHECK_FALSE(has(names_of(one), "tgt_embed.weight [7, 8]"));
  const std::string text = nn::summary(one);
  CHECK_THAT(text, Contains("= src_embed.weight") && !Contains("= tgt_embed.weight"));
  CHECK(std::ranges::count(text, '=') == 2);
}

TEST_CASE("Seq2Seq: tables that are scaled by the root of the width begin small, whichever of them are shared") {
  for (const bool head : {false, true})
    for (const bool embeddings : {false, true}) {
      Rng rng(3);
      auto options = small();
      options.share_head = head;
      options.share_embeddings = embeddings;
      options.scale_embeddings = true;
      const nn::Seq2Seq model(300, 300, rng, options);
      CHECK(deviation(model.src_embed.weight.value()) == Catch::Approx(1.0 / std::sqrt(8.0)).epsilon(0.1));
      if (!embeddings) CHECK(deviation(model.tgt_embed->weight.value()) == Catch::Approx(1.0 / std::sqrt(8.0)).epsilon(0.1));
    }
}

TEST_CASE("Seq2Seq: loss is the cross-entropy of forward, gradients too") {
  Rng rng(2);
  for (const bool share : {false, true})
    for (const bool lens : {false, true}) {
      auto options = small();
      options.share_head = options.share_embeddings = options.scale_embeddings = share;
      options.positions = share ? nn::Positions::learned : nn::Positions::sinusoidal;
      const nn::Seq2Seq model = exact(nn::Seq2Seq(7, 7, rng, options));
      const CrossEntropyOptions entropy = {.ignore_id = 2, .label_smoothing = 0.1};
      const nn::Seq2SeqCall call = {.tgt_lens = lens ? Ids{3, 1} : Ids()};
      const Ids counted = lens ? Ids::rows({{4, 3, 2}, {6, 2, 2}}) : targets;
      std::vector<Array> gradients[2];
      double loss[2] = {};
      for (const bool tiled : {false, true}) {
        Tape tape;
        const Tensor value = tiled ? model.loss(src, src_lens, tgt, targets, entropy, call)
                                   : cross_entropy(model(src, src_lens, tgt, call), counted, entropy);
        loss[tiled] = value.item();
        tape.backward(value);
        gradients[tiled] = take_gradients(model);
      }
      CHECK(loss[1] == Catch::Approx(loss[0]).epsilon(1e-12));
      CHECK(relative_difference(gradients[1], gradients[0]) <= 1e-11);
    }
}

TEST_CASE("gradients of Seq2Seq and of CausalLM") {
  Rng rng(3);
  auto options = small();
  options.activation = nn::Activation::gelu;
  options.positions = nn::Positions::learned;
  const nn::Seq2Seq model = exact(nn::Seq2Seq(7, 7, rng, options));
  CHECK(gradcheck(model,
                  [&](const std::vector<Tensor>&) {
                    return model(src, src_lens, tgt, {.tgt_lens = {3, 2}});
                  },
                  {}, {.max_entries = 24})
            .error <= 1e-10);
  for (const bool tied : {false, true}) {
    const nn::CausalLM lm =
        exact(nn::CausalLM(7, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 2, .max_len = 6, .bias = tied, .tie_head = tied}));
    CHECK(gradcheck(lm, [&](const std::vector<Tensor>&) { return lm(tgt); }, {}, {.max_entries = 24}).error <= 1e-10);
    CHECK(gradcheck(lm,
                    [&](const std::vector<Tensor>&) {
                      return lm.loss(tgt, targets, {}, {.lens = {3, 1}});
                    },
                    {}, {.max_entries = 24})
              .error <= 1e-10);
  }
}

TEST_CASE("CausalLM names its parameters and starts as GPT-2 does") {
  Rng rng(4);
  const nn::CausalLM tied(50, rng, {.num_hiddens = 32, .num_heads = 2, .num_layers = 2, .max_len = 6, .bias = false});
  CHECK(names_of(tied) ==
        std::vector<std::string>{"tok.weight [50, 32]", "pos.weight [6, 32]", "encoder.layers.0.self_attn.in_proj_weight [96, 32]",
                                 "encoder.layers.0.self_attn.out_proj.weight [32, 32]", "encoder.layers.0.linear1.weight [128, 32]",
                                 "encoder.layers.0.linear2.weight [32, 128]", "encoder.layers.0.norm1.weight [32]",
                                 "encoder.layers.0.norm2.weight [32]", "encoder.layers.1.self_attn.in_proj_weight [96, 32]",
                                 "encoder.layers.1.self_attn.out_proj.weight [32, 32]", "encoder.layers.1.linear1.weight [128, 32]",
                                 "encoder.layers.1.linear2.weight [32, 128]", "encoder.layers.1.norm1.weight [32]",
                                 "encoder.layers.1.norm2.weight [32]", "encoder.norm.weight [32]"});
  CHECK_THAT(nn::summary(tied), Contains("head.weight") && Contains("= tok.weight"));
  const auto& layer = tied.encoder.layers[1];
  CHECK(deviation(tied.tok.weight.value()) == Catch::Approx(0.02).epsilon(0.1));
  CHECK(deviation(layer.self_attn.in_proj_weight.value()) == Catch::Approx(0.02).epsilon(0.1));
  CHECK(deviation(layer.self_attn.out_proj.weight.value()) == Catch::Approx(0.01).epsilon(0.1));
  CHECK(deviation(layer.feed_forward.linear2.weight.value()) == Catch::Approx(0.01).epsilon(0.1));
  CHECK(layer.norm1.weight.value().at({3}) == 1);

  const nn::CausalLM own(50, rng, {.num_hiddens = 32, .num_heads = 2, .num_layers = 2, .max_len = 6, .tie_head = false});
  CHECK(names_of(own).back() == "head.weight [50, 32]");
  CHECK(all_zero(own.encoder.layers[0].feed_forward.linear1.bias.value()));
  CHECK(all_zero(own.encoder.layers[0].self_attn.out_proj.bias.value()));
}

TEST_CASE("CausalLM: loss is the cross-entropy of forward; a position sees no later one") {
  Rng rng(5);
  const nn::CausalLM model = exact(nn::CausalLM(7, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 2, .max_len = 8}));
  CHECK(model.loss(tgt, targets).item() == Catch::Approx(cross_entropy(model(tgt), targets).item()).epsilon(1e-12));
  const Ids ids = Ids::rows({{1, 2, 3, 4, 5, 6, 0, 1}});
  const Array all = model(ids).value();
  for (Dim t = 1; t <= 8; ++t) {
    const Array some = model(Ids({1, t}, ids.values().first(static_cast<std::size_t>(t)))).value();
    CHECK(difference(part(some, 0, 0, t), part(all, 0, 0, t)) <= 1e-12);
  }
}

TEST_CASE("models drop embeddings too") {
  Rng rng(8);
  auto options = small();
  options.dropout = 0.5;
  const nn::Seq2Seq model(7, 7, rng, options);
  const nn::CausalLM lm(7, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 1, .max_len = 6, .dropout = 0.5});
  const Ids ids = Ids::rows({{1, 2, 3, 4}});
  const auto blocks = [&](const auto& run) {  // one serves four elements
    const auto before = rng.state().position;
    Tape tape(rng);
    run();
    return rng.state().position - before;
  };
  const std::uint64_t weights = 2 * 4 * 4 / 4, rows = 4 * 8 / 4;
  CHECK(blocks([&] { lm(ids); }) == rows + (weights + rows + 4 * 32 / 4 + rows));
  CHECK(blocks([&] { model(ids, Ids(), ids); }) == 2 * rows + (weights + rows + 10 + rows) + (2 * (weights + rows) + 10 + rows));
}

TEST_CASE("init_xavier draws matrices and leaves vectors") {
  Rng rng(6);
  const nn::TransformerEncoderLayer layer = exact(nn::TransformerEncoderLayer(8, 2, rng, {.ffn_num_hiddens = 24}));
  const Array norm = layer.norm1.weight.value();
  nn::init_xavier(layer, rng);
  CHECK(same_bits(layer.norm1.weight.value(), norm));
  const Array& weight = layer.feed_forward.linear1.weight.value();
  CHECK(weight.dtype() == DType::float64);
  const double bound = std::sqrt(6.0 / 32.0), largest = difference(weight, Array::zeros(weight.shape(), DType::float64));
  CHECK(largest <= bound);
  CHECK(largest > 0.95 * bound);
}

TEST_CASE("summary lists paths, shapes, counts, what is tied, and the total") {
  Rng rng(7);
  nn::CausalLM model(1000, rng, {.num_hiddens = 4, .num_heads = 2, .num_layers = 1, .ffn_num_hiddens = 5, .max_len = 6, .bias = false});
  model.pos.weight.set_trainable(false);
  CHECK(nn::summary(model) ==
        "CausalLM\n"
        "  tok.weight                                  [1000, 4]           4,000\n"
        "  pos.weight                                  [6, 4]                 24\n"
        "  encoder.layers.0.self_attn.in_proj_weight   [12, 4]                48\n"
        "  encoder.layers.0.self_attn.out_proj.weight  [4, 4]                 16\n"
        "  encoder.layers.0.linear1.weight             [5, 4]                 20\n"
        "  encoder.layers.0.linear2.weight             [4, 5]                 20\n"
        "  encoder.layers.0.norm1.weight               [4]                     4\n"
        "  encoder.layers.0.norm2.weight               [4]                     4\n"
        "  encoder.norm.weight                         [4]                     4\n"
        "  head.weight                                 = tok.weight\n"
        "4,140 parameters, 16.6 kB, 24 of them frozen\n");
  CHECK(nn::summary(nn::FixedPositions(drawn({600, 500}, 1))) == "FixedPositions\n  table  [600, 500] buffer\n0 parameters, 0.0 kB\n");
  CHECK_THAT(nn::summary(nn::Embedding(1000, 1000, rng)), Contains("\n1,000,000 parameters, 4.0 MB\n"));
}
