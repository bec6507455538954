// The other side of roundtrip.py: loads a module's weights from PyTorch's file, computes, and writes weights that PyTorch loads.
//
//   golden_roundtrip FOLDER MODULE DTYPE
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <tapeform/tapeform.hpp>

using namespace tapeform;

namespace {

constexpr Dim width = 8, heads = 2, ff = 12;

struct Trip {
  std::string folder;
  DType dtype;
  io::SafeTensors inputs;
  Rng rng{7};

  std::string path(const char* what) const { return folder + "/" + what + ".safetensors"; }
  Tensor x(const char* name) const { return inputs.array(name); }
  Ids ids(const char* name) const { return inputs.ids(name); }
  Mask lens(const char* name) const { return Mask::valid_lens(ids(name)); }

  /// Loads `weights`, writes what `forward(module)` gives and the weights again; then once more with other numbers.
  template <class M, class F>
  void go(M module, const F& forward) {
    nn::cast(module, dtype);
    io::load_checkpoint(path("weights"), module);
    io::write_safetensors(path("outputs"), {{"y", forward(module).value()}});
    io::save_checkpoint(path("again"), module);
    for (const ParameterRef& parameter : nn::parameters(module)) {
      Array other = normal(parameter.shape(), 0, 0.1, rng, dtype);
      other += parameter.value();
      parameter.value() = other;
    }
    io::write_safetensors(path("outputs_back"), {{"y", forward(module).value()}});
    io::save_checkpoint(path("back"), module);
  }
};

nn::TransformerLayerOptions layer(bool pre) {
  return {.ffn_num_hiddens = ff,
          .dropout = 0,
          .activation = pre ? nn::Activation::gelu : nn::Activation::relu,
          .norm_first = pre,
          .bias = !pre};
}

nn::CausalLM causal_lm(Rng& rng, bool tied) {
  return nn::CausalLM(13, rng, {.num_hiddens = 12, .num_heads = 3, .num_layers = 2, .ffn_num_hiddens = 24, .max_len = 8, .tie_head = tied});
}

nn::Seq2Seq seq2seq(Rng& rng, bool shared) {
  return nn::Seq2Seq(shared ? 11 : 9, 11, rng,
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

void encoder_layer(Trip& trip, bool pre) {
  trip.go(nn::TransformerEncoderLayer(width, heads, trip.rng, layer(pre)),
          [&trip, pre](const nn::TransformerEncoderLayer& m) { return m(trip.x("x"), {.mask = pre ? Mask::causal() : Mask()}); });
}

void decoder_layer(Trip& trip, bool pre) {
  trip.go(nn::TransformerDecoderLayer(width, heads, trip.rng, layer(pre)),
          [&trip](const nn::TransformerDecoderLayer& m) { return m(trip.x("x"), trip.x("memory"), {.mask = Mask::causal()}); });
}

void language_model(Trip& trip, bool tied) {
  trip.go(causal_lm(trip.rng, tied), [&trip](const nn::CausalLM& m) { return m(trip.ids("ids")); });
}

void translator(Trip& trip, bool shared) {
  trip.go(seq2seq(trip.rng, shared), [&trip](const nn::Seq2Seq& m) {
    return m(trip.ids("src"), trip.ids("src_lens"), trip.ids("tgt"), {.tgt_lens = trip.ids("tgt_lens")});
  });
}

const std::map<std::string, std::function<void(Trip&)>> modules{
    {"mha",
     [](Trip& trip) {
       trip.go(nn::MultiHeadAttention(width, heads, trip.rng), [&trip](const nn::MultiHeadAttention& m) {
         const Tensor memory = trip.x("memory");
         return m(trip.x("x"), memory, memory);
       });
     }},
    {"mha_no_bias",
     [](Trip& trip) {
       trip.go(nn::MultiHeadAttention(width, heads, trip.rng, {.bias = false}),
               [&trip](const nn::MultiHeadAttention& m) { return m(trip.x("x")); });
     }},
    {"mha_widths",
     [](Trip& trip) {
       trip.go(nn::MultiHeadAttention(width, heads, trip.rng, {.kdim = 6, .vdim = 5}),
               [&trip](const nn::MultiHeadAttention& m) { return m(trip.x("x"), trip.x("k"), trip.x("v")); });
     }},
    {"encoder_layer", [](Trip& trip) { encoder_layer(trip, false); }},
    {"encoder_layer_pre", [](Trip& trip) { encoder_layer(trip, true); }},
    {"decoder_layer", [](Trip& trip) { decoder_layer(trip, false); }},
    {"decoder_layer_pre", [](Trip& trip) { decoder_layer(trip, true); }},
    {"encoder",
     [](Trip& trip) {
       trip.go(nn::TransformerEncoder(
                   3, width, heads, trip.rng,
                   {.ffn_num_hiddens = ff, .dropout = 0, .activation = nn::Activation::gelu, .norm_first = true, .final_norm = true}),
               [&trip](const nn::TransformerEncoder& m) { return m(trip.x("x"), {.mask = trip.lens("lens")}); });
     }},
    {"decoder",
     [](Trip& trip) {
       trip.go(nn::TransformerDecoder(2, width, heads, trip.rng, {.ffn_num_hiddens = ff, .dropout = 0}),
               [&trip](const nn::TransformerDecoder& m) {
                 return m(trip.x("x"), trip.x("memory"),
                          {.mask = Mask::causal() & trip.lens("lens"), .memory_mask = trip.lens("memory_lens")});
               });
     }},
    {"transformer",
     [](Trip& trip) {
       trip.go(
           nn::Transformer(width, heads, trip.rng, {.num_encoder_layers = 2, .num_decoder_layers = 3, .ffn_num_hiddens = ff, .dropout = 0}),
           [&trip](const nn::Transformer& m) {
             const Mask memory = trip.lens("memory_lens");
             return m(trip.x("memory"), trip.x("x"),
                      {.src_mask = memory, .tgt_mask = Mask::causal() & trip.lens("lens"), .memory_mask = memory});
           });
     }},
    {"causal_lm", [](Trip& trip) { language_model(trip, false); }},
    {"causal_lm_tied", [](Trip& trip) { language_model(trip, true); }},
    {"seq2seq", [](Trip& trip) { translator(trip, false); }},
    {"seq2seq_shared", [](Trip& trip) { translator(trip, true); }}};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || !modules.contains(argv[2])) {
    std::fputs("golden_roundtrip FOLDER MODULE DTYPE\n", stderr);
    return 2;
  }
  try {
    const std::string folder = argv[1];
    Trip trip{folder, std::string(argv[3]) == "float64" ? DType::float64 : DType::float32,
              io::read_safetensors(folder + "/inputs.safetensors")};
    modules.at(argv[2])(trip);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "golden_roundtrip %s: %s\n", argv[2], error.what());
    return 1;
  }
}
