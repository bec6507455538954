#include <tapeform/pages/attribution.hpp>
#include <tapeform/tapeform.hpp>

#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "message.hpp"
#include "pages/common.hpp"

using namespace tapeform;
using namespace pages;
using nn::AttentionKind;

namespace {

/// Two attentions, one on what the other gave, and something that is not linear behind them.
struct Reader : nn::Module<Reader> {
  nn::MultiHeadAttention self, cross;
  nn::Linear out;
  explicit Reader(Rng& rng) : self(6, 2, rng), cross(6, 3, rng), out(6, 2, rng) { nn::cast(*this, DType::float64); }
  /// Weights that are given, [B, H, Tq, Tk], stand for those that the module would compute.
  Tensor forward(const Tensor& x, const Tensor& memory, const Array& self_weights = {}, const Array& cross_weights = {}) const {
    const Tensor h = x + (self_weights ? attend(self, x, self_weights) : self(x, {.mask = Mask::causal()}));
    const Tensor g = h + (cross_weights ? attend(cross, memory, cross_weights) : cross(h, memory, memory, {.mask = lens}));
    return sum(tanh(out(g)));
  }
  void visit(nn::Fields& field) {
    field("self", self);
    field("cross", cross);
    field("out", out);
  }

  static Tensor attend(const nn::MultiHeadAttention& attention, const Tensor& memory, const Array& weights) {
    return attention.out_proj(nn::merge_heads(matmul(Tensor(weights), heads_of(attention, memory))));
  }
  static Tensor heads_of(const nn::MultiHeadAttention& attention, const Tensor& memory) {
    const Dim E = attention.num_hiddens();
    return nn::split_heads(linear(memory, slice(attention.in_proj_weight, 0, 2 * E, 3 * E), slice(attention.in_proj_bias, 0, 2 * E, 3 * E)),
                           attention.num_heads());
  }
  const Mask lens = Mask::valid_lens(Ids{3, 2});
};

struct Inputs {
  Rng rng{1};
  Reader reader{rng};
  Array x = normal({2, 3, 6}, 0, 1, rng, DType::float64), memory = normal({2, 3, 6}, 0, 1, rng, DType::float64);
  const std::vector<SentenceTokens> tokens{{{"a", "b", "c"}, {"A", "B", "C"}}, {{"a", "b", "c"}, {"A", "B", "C"}}};
};

/// P ∘ ∂y/∂P of sample b by central differences.
template <class F>
std::vector<double> by_differences(const Array& weights, Dim b, const F& y) {
  const double step = 1e-5;
  const Dim size = weights.numel() / weights.dim(0);
  std::vector<double> products;
  for (Dim i = b * size; i < (b + 1) * size; ++i) {
    Array up = weights, down = weights;
    up.mutable_data<double>()[i] += step;
    down.mutable_data<double>()[i] -= step;
    products.push_back(weights.data<double>()[i] * (y(up) - y(down)) / (2 * step));
  }
  return products;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

AttentionMap layer(AttentionKind kind, Dim number, const Array& weights) {
  AttentionMap map{.name = "layer", .kind = kind, .layer = number, .weights = weights};
  map.queries.resize(static_cast<std::size_t>(weights.dim(1)), "q");
  map.keys.resize(static_cast<std::size_t>(weights.dim(2)), "k");
  return map;
}

}  // namespace

TEST_CASE("pages: weights times their gradient agree with central differences, and hidden keys have 0 whatever they hold") {
  const Inputs in;
  Array hostile = in.memory;  // row 2 of sample 1 is hidden
  for (Dim c = 0; c < 6; ++c) hostile.mutable_data<double>()[(3 + 2) * 6 + c] = NAN;
  const nn::AttentionRecorder recorder(in.reader, {.keep_heads = true});
  Tape tape;
  const Tensor y = in.reader(in.x, hostile);
  const std::vector<AttentionMap> maps = gradient_maps(recorder, tape, y, in.tokens);
  REQUIRE(maps.size() == 4);
  for (const Dim b : {0, 1}) {
    const AttentionMap &self = maps[static_cast<std::size_t>(2 * b)], &cross = maps[static_cast<std::size_t>(2 * b + 1)];
    CHECK(self.measure == AttentionMeasure::gradient);
    CHECK(cross.weights.shape() == Shape{3, 3, 3});
    const Array self_weights = recorder["self"], cross_weights = recorder["cross"];
    CHECK(largest_difference(self.weights.to_vector(), by_differences(self_weights, b, [&in](const Array& weights) {
                               return in.reader(in.x, in.memory, weights).item();
                             })) < 1e-9);
    CHECK(largest_difference(cross.weights.to_vector(), by_differences(cross_weights, b, [&in](const Array& weights) {
                               return in.reader(in.x, in.memory, Array(), weights).item();
                             })) < 1e-9);
    CHECK(cross.weights.at({0, 0, 2}) == (b == 0 ? cross.weights.at({0, 0, 2}) : 0));
    double largest = 0;
    for (const double product : self.weights.to_vector()) largest = std::max(largest, std::abs(product));
    CHECK(largest > 1e-3);
  }
  CHECK_FALSE(tape.spent());
}

TEST_CASE("pages: gradients of a padded batch are those of each sentence alone") {
  nn::Seq2Seq model = translator();
  nn::cast(model, DType::float64);
  const Ids labels = Ids::rows({{1, 2, 6}, {4, 6, 0}}), tgt_lens{3, 2};
  const auto maps_of = [&model](const Ids& src, const Ids& lens, const Ids& tgt, const Ids& right, const Ids& right_lens,
                                const std::vector<SentenceTokens>& sentences) {
    const nn::AttentionRecorder recorder(model, {.keep_heads = true});
    Tape tape(Tape::no_dropout);
    const Tensor y = -1.0 * model.loss(src, lens, tgt, right, {.ignore_id = 0, .reduction = Reduction::sum}, {.tgt_lens = right_lens});
    return gradient_maps(recorder, tape, y, sentences);
  };
  const auto together = maps_of(two_sources, two_lens, two_targets, labels, tgt_lens, two_sentences);
  const auto alone = maps_of(Ids::rows({{4, 5}}), Ids(), Ids::rows({{0, 4}}), Ids::rows({{4, 6}}), Ids(), {two_sentences[1]});
  REQUIRE(together.size() == 12);
  REQUIRE(alone.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(alone[i].name == together[6 + i].name);
    CHECK(largest_difference(alone[i].weights.to_vector(), together[6 + i].weights.to_vector()) < 1e-12);
  }
}

TEST_CASE("pages: what the number does not depend on has gradient 0") {
  const nn::Seq2Seq model = translator();
  const nn::AttentionRecorder recorder(model, {.keep_heads = true});
  Tape tape(Tape::no_dropout);
  const Tensor memory = model.encode(two_sources, two_lens);
  model.decode(two_targets, memory, two_lens);
  for (const AttentionMap& map : gradient_maps(recorder, tape, sum(memory * memory * memory), two_sentences)) {
    const std::vector<double> products = map.weights.to_vector();
    const bool all_zero = std::ranges::all_of(products, [](double product) { return product == 0; });
    CHECK(all_zero == (map.kind != AttentionKind::encoder_self));
  }
}

TEST_CASE("pages: gradients of calls that no tape recorded, or whose heads nobody kept") {
  const Inputs in;
  const nn::AttentionRecorder without(in.reader);
  const nn::AttentionRecorder recorder(in.reader, {.keep_heads = true});
  in.reader(in.x, in.memory);
  Tape tape;
  CHECK(message<TapeError>([&] { gradient_maps(recorder, tape, in.reader.out(in.x), in.tokens); }) ==
        "gradient_maps: the last call of 'self' was not recorded by this tape. Call the model while it records");
  const Tensor y = in.reader(in.x, in.memory);
  CHECK(message<ValueError>([&] { gradient_maps(without, tape, y, in.tokens); }) ==
        "attention_recorder: nothing was kept of the heads of 'self'. Give the recorder {.keep_heads = true} and call the whole model");
  CHECK_THROWS_AS(gradient_maps(recorder, tape, in.reader.out(in.x), in.tokens), TapeError);  // not one number
  const nn::AttentionRecorder fresh(in.reader, {.keep_heads = true});
  CHECK(message<ValueError>([&] { gradient_maps(fresh, tape, y, in.tokens); }) ==
        "attention_maps: nothing has been recorded yet. Call the model while the recorder lives");
}

TEST_CASE("pages: rollout goes through the layers of encoder and decoder, half by attention, half by what was there") {
  const std::vector<AttentionMap> maps{
      layer(AttentionKind::encoder_self, 1, Array::of({1, 2, 2}, {0, 1, 0, 1})),  // in any order
      layer(AttentionKind::encoder_self, 0, Array::of({2, 2, 2}, {1, 0, 0, 1, 1, 0, 1, 0})),
      layer(AttentionKind::decoder_self, 0, Array::of({1, 2, 2}, {1, 0, 0.5, 0.5})),
      layer(AttentionKind::cross, 0, Array::of({1, 2, 2}, {0.5, 0.5, 0, 1})),
  };
  const std::vector<AttentionMap> rolled = rollout(maps);
  REQUIRE(rolled.size() == 3);
  CHECK(rolled[0].kind == AttentionKind::encoder_self);
  CHECK(rolled[0].measure == AttentionMeasure::rollout);
  CHECK(rolled[0].weights.shape() == Shape{1, 2, 2});
  CHECK(rolled[0].weights.to_vector() == std::vector<double>{0.625, 0.375, 0.25, 0.75});
  CHECK(rolled[1].kind == AttentionKind::decoder_self);
  CHECK(rolled[1].weights.to_vector() == std::vector<double>{0.5, 0, 0.125, 0.375});
  CHECK(rolled[2].kind == AttentionKind::cross);
  CHECK(rolled[2].weights.to_vector() == std::vector<double>{0.21875, 0.28125, 0.125, 0.375});

  const std::vector<AttentionMap> decoder = rollout({maps[2], maps[3]});  // a memory that no encoder made
  REQUIRE(decoder.size() == 2);
  CHECK(decoder[1].weights.to_vector() == std::vector<double>{0.25, 0.25, 0, 0.5});
  CHECK(rollout({maps[2]}).size() == 1);  // a language model
  CHECK(rollout({maps[2]})[0].weights.to_vector() == std::vector<double>{1, 0, 0.25, 0.75});
}

TEST_CASE("pages: rows of a model's rollout sum to 1, a decoder's together with its source's") {
  const nn::Seq2Seq model = translator();
  const nn::AttentionRecorder recorder(model);
  model(two_sources, two_lens, two_targets);
  const std::vector<AttentionMap> rolled = rollout(attention_maps(recorder, two_sentences));
  REQUIRE(rolled.size() == 6);
  const AttentionMap &encoder = rolled[3], &decoder = rolled[4], &cross = rolled[5];
  CHECK(cross.sentence == 1);
  for (const Dim i : {0, 1}) {
    CHECK(encoder.weights.at({0, i, 0}) + encoder.weights.at({0, i, 1}) == Catch::Approx(1));
    CHECK(decoder.weights.at({0, i, 0}) + decoder.weights.at({0, i, 1}) + cross.weights.at({0, i, 0}) + cross.weights.at({0, i, 1}) ==
          Catch::Approx(1));
  }
  CHECK(decoder.weights.at({0, 0, 1}) == 0);
}

TEST_CASE("pages: maps that no rollout can go through") {
  const AttentionMap two = layer(AttentionKind::encoder_self, 0, Array::ones({1, 2, 2})),
                     three = layer(AttentionKind::encoder_self, 1, Array::ones({1, 3, 3})),
                     cross = layer(AttentionKind::cross, 0, Array::ones({1, 2, 3})),
                     decoder = layer(AttentionKind::decoder_self, 0, Array::ones({1, 2, 2}));
  CHECK(message<ValueError>([] { rollout({}); }) == "rollout: there is no map of an encoder's or a decoder's layer");
  CHECK_THROWS_AS(rollout({layer(AttentionKind::other, 0, Array::ones({1, 2, 2}))}), ValueError);
  CHECK(message<ShapeError>([&] {
          rollout({two, three});
        }) == "rollout: the layers of a stack have the same tokens; got weights [1, 2, 2] of 'layer', [1, 3, 3] of 'layer'");
  CHECK(message<ShapeError>([&] {
          rollout({two, cross});
        }) == "rollout: a decoder's layer has two attentions; got 0 maps of self-attention, 1 of cross-attention");
  CHECK(message<ShapeError>([&] {
          rollout({two, decoder, cross});
        }) == "rollout: cross-attention has the encoder's tokens; got 3 of them, 2 of the encoder");
}

TEST_CASE("pages: a head that is switched off adds nothing, and the others what they did") {
  const Inputs in;
  Array weights;
  in.reader.cross(in.x, in.memory, in.memory, {.weights = &weights});
  Reader without = nn::clone(in.reader);
  switch_off(without, "cross", 1);
  Array context = matmul(Tensor(weights), Reader::heads_of(in.reader.cross, in.memory)).value();  // [2, 3, 3, 2]
  for (const Dim b : {0, 1})
    for (Dim i = 0; i < 6; ++i) context.mutable_data<double>()[(b * 3 + 1) * 6 + i] = 0;
  const Tensor expected = in.reader.cross.out_proj(nn::merge_heads(context));
  CHECK(largest_difference(without.cross(in.x, in.memory, in.memory).value().to_vector(), expected.value().to_vector()) < 1e-14);
  CHECK(same_bits(without.self(in.x).value(), in.reader.self(in.x).value()));
}

TEST_CASE("pages: the effect of every head, layers down and heads across, and the model as it was") {
  const Inputs in;
  const Array before = in.reader(in.x, in.memory).value();
  const auto y = [&in](const Reader& reader) { return reader(in.x, in.memory).item(); };
  const std::vector<HeadEffect> effects = head_effects(in.reader, y);
  REQUIRE(effects.size() == 5);
  CHECK(effects[3].place.name == "cross");
  CHECK(effects[3].head == 1);
  Reader without = nn::clone(in.reader);
  switch_off(without, "cross", 1);
  CHECK(effects[3].change == y(without) - y(in.reader));
  CHECK(effects[3].change != 0);
  CHECK(same_bits(in.reader(in.x, in.memory).value(), before));

  const std::vector<AttentionMap> maps = effect_maps(effects, 2);
  REQUIRE(maps.size() == 1);  // both stand elsewhere than in a layer
  CHECK(maps[0].weights.shape() == Shape{1, 2, 3});
  CHECK(maps[0].weights.at({0, 1, 1}) == effects[3].change);
  CHECK(maps[0].weights.at({0, 0, 2}) == 0);
  CHECK(maps[0].sentence == 2);
  CHECK(maps[0].queries == std::vector<std::string>{"layers.0", "layers.1"});

  Reader wrong = nn::clone(in.reader);
  CHECK(message<ValueError>([&] { switch_off(wrong, "cross", 3); }) == "switch_off: there is no head 3; got 3 heads, counted from 0");
  CHECK(message<ValueError>([&] { switch_off(wrong, "crass", 0); }) == "switch_off: the model has no attention module 'crass'");
}

TEST_CASE("pages: all measures of a sentence stand on one page, and side by side in one picture") {
  nn::Seq2Seq model = translator();
  const nn::AttentionRecorder recorder(model, {.keep_heads = true});
  Tape tape(Tape::no_dropout);
  const Ids src = Ids::rows({{1, 2, 3, 4}}), tgt = Ids::rows({{0, 1, 2}}), right = Ids::rows({{1, 2, 6}});
  const Tensor y = -1.0 * model.loss(src, Ids(), tgt, right, {.reduction = Reduction::sum});
  std::vector<AttentionMap> maps = attention_maps(recorder, {two_sentences[0]});
  const auto add = [&maps](const std::vector<AttentionMap>& more) { maps.insert(maps.end(), more.begin(), more.end()); };
  add(rollout(maps));
  add(gradient_maps(recorder, tape, y, {two_sentences[0]}));
  const NoTape no_tape;
  add(effect_maps(head_effects(
      model, [&](const nn::Seq2Seq& changed) { return -changed.loss(src, Ids(), tgt, right, {.reduction = Reduction::sum}).item(); })));

  const std::string page = html(maps, {.chosen = {{"shown", "all"}, {"head", "1"}}});
  CHECK_THAT(page, Contains("\"choices\":[\"sentence\",\"shown\",\"kind\",\"layer\",\"head\"]") &&
                       Contains("\"chosen\":[[\"shown\",\"all\"],[\"head\",\"1\"]]") && Contains("rollout: cross-attention\"") &&
                       Contains("gradient × attention: cross-attention, layer 1, head 0") &&
                       Contains("head switched off: cross-attention\""));
  const std::string picture = svg(maps, {.choice = {.kind = AttentionKind::cross, .layer = 1, .head = 0}});
  CHECK(count(picture, "class=\"h\"") == 4);
  CHECK_THAT(picture, Contains(">cross-attention, layer 1, head 0</text>") && Contains(">rollout: cross-attention</text>") &&
                          Contains(">gradient × attention: cross-attention, layer 1, head 0 (±") &&
                          Contains(">head switched off: cross-attention (±") && Contains("<title>layers.1 → heads.0: "));
  CHECK_THAT(picture, Contains("class=\"s0\"") && Contains("class=\"w0\"") && Contains(".s16{fill:#f5f3f0}"));
  CHECK_THAT(svg(attention_maps(recorder, {two_sentences[0]})), !Contains(".s16"));
  CHECK(message<ShapeError>([] {
          svg({{.weights = Array::ones({2, 1, 1}), .queries = {"a"}, .keys = {"b"}, .measure = AttentionMeasure::rollout}});
        }) == "svg: a map of no layer is [1, Tq, Tk]; got [2, 1, 1] of 'rollout'");
}
