#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/seq2seq.hpp>

#include "catch.hpp"
#include "golden.hpp"

using namespace tapeform;
using golden::Case;
using golden::Runner;

namespace {

constexpr Dim width = 8, heads = 2, ff = 12;

Rng& any_rng() {  // the case replaces every number that is drawn
  static Rng rng(1);
  return rng;
}

nn::TransformerLayerOptions layer(bool norm_first, nn::Activation activation, bool bias = true) {
  return {.ffn_num_hiddens = ff, .dropout = 0, .activation = activation, .norm_first = norm_first, .bias = bias};
}

nn::TransformerStackOptions stack(bool norm_first, nn::Activation activation) {
  return {.ffn_num_hiddens = ff, .dropout = 0, .activation = activation, .norm_first = norm_first, .final_norm = norm_first};
}

Mask lens(const Case& c, const char* name) { return Mask::valid_lens(c.ids(name)); }

// ---- layers of one tensor -----------------------------------------------------------------------------------------------------

std::vector<Runner> small() {
  return {{"linear",
           [](Case& c) {
             const nn::Linear linear(5, 7, any_rng(), {.bias = !c.name().ends_with("no_bias")});
             c.load(linear);
             c.check("y", linear(c.x("x")));
           }},
          {"embedding_padding",
           [](Case& c) {
             const nn::Embedding embedding(6, 4, any_rng(), {.padding_id = 0});
             c.load(embedding);
             c.check("y", embedding(c.ids("ids")));
           }},
          {"layer_norm",
           [](Case& c) {
             const nn::LayerNorm norm(9, {.bias = !c.name().ends_with("no_bias")});
             c.load(norm);
             c.check("y", norm(c.x("x")));
           }},
          {"sinusoidal_even", [](Case& c) { c.check_numbers("out/table", nn::sinusoidal_table(9, 8).cast(c.dtype())); }},
          {"sinusoidal_long", [](Case& c) { c.check_numbers("out/table", nn::sinusoidal_table(65, 6).cast(c.dtype())); }}};
}

// ---- attention ----------------------------------------------------------------------------------------------------------------

/// Attention of this case's q to its k and v, to its memory m, or of x to itself.
void attend(Case& c, const Mask& mask = {}) {
  nn::MultiHeadAttentionOptions options{.bias = !c.name().ends_with("no_bias")};
  Array weights;
  const nn::MultiHeadAttentionCall call{.mask = mask, .weights = &weights};
  const auto run = [&c, &options, &weights](const auto& forward) {
    const nn::MultiHeadAttention mha(width, heads, any_rng(), options);
    c.load(mha);
    const Tensor y = forward(mha);
    c.check_numbers("out/weights", weights);
    c.check("y", y);
  };
  if (c.has("in/x")) {
    run([&c, &call](const nn::MultiHeadAttention& mha) { return mha(c.x("x"), call); });
  } else if (c.has("in/m")) {
    const Tensor q = c.x("q"), m = c.x("m");
    run([&q, &m, &call](const nn::MultiHeadAttention& mha) { return mha(q, m, m, call); });
  } else {
    const Tensor q = c.x("q"), k = c.x("k"), v = c.x("v");
    if (k.dim(-1) != width) options.kdim = k.dim(-1);
    if (v.dim(-1) != width) options.vdim = v.dim(-1);
    run([&q, &k, &v, &call](const nn::MultiHeadAttention& mha) { return mha(q, k, v, call); });
  }
}

std::vector<Runner> attention() {
  return {{"mha_self", [](Case& c) { attend(c); }},
          {"mha_cross", [](Case& c) { attend(c); }},
          {"mha_memory", [](Case& c) { attend(c); }},
          {"mha_causal", [](Case& c) { attend(c, Mask::causal()); }},
          {"mha_padding", [](Case& c) { attend(c, lens(c, "lens")); }}};
}

// ---- Transformer layers and stacks ---------------------------------------------------------------------------------------------

Runner encoder_layer(const char* name, const nn::TransformerLayerOptions& options, const Mask& mask = {}) {
  return {name, [options, mask](Case& c) {
            const nn::TransformerEncoderLayer encoder(width, heads, any_rng(), options);
            c.load(encoder);
            c.check("y", encoder(c.x("x"), {.mask = mask}));
          }};
}

Runner decoder_layer(const char* name, const nn::TransformerLayerOptions& options, const Mask& mask = Mask::causal()) {
  return {name, [options, mask](Case& c) {
            const nn::TransformerDecoderLayer decoder(width, heads, any_rng(), options);
            c.load(decoder);
            const Tensor x = c.x("x"), memory = c.x("memory");
            c.check("y", decoder(x, memory, {.mask = mask}));
          }};
}

std::vector<Runner> transformer_layers() {
  using enum nn::Activation;
  return {encoder_layer("encoder_layer_post_relu", layer(false, relu)),
          encoder_layer("encoder_layer_post_gelu", layer(false, gelu)),
          encoder_layer("encoder_layer_pre_relu", layer(true, relu)),
          encoder_layer("encoder_layer_pre_gelu", layer(true, gelu)),
          encoder_layer("encoder_layer_no_bias", layer(true, gelu, false), Mask::causal()),
          decoder_layer("decoder_layer_post_relu", layer(false, relu)),
          decoder_layer("decoder_layer_post_gelu", layer(false, gelu)),
          decoder_layer("decoder_layer_pre_relu", layer(true, relu)),
          decoder_layer("decoder_layer_pre_gelu", layer(true, gelu)),
          decoder_layer("decoder_layer_no_bias", layer(false, relu, false), Mask())};
}

Runner encoder(const char* name, bool norm_first) {
  return {name, [norm_first](Case& c) {
            const nn::TransformerEncoder encoder(2, width, heads, any_rng(), stack(norm_first, nn::Activation::relu));
            c.load(encoder);
            c.check("y", encoder(c.x("x"), {.mask = lens(c, "lens")}));
          }};
}

Runner decoder(const char* name, bool norm_first) {
  return {name, [norm_first](Case& c) {
            const nn::TransformerDecoder decoder(2, width, heads, any_rng(), stack(norm_first, nn::Activation::gelu));
            c.load(decoder);
            const Tensor x = c.x("x"), memory = c.x("memory");
            c.check("y", decoder(x, memory, {.mask = Mask::causal() & lens(c, "tgt_lens"), .memory_mask = lens(c, "lens")}));
          }};
}

void run_transformer(Case& c, const nn::TransformerOptions& options, const nn::TransformerCall& call) {
  const nn::Transformer transformer(width, heads, any_rng(), options);
  c.load(transformer);
  const Tensor src = c.x("src"), tgt = c.x("tgt");
  c.check("y", transformer(src, tgt, call));
}

Runner transformer(const char* name, Dim encoder_layers, Dim decoder_layers, const nn::TransformerLayerOptions& layer) {
  return {name, [encoder_layers, decoder_layers, layer](Case& c) {
            const Mask src = lens(c, "src_lens");
            run_transformer(c,
                            {.num_encoder_layers = encoder_layers,
                             .num_decoder_layers = decoder_layers,
                             .ffn_num_hiddens = ff,
                             .dropout = 0,
                             .activation = layer.activation,
                             .norm_first = layer.norm_first,
                             .bias = layer.bias},
                            {.src_mask = src, .tgt_mask = Mask::causal() & lens(c, "tgt_lens"), .memory_mask = src});
          }};
}

std::vector<Runner> stacks() {
  using enum nn::Activation;
  return {encoder("encoder_post", false),
          encoder("encoder_pre_norm", true),
          decoder("decoder_post", false),
          decoder("decoder_pre_norm", true),
          transformer("transformer_post", 2, 2, layer(false, relu)),
          transformer("transformer_pre", 1, 2, layer(true, gelu)),
          transformer("transformer_no_bias", 2, 1, layer(true, relu, false)),
          {"transformer_masks", [](Case& c) {
             run_transformer(c, {.num_encoder_layers = 1, .num_decoder_layers = 1, .ffn_num_hiddens = ff, .dropout = 0},
                             {.src_mask = c.allow("src_allow"), .tgt_mask = Mask::causal(), .memory_mask = c.allow("memory_allow")});
           }}};
}

std::vector<Runner> layers() {
  std::vector<Runner> all;
  for (const auto& part : {small(), attention(), transformer_layers(), stacks()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// ---- models --------------------------------------------------------------------------------------------------------------------

nn::CausalLM make_causal_lm(const Case& c) {
  return nn::CausalLM(
      13, any_rng(),
      {.num_hiddens = 12, .num_heads = 3, .num_layers = 2, .ffn_num_hiddens = 24, .max_len = 8, .bias = !c.name().ends_with("no_bias")});
}

void causal_lm(Case& c) {
  const nn::CausalLM model = make_causal_lm(c);
  c.load(model);
  {
    const NoTape no_tape;
    c.check_numbers("out/logits", model(c.ids("ids")).value());
  }
  c.check("loss", model.loss(c.ids("ids"), c.ids("targets")));
}

/// The same loss from logits that are held in memory.
void causal_lm_by_logits(Case& c) {
  const nn::CausalLM model = make_causal_lm(c);
  c.load(model);
  const Tensor logits = model(c.ids("ids"));
  c.check_numbers("out/logits", logits.value());
  c.check("loss", cross_entropy(logits, c.ids("targets")));
}

nn::Seq2Seq make_seq2seq(const Case& c) {
  const bool shared = c.name().ends_with("shared_scaled");
  return nn::Seq2Seq(shared ? 11 : 9, 11, any_rng(),
                     {.num_hiddens = width,
                      .num_heads = heads,
                      .num_encoder_layers = 2,
                      .num_decoder_layers = 2,
                      .ffn_num_hiddens = ff,
                      .dropout = 0,
                      .share_embeddings = shared,
                      .share_head = shared,
                      .scale_embeddings = shared});
}

const CrossEntropyOptions smoothed{.ignore_id = 0, .label_smoothing = 0.1};

void seq2seq(Case& c) {
  const nn::Seq2Seq model = make_seq2seq(c);
  c.load(model);
  const Ids src = c.ids("src"), src_lens = c.ids("src_lens"), tgt = c.ids("tgt");
  {
    const NoTape no_tape;
    c.check_numbers("out/logits", model(src, src_lens, tgt, {.tgt_lens = c.ids("tgt_lens")}).value());
  }
  c.check("loss", model.loss(src, src_lens, tgt, c.ids("labels"), smoothed, {.tgt_lens = c.ids("tgt_lens")}));
}

void seq2seq_by_logits(Case& c) {
  const nn::Seq2Seq model = make_seq2seq(c);
  c.load(model);
  const Tensor logits = model(c.ids("src"), c.ids("src_lens"), c.ids("tgt"), {.tgt_lens = c.ids("tgt_lens")});
  c.check_numbers("out/logits", logits.value());
  c.check("loss", cross_entropy(logits, c.ids("labels"), smoothed));
}

const std::vector<Runner> models{{"causal_lm_", causal_lm}, {"seq2seq_", seq2seq}};
const std::vector<Runner> models_by_logits{{"causal_lm_", causal_lm_by_logits}, {"seq2seq_", seq2seq_by_logits}};

}  // namespace

TEST_CASE("golden: every layer agrees with torch.nn in float64, forward and backward") {
  golden::run_file("layers", DType::float64, layers());
}
TEST_CASE("golden: every layer agrees with torch.nn in float32, forward and backward") {
  golden::run_file("layers", DType::float32, layers());
}

TEST_CASE("golden: models agree with PyTorch in float64: logits, loss, every gradient") {
  golden::run_file("models", DType::float64, models);
  golden::run_file("models", DType::float64, models_by_logits);
}
TEST_CASE("golden: models agree with PyTorch in float32: logits, loss, every gradient") {
  golden::run_file("models", DType::float32, models);
  golden::run_file("models", DType::float32, models_by_logits);
}
