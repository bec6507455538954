#include <algorithm>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/reduce.hpp>
#include <tapeform/nn/transformer.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

nn::TransformerStackOptions small_stack(bool norm_first, nn::Activation activation = nn::Activation::gelu) {
  return {.ffn_num_hiddens = 10, .dropout = 0, .activation = activation, .norm_first = norm_first, .final_norm = norm_first};
}

struct Outcome {
  Array y;
  std::vector<Array> inputs, parameters;
};

template <class F, class M>
Outcome run(const M& module, const F& f, const std::vector<Array>& x, const Array& dy) {
  Outcome outcome;
  Tape tape;
  std::vector<Tensor> inputs;
  for (const Array& array : x) inputs.push_back(tape.watch(array));
  const Tensor y = f(inputs);
  outcome.y = y.value();
  tape.backward(y, dy);
  for (const Tensor& input : inputs) outcome.inputs.push_back(tape.grad(input));
  outcome.parameters = take_gradients(module);
  return outcome;
}

const std::vector<Dim> src_lens = {5, 2, 0}, tgt_lens = {1, 4, 3};
const Mask src_mask = Mask::valid_lens({5, 2, 0});
const Mask tgt_mask = Mask::causal() & Mask::valid_lens({1, 4, 3});

}  // namespace

TEST_CASE("layers and stacks have torch's names, shapes and count") {
  Rng rng(1);
  const nn::TransformerEncoder encoder(1, 8, 2, rng, {.ffn_num_hiddens = 12, .final_norm = true});
  const std::vector<std::string> names = {"layers.0.self_attn.in_proj_weight [24, 8]",
                                          "layers.0.self_attn.in_proj_bias [24]",
                                          "layers.0.self_attn.out_proj.weight [8, 8]",
                                          "layers.0.self_attn.out_proj.bias [8]",
                                          "layers.0.linear1.weight [12, 8]",
                                          "layers.0.linear1.bias [12]",
                                          "layers.0.linear2.weight [8, 12]",
                                          "layers.0.linear2.bias [8]",
                                          "layers.0.norm1.weight [8]",
                                          "layers.0.norm1.bias [8]",
                                          "layers.0.norm2.weight [8]",
                                          "layers.0.norm2.bias [8]",
                                          "norm.weight [8]",
                                          "norm.bias [8]"};
  CHECK(names_of(encoder) == names);
  const nn::TransformerDecoderLayer layer(8, 2, rng, {.ffn_num_hiddens = 12, .bias = false});
  CHECK(names_of(layer) == std::vector<std::string>{"self_attn.in_proj_weight [24, 8]", "self_attn.out_proj.weight [8, 8]",
                                                    "multihead_attn.in_proj_weight [24, 8]", "multihead_attn.out_proj.weight [8, 8]",
                                                    "linear1.weight [12, 8]", "linear2.weight [8, 12]", "norm1.weight [8]",
                                                    "norm2.weight [8]", "norm3.weight [8]"});
  // torch.nn.Transformer(8, 2, 2, 3, 12): 6,120 numbers; both stacks end with a norm.
  const nn::Transformer transformer(8, 2, rng, {.num_encoder_layers = 2, .num_decoder_layers = 3, .ffn_num_hiddens = 12});
  const auto all = names_of(transformer);
  const Dim attention = 3 * 8 * 8 + 3 * 8 + 8 * 8 + 8, ffn = 2 * 8 * 12 + 12 + 8, norm = 16;
  CHECK(nn::count_parameters(transformer) == 2 * (attention + ffn + 2 * norm) + 3 * (2 * attention + ffn + 3 * norm) + 2 * norm);
  CHECK(all.front() == "encoder.layers.0.self_attn.in_proj_weight [24, 8]");
  CHECK(all.back() == "decoder.norm.bias [8]");
  CHECK(std::ranges::find(all, "decoder.layers.2.multihead_attn.out_proj.bias [8]") != all.end());
  CHECK(std::ranges::find(all, "encoder.norm.weight [8]") != all.end());
}

TEST_CASE("gradients of encoder and decoder layers") {
  Rng rng(2);
  const Array x = drawn({2, 3, 4}, 1), memory = drawn({2, 5, 4}, 2);
  const Mask mask = Mask::causal(), memory_mask = Mask::valid_lens({5, 2});
  for (const bool norm_first : {false, true})
    for (const auto activation : {nn::Activation::relu, nn::Activation::gelu})
      for (const bool bias : {true, false}) {
        const nn::TransformerLayerOptions options = {
            .ffn_num_hiddens = 6, .dropout = 0, .activation = activation, .norm_first = norm_first, .bias = bias};
        const nn::TransformerEncoderLayer encoder = exact(nn::TransformerEncoderLayer(4, 2, rng, options));
        CHECK(gradcheck(encoder, [&](const Tensor& a) { return encoder(a, {.mask = mask}); }, {x}).error <= 1e-10);
        const nn::TransformerDecoderLayer decoder = exact(nn::TransformerDecoderLayer(4, 2, rng, options));
        CHECK(gradcheck(decoder,
                        [&](const Tensor& a, const Tensor& b) { return decoder(a, b, {.mask = mask, .memory_mask = memory_mask}); },
                        {x, memory})
                  .error <= 1e-10);
      }
}

TEST_CASE("gradients of one whole encoder-decoder with all masks") {
  Rng rng(3);
  const nn::Transformer model = exact(nn::Transformer(
      4, 2, rng,
      {.num_encoder_layers = 2, .num_decoder_layers = 2, .ffn_num_hiddens = 6, .dropout = 0, .activation = nn::Activation::gelu}));
  std::vector<bool> table(4 * 5, true);
  table[1] = table[7] = table[13] = false;
  const Mask memory_mask = src_mask & Mask::allow(table, {4, 5});
  const auto f = [&](const Tensor& src, const Tensor& tgt) {
    return model(src, tgt, {.src_mask = src_mask, .tgt_mask = tgt_mask, .memory_mask = memory_mask});
  };
  const GradcheckReport report = gradcheck(model, f, {drawn({3, 5, 4}, 1), drawn({3, 4, 4}, 2)}, {.max_entries = 24});
  CAPTURE(report.str());
  CHECK(report.ok(1e-10));
}

TEST_CASE("dropout sits where torch has it: on weights, inside and after each part") {
  Rng rng(4);
  const nn::TransformerEncoderLayer layer = exact(nn::TransformerEncoderLayer(4, 2, rng, {.ffn_num_hiddens = 6, .dropout = 0.3}));
  CHECK(gradcheck(layer, {drawn({2, 3, 4}, 1)}).error <= 1e-10);
  // p = 1 leaves the residual stream alone, whatever biases hold.
  const nn::TransformerLayerOptions all = {.ffn_num_hiddens = 6, .dropout = 1.0, .norm_first = true};
  const nn::TransformerEncoderLayer off = exact(nn::TransformerEncoderLayer(4, 2, rng, all));
  const nn::TransformerDecoderLayer decoder_off = exact(nn::TransformerDecoderLayer(4, 2, rng, all));
  const Array x = drawn({2, 3, 4}, 1), memory = drawn({2, 5, 4}, 2);
  // One block of random numbers serves four elements: weights, what is added, the inner layer, what is added.
  const auto blocks = [&](const auto& run) {
    const auto before = rng.state().position;
    Tape tape(rng);
    CHECK(same_bits(run(tape.watch(x)).value(), x));
    return rng.state().position - before;
  };
  CHECK(blocks([&](const Tensor& input) { return off(input); }) == 36 / 4 + 24 / 4 + 36 / 4 + 24 / 4);
  CHECK(blocks([&](const Tensor& input) { return decoder_off(input, memory); }) == 36 / 4 + 24 / 4 + 60 / 4 + 24 / 4 + 36 / 4 + 24 / 4);
}

TEST_CASE("layer_norm_eps reaches every norm") {
  Rng rng(13);
  const nn::TransformerStackOptions options = {.ffn_num_hiddens = 10, .dropout = 0, .layer_norm_eps = 0.75, .final_norm = true};
  const nn::TransformerEncoder encoder(1, 8, 2, rng, options);
  const nn::TransformerDecoder decoder(1, 8, 2, rng, options);
  const auto silence = [](const auto& model) {  // only the norms are left
    for (const auto& parameter : nn::named_parameters(model))
      if (parameter.name.find("norm") == std::string::npos) parameter.ref.value() = Array::zeros(parameter.ref.shape());
  };
  silence(encoder);
  silence(decoder);
  const nn::LayerNorm norm(8, {.eps = 0.75});
  const Tensor x = drawn({2, 3, 8}, 1).cast(DType::float32);
  CHECK(same_bits(encoder(x).value(), norm(norm(norm(x))).value()));
  CHECK(same_bits(decoder(x, x).value(), norm(norm(norm(norm(x)))).value()));
}

TEST_CASE("empty batches, empty sequences and lengths of 0 keep their shapes") {
  Rng rng(12);
  const nn::Transformer model =
      exact(nn::Transformer(8, 2, rng, {.num_encoder_layers = 1, .num_decoder_layers = 1, .ffn_num_hiddens = 10, .dropout = 0}));
  const auto run = [&](const Shape& src, const Shape& tgt, const Mask& lens) {
    Tape tape;
    const Tensor a = tape.watch(drawn(src, 1)), b = tape.watch(drawn(tgt, 2));
    const Tensor y = model(a, b, {.src_mask = lens, .tgt_mask = Mask::causal() & lens, .memory_mask = lens});
    tape.backward(y, Array::ones(y.shape(), DType::float64));
    for (const Array& gradient : take_gradients(model))
      for (const double value : gradient.to_vector()) CHECK(std::isfinite(value));
    return y.value();
  };
  CHECK(all_zero(run({2, 3, 8}, {2, 3, 8}, Mask::valid_lens({0, 0}))));
  CHECK(run({0, 3, 8}, {0, 2, 8}, Mask()).shape() == Shape{0, 2, 8});
  CHECK(run({2, 3, 8}, {2, 0, 8}, Mask()).shape() == Shape{2, 0, 8});
  CHECK(run({2, 0, 8}, {2, 3, 8}, Mask()).shape() == Shape{2, 3, 8});
}

TEST_CASE("rows beyond a valid length are exactly 0 in output and gradient, and reach nothing") {
  Rng rng(5);
  for (const bool norm_first : {false, true}) {
    const nn::TransformerEncoder encoder = exact(nn::TransformerEncoder(2, 8, 2, rng, small_stack(norm_first)));
    const nn::TransformerDecoder decoder = exact(nn::TransformerDecoder(2, 8, 2, rng, small_stack(norm_first)));
    const Array src = drawn({3, 5, 8}, 1), tgt = drawn({3, 4, 8}, 2), memory = drawn({3, 5, 8}, 3);
    const auto encode = [&](const std::vector<Tensor>& x) { return encoder(x[0], {.mask = src_mask}); };
    const auto decode = [&](const std::vector<Tensor>& x) { return decoder(x[0], x[1], {.mask = tgt_mask, .memory_mask = src_mask}); };
    const Array dsrc = drawn(src.shape(), 4), dtgt = drawn(tgt.shape(), 5);
    const Outcome encoded = run(encoder, encode, {src}, dsrc), decoded = run(decoder, decode, {tgt, memory}, dtgt);
    for (std::size_t b = 0; b < 3; ++b) {
      const Dim sample = static_cast<Dim>(b);
      CHECK(all_zero(part(encoded.y, sample, src_lens[b], 5)));
      CHECK(all_zero(part(encoded.inputs[0], sample, src_lens[b], 5)));
      CHECK(all_zero(part(decoded.y, sample, tgt_lens[b], 4)));
      CHECK(all_zero(part(decoded.inputs[0], sample, tgt_lens[b], 4)));
      CHECK(all_zero(part(decoded.inputs[1], sample, src_lens[b], 5)));
      if (src_lens[b] > 0) CHECK_FALSE(all_zero(part(encoded.y, sample, 0, src_lens[b])));
      CHECK_FALSE(all_zero(part(decoded.y, sample, 0, tgt_lens[b])));
    }
    const NoTape inference;
    CHECK(same_bits(encode({src}).value(), encoded.y));
    CHECK(same_bits(decode({tgt, memory}).value(), decoded.y));
    for (const double filling : {1e30, static_cast<double>(INFINITY), nan_value}) {
      // The gradient that comes in is filled too: what stands there is nobody's.
      const Outcome spoiled = run(encoder, encode, {fill_beyond(src, src_lens, filling)}, fill_beyond(dsrc, src_lens, filling));
      CHECK(same_bits(spoiled.y, encoded.y));
      CHECK(same_bits(spoiled.inputs, encoded.inputs));
      CHECK(same_bits(spoiled.parameters, encoded.parameters));
      const Outcome both = run(decoder, decode, {fill_beyond(tgt, tgt_lens, filling), fill_beyond(memory, src_lens, filling)},
                               fill_beyond(dtgt, tgt_lens, filling));
      CHECK(same_bits(both.y, decoded.y));
      CHECK(same_bits(both.inputs, decoded.inputs));
      CHECK(same_bits(both.parameters, decoded.parameters));
    }
  }
}

TEST_CASE("a mask counts rows from the padded sequence, packed or not") {
  Rng rng(6);
  const nn::TransformerDecoder decoder = exact(nn::TransformerDecoder(1, 8, 2, rng, small_stack(false)));
  const Array tgt = drawn({2, 3, 8}, 1), memory = drawn({2, 6, 8}, 2);
  // A causal memory mask lets query i see rows up to i + 3, whatever lengths leave out.
  const Mask mask = Mask::valid_lens({2, 1}), memory_mask = Mask::causal() & Mask::valid_lens({6, 5});
  const Array packed = decoder(tgt, memory, {.mask = mask, .memory_mask = memory_mask}).value();
  const Array rows = decoder.layers[0](tgt, memory, {.mask = mask, .memory_mask = memory_mask}).value();
  CHECK(difference(packed, fill_beyond(rows, {2, 1}, 0)) <= 1e-12);
}

TEST_CASE("TR-05: padded batch against single sentence", "[case]") {
  Rng rng(7);
  const nn::Transformer model =
      exact(nn::Transformer(8, 2, rng, {.num_encoder_layers = 2, .num_decoder_layers = 2, .ffn_num_hiddens = 10, .dropout = 0}));
  const std::vector<Dim> lens = {3, 7};
  const Array src = drawn({2, 7, 8}, 1), tgt = drawn({2, 7, 8}, 2), weights = fill_beyond(drawn({2, 7, 8}, 3), lens, 0);
  for (const bool whole : {false, true}) {
    const auto f = [&](const Tensor& a, const Tensor& b, const Mask& valid) {
      if (!whole) return model.encoder(a, {.mask = valid});
      return model(a, b, {.src_mask = valid, .tgt_mask = Mask::causal() & valid, .memory_mask = valid});
    };
    Array y, parts[2];
    std::vector<Array> gradients[2];
    double loss[2] = {};
    {
      Tape tape;
      const Tensor a = tape.watch(src), b = tape.watch(tgt);
      const Tensor out = f(a, b, Mask::valid_lens({3, 7}));
      y = out.value();
      const Tensor total = sum(out * out * weights);
      loss[0] = total.item();
      tape.backward(total);
      gradients[0] = take_gradients(model);
    }
    CHECK(same_bits(f(src, tgt, Mask::valid_lens({3, 7})).value(), y));
    {
      Tape tape;
      Tensor total;
      for (const Dim b : {0, 1}) {
        const Dim length = lens[static_cast<std::size_t>(b)];
        const auto alone = [&](const Array& x) { return part(x, b, 0, length).reshape({1, length, 8}); };
        const Tensor a = tape.watch(alone(src)), out = f(a, alone(tgt), Mask());
        parts[b] = out.value();
        const Tensor loss_alone = sum(out * out * alone(weights));
        total = total ? total + loss_alone : loss_alone;
      }
      loss[1] = total.item();
      tape.backward(total);
      gradients[1] = take_gradients(model);
    }
    CHECK(difference(part(y, 0, 0, 3).reshape({1, 3, 8}), parts[0]) <= 1e-10);
    CHECK(difference(y.rows(1, 2), parts[1]) <= 1e-10);
    CHECK(loss[0] == Catch::Approx(loss[1]).epsilon(1e-12));
    CHECK(relative_difference(gradients[0], gradients[1]) <= 1e-10);
  }
}

TEST_CASE("MA-24: inference path changes the output shape", "[case]") {
  Rng rng(8);
  const nn::TransformerEncoder encoder(2, 8, 2, rng, {.ffn_num_hiddens = 10, .dropout = 0});
  const Array x = drawn({4, 6, 8}, 1).cast(DType::float32);
  const Mask mask = Mask::valid_lens({1, 1, 1, 1});
  const Array inferred = encoder(x, {.mask = mask}).value();
  Tape tape;
  const Array trained = encoder(tape.watch(x), {.mask = mask}).value();
  CHECK(inferred.shape() == Shape{4, 6, 8});
  CHECK(same_bits(trained, inferred));
  const Array alone = encoder(part(x, 2, 0, 1).reshape({1, 1, 8})).value();
  CHECK(difference(part(inferred, 2, 0, 1), alone.reshape({1, 8})) <= 1e-6);
}

TEST_CASE("TR-03: decoder sees the future", "[case]") {
  Rng rng(9);
  const nn::TransformerDecoder decoder = exact(nn::TransformerDecoder(2, 8, 2, rng, small_stack(false)));
  const Array tgt = drawn({1, 6, 8}, 1), memory = drawn({1, 4, 8}, 2);
  const Array y = decoder(tgt, memory, {.mask = Mask::causal()}).value();
  for (const Dim j : {0, 1, 2, 3, 4, 5}) {
    Array changed = tgt;
    for (Dim i = 0; i < 8; ++i) changed.mutable_data<double>()[j * 8 + i] += 1.0 + static_cast<double>(i);
    const Array other = decoder(changed, memory, {.mask = Mask::causal()}).value();
    CHECK(same_bits(part(other, 0, 0, j), part(y, 0, 0, j)));
    CHECK(difference(part(other, 0, j, 6), part(y, 0, j, 6)) > 1e-3);

    Tape tape;
    const Tensor x = tape.watch(tgt);
    tape.backward(sum(slice(decoder(x, memory, {.mask = Mask::causal()}), 1, j, j + 1) * drawn({8}, 3)));
    CHECK(all_zero(part(tape.grad(x), 0, j + 1, 6)));
    CHECK_FALSE(all_zero(part(tape.grad(x), 0, 0, j + 1)));
    take_gradients(decoder);
  }
}

TEST_CASE("AG-49: batch 1 squeezed away", "[case]") {
  Rng rng(10);
  const nn::Transformer model =
      exact(nn::Transformer(8, 2, rng, {.num_encoder_layers = 1, .num_decoder_layers = 1, .ffn_num_hiddens = 10, .dropout = 0}));
  for (const Dim tgt_time : {1, 4})
    for (const Dim src_time : {1, 5}) {
      const Array src = drawn({3, src_time, 8}, 1), tgt = drawn({3, tgt_time, 8}, 2);
      const auto f = [&](const Array& a, const Array& b, const Mask& lens) {
        return model(a, b, {.src_mask = lens, .tgt_mask = Mask::causal(), .memory_mask = lens}).value();
      };
      const Array all = f(src, tgt, Mask::valid_lens({src_time, 1, src_time}));
      for (const Dim b : {0, 1, 2}) {
        const Array alone = f(src.rows(b, b + 1), tgt.rows(b, b + 1), Mask::valid_lens(Ids{b == 1 ? 1 : src_time}));
        CHECK(alone.shape() == Shape{1, tgt_time, 8});
        CHECK(difference(alone, all.rows(b, b + 1)) <= 1e-10);
      }
    }
}

TEST_CASE("a copy of a model is independent, and the model trains on after it moved") {
  Rng rng(11);
  nn::TransformerEncoder encoder(2, 8, 2, rng, {.ffn_num_hiddens = 10});
  const auto handles = nn::parameters(encoder);
  const nn::TransformerEncoder copy = encoder;
  const nn::TransformerEncoder moved = std::move(encoder);
  CHECK(nn::parameters(moved) == handles);
  moved.layers[0].norm1.weight.ref().value() = Array::zeros({8});
  CHECK(copy.layers[0].norm1.weight.value().at({0}) == 1);
}
