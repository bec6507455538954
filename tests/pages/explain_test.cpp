#include <algorithm>
#include <tapeform/pages/explain.hpp>
#include <tapeform/tapeform.hpp>

#include "catch.hpp"
#include "message.hpp"
#include "nn/common.hpp"
#include "pages/common.hpp"

using namespace tapeform;
using namespace pages;

namespace {

const Panel& panel(const std::vector<Panel>& panels, const std::string& title, const std::string& part = "") {
  const auto found =
      std::ranges::find_if(panels, [&](const Panel& p) { return p.title == title && (part.empty() || p.choice.at(0).second == part); });
  INFO(title << " " << part);
  REQUIRE(found != panels.end());
  return *found;
}

Array rows_of(const Tensor& x) { return x.value().reshape({x.dim(-2), x.dim(-1)}); }

}  // namespace

TEST_CASE("explain: the steps of self-attention end in the module's own output, under a mask") {
  Rng rng(1);
  const auto attention = exact(nn::MultiHeadAttention(12, 3, rng));
  const Array x = drawn({5, 12}, 2);
  Array weights;
  const Tensor output = attention(x.reshape({1, 5, 12}), {.mask = Mask::causal(), .weights = &weights});
  const auto panels = explanation(attention, x, {.queries = {"a", "b", "c", "d", "e"}, .mask = Mask::causal()});
  CHECK(difference(panel(panels, "output").values, rows_of(output)) <= 1e-13);
  CHECK(difference(panel(panels, "weights").values, weights.reshape({3, 5, 5})) <= 1e-14);
  CHECK(same_bits(panel(panels, "queries, keys and values").values, x));

  const Array &q = panel(panels, "projected queries").values, &k = panel(panels, "projected keys").values;
  const Array &scores = panel(panels, "scores").values, &scaled = panel(panels, "scaled scores").values;
  double score = 0;
  for (Dim c = 4; c < 8; ++c) score += q.at({3, c}) * k.at({2, c});  // head 1
  CHECK(scores.at({1, 3, 2}) == Catch::Approx(score).epsilon(1e-12));
  CHECK(scaled.at({1, 3, 2}) == Catch::Approx(score / 2).epsilon(1e-12));
  const Array &v = panel(panels, "projected values").values, &context = panel(panels, "output of a head").values;
  double sum = 0;
  for (Dim j = 0; j < 5; ++j) sum += weights.at({0, 1, 3, j}) * v.at({j, 4 + 2});
  CHECK(context.at({1, 3, 2}) == Catch::Approx(sum).epsilon(1e-12));
  CHECK(panel(panels, "heads joined").values.at({3, 6}) == context.at({1, 3, 2}));
  CHECK(panel(panels, "mask").values.shape() == Shape{5, 5});
  CHECK(panel(panels, "mask").values.at({1, 1}) == 1);
  CHECK(panel(panels, "mask").values.at({1, 2}) == 0);
  CHECK(panel(panels, "weights").columns == std::vector<std::string>{"a", "b", "c", "d", "e"});
  CHECK_THAT(panel(panels, "projected queries").formula, Contains("Q = X·Wqᵀ + bq") && Contains("h·4 to h·4 + 3"));
  CHECK_THAT(panel(panels, "scaled scores").formula, Contains("√4"));
}

TEST_CASE("explain: cross-attention with widths of its own, without bias, and a mask of every head") {
  Rng rng(1);
  const auto attention = exact(nn::MultiHeadAttention(8, 2, rng, {.bias = false, .kdim = 5, .vdim = 3}));
  const Array q = drawn({1, 3, 8}, 2), k = drawn({1, 4, 5}, 3), v = drawn({1, 4, 3}, 4);
  std::vector<bool> table(2 * 3 * 4, true);
  table[5] = false;
  const Mask mask = Mask::allow(table, {1, 2, 3, 4});
  const auto panels = explanation(attention, q, k, v, {.mask = mask});
  CHECK(difference(panel(panels, "output").values, rows_of(attention(q, k, v, {.mask = mask}))) <= 1e-13);
  CHECK(panel(panels, "mask").values.shape() == Shape{2, 3, 4});
  CHECK(panel(panels, "mask").values.at({0, 1, 1}) == 0);
  CHECK(panel(panels, "weights").values.at({0, 1, 1}) == 0);
  CHECK(panel(panels, "keys").values.shape() == Shape{4, 5});
  CHECK(panel(panels, "values").values.shape() == Shape{4, 3});
  CHECK(panel(panels, "output").formula == "Y = O·Woᵀ");
}

TEST_CASE("explain: a block, with its norms after and before") {
  const bool norm_first = GENERATE(false, true);
  Rng rng(1);
  const auto layer = exact(nn::TransformerEncoderLayer(8, 2, rng, {.ffn_num_hiddens = 6, .norm_first = norm_first}));
  const Array x = drawn({4, 8}, 2);
  const auto panels = explanation(layer, x);
  const Tensor in = x.reshape({1, 4, 8}), attended = norm_first ? layer.norm1(in) : in;
  const Tensor h = norm_first ? in + layer.self_attn(attended) : layer.norm1(in + layer.self_attn(attended));
  const Tensor fed = norm_first ? layer.norm2(h) : h;
  CHECK(same_bits(panel(panels, "block in").values, x));
  CHECK(difference(panel(panels, "self-attention: queries, keys and values").values, rows_of(attended)) == 0);
  CHECK(difference(panel(panels, "self-attention: output").values, rows_of(layer.self_attn(attended))) <= 1e-13);
  CHECK(difference(panel(panels, "feed-forward in").values, rows_of(fed)) <= 1e-13);
  CHECK(panel(panels, "feed-forward, first map").values.shape() == Shape{4, 6});
  CHECK(difference(panel(panels, "feed-forward out").values, rows_of(layer.feed_forward(fed))) <= 1e-13);
  CHECK(same_bits(panel(panels, "block out").values, rows_of(layer(in))));
}

TEST_CASE("explain: formulas of a feed-forward network are its own, gated or not, with biases or without") {
  Rng rng(1);
  const Array x = drawn({4, 8}, 2);
  struct Formulas {
    bool gated, bias;
    std::string first, out;
  };
  for (const Formulas& right : {Formulas{false, true, "W₁·x + b₁, before the activation", "W₂·activation(W₁·x + b₁) + b₂"},
                                Formulas{false, false, "W₁·x, before the activation", "W₂·activation(W₁·x)"},
                                Formulas{true, true, "W₁·x + b₁: values a, then as many gates g", "W₂·(a·activation(g)) + b₂"},
                                Formulas{true, false, "W₁·x: values a, then as many gates g", "W₂·(a·activation(g))"}}) {
    const auto layer = exact(nn::TransformerEncoderLayer(8, 2, rng, {.ffn_num_hiddens = 6, .bias = right.bias, .gated = right.gated}));
    const auto panels = explanation(layer, x);
    const Panel &first = panel(panels, "feed-forward, first map"), &out = panel(panels, "feed-forward out");
    CHECK(first.formula == right.first);
    CHECK(first.axes == (right.gated ? "[T, 2F]" : "[T, F]"));
    CHECK(first.values.shape() == Shape{4, right.gated ? 12 : 6});
    CHECK(out.formula == right.out);
    CHECK(same_bits(panel(panels, "block out").values, rows_of(layer(x.reshape({1, 4, 8})))));
  }
}

TEST_CASE("explain: a decoder's block attends to the memory too") {
  const bool norm_first = GENERATE(false, true);
  Rng rng(1);
  const auto layer = exact(nn::TransformerDecoderLayer(8, 2, rng, {.ffn_num_hiddens = 6, .norm_first = norm_first}));
  const Array x = drawn({3, 8}, 2), memory = drawn({5, 8}, 3);
  const auto panels = explanation(layer, x, memory, {.keys = {"a", "b", "c", "d", "e"}, .mask = Mask::causal()});
  const nn::AttentionRecorder recorder(layer);
  const Tensor out = layer(x.reshape({1, 3, 8}), memory.reshape({1, 5, 8}), {.mask = Mask::causal()});
  CHECK(same_bits(panel(panels, "block out").values, rows_of(out)));
  CHECK(difference(panel(panels, "self-attention: weights").values, recorder["self_attn"].reshape({2, 3, 3})) <= 1e-13);
  CHECK(difference(panel(panels, "attention to the memory: weights").values, recorder["multihead_attn"].reshape({2, 3, 5})) <= 1e-13);
  CHECK(panel(panels, "attention to the memory: weights").columns.size() == 5);
  CHECK(same_bits(panel(panels, "memory").values, memory));
}

TEST_CASE("explain: a model from embeddings to logits, and every block of it") {
  const auto model = exact(translator());
  const Ids src{1, 2, 3}, tgt{0, 4};
  const auto panels = explanation(model, src, tgt);
  const Ids sources = src.reshape({1, 3}), targets = tgt.reshape({1, 2});
  CHECK(same_bits(panel(panels, "encoder out").values, rows_of(model.encode(sources, {}))));
  CHECK(same_bits(panel(panels, "logits").values, rows_of(model(sources, Ids(), targets))));
  CHECK(same_bits(panel(panels, "decoder out").values, rows_of(model.decode(targets, model.encode(sources, {}), {}))));
  CHECK(difference(panel(panels, "encoder positions").values, nn::sinusoidal_table(3, 8)) == 0);
  const Array sum = (Tensor(panel(panels, "decoder embeddings").values) + Tensor(panel(panels, "decoder positions").values)).value();
  CHECK(difference(panel(panels, "decoder in").values, sum) <= 1e-15);
  CHECK(same_bits(panel(panels, "block in", "encoder layer 0").values, panel(panels, "encoder in").values));
  CHECK(same_bits(panel(panels, "block in", "encoder layer 1").values, panel(panels, "block out", "encoder layer 0").values));
  CHECK(same_bits(panel(panels, "block in", "decoder layer 0").values, panel(panels, "decoder in").values));
  CHECK(panel(panels, "self-attention: weights", "decoder layer 1").values.at({0, 0, 1}) == 0);
  const nn::AttentionRecorder recorder(model);
  model(sources, Ids(), targets);
  CHECK(difference(panel(panels, "attention to the memory: weights", "decoder layer 1").values,
                   recorder["transformer.decoder.layers.1.multihead_attn"].reshape({2, 2, 3})) <= 1e-13);
}

TEST_CASE("explain: a language model, each position of which sees itself and what stands before it") {
  Rng rng(2);
  const auto model = exact(nn::CausalLM(7, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 2, .max_len = 6}));
  const Ids ids{3, 1, 4}, one = Ids::rows({{3, 1, 4}});
  const auto panels = explanation(model, ids, {.queries = {"a", "b", "c"}});
  CHECK(same_bits(panel(panels, "logits").values, rows_of(model(one))));
  CHECK(same_bits(panel(panels, "model out").values, rows_of(model.hiddens(one))));
  CHECK(same_bits(panel(panels, "model positions").values, model.pos.weight.value().rows(0, 3)));
  const Array sum = (Tensor(panel(panels, "model embeddings").values) + Tensor(panel(panels, "model positions").values)).value();
  CHECK(difference(panel(panels, "model in").values, sum) <= 1e-15);
  CHECK(same_bits(panel(panels, "block in", "layer 0").values, panel(panels, "model in").values));
  CHECK(same_bits(panel(panels, "block in", "layer 1").values, panel(panels, "block out", "layer 0").values));
  const nn::AttentionRecorder recorder(model);
  model(one);
  const Array& weights = panel(panels, "self-attention: weights", "layer 1").values;
  CHECK(difference(weights, recorder["encoder.layers.1.self_attn"].reshape({2, 3, 3})) <= 1e-13);
  CHECK(weights.at({0, 0, 1}) == 0);
  CHECK(panel(panels, "logits").rows == std::vector<std::string>{"a", "b", "c"});
  CHECK_THAT(explain(model, ids), Contains("<title>A language model, step by step</title>"));
  CHECK(message<ShapeError>([&] { explain(model, Ids::rows({{1}, {2}})); }) == "explain: ids must be [T] or [1, T]; got [2, 1]");
}

TEST_CASE("explain: learned positions are the table's rows") {
  Rng rng(1);
  const nn::Seq2Seq model(7, 7, rng,
                          {.num_hiddens = 8,
                           .num_heads = 2,
                           .num_encoder_layers = 1,
                           .num_decoder_layers = 1,
                           .ffn_num_hiddens = 10,
                           .positions = nn::Positions::learned,
                           .max_len = 6,
                           .scale_embeddings = true});
  const auto panels = explanation(model, Ids{1, 2, 3}, Ids{0, 4});
  CHECK(same_bits(panel(panels, "decoder positions").values, model.tgt_pos->weight.value().rows(0, 2)));
}

TEST_CASE("explain: a page with formulas and shapes, under a tape too, and inputs that do not fit") {
  Rng rng(1);
  const nn::MultiHeadAttention attention(4, 2, rng, {.dropout = 0.5});
  const Array x = normal({2, 4}, 0.0, 1.0, rng);
  const Tape tape(rng);
  const std::string page = explain(attention, x, {.queries = {"ß", "<"}});
  CHECK_THAT(page, Contains("<title>An attention, step by step</title>") && Contains("[H, Tq, Tk] = [2, 2, 2]") && Contains("\\u003c") &&
                       Contains("P = softmax of S"));
  CHECK_THAT(explain(attention, x, {.title = "Mine"}), Contains("<h1>Mine</h1>"));
  CHECK(message<ShapeError>([&] {
          explain(attention, Array::ones({2, 2, 4}));
        }) == "explain: q must be [T, E] or [1, T, E]; got [2, 2, 4]");
  CHECK_THROWS_AS(explain(attention, Array::ones({2, 5})), ShapeError);
  CHECK(message<ShapeError>([&] {
          explain(translator(), Ids::rows({{1}, {2}}), Ids{0});
        }) == "explain: src must be [T] or [1, T]; got [2, 1]");
}
