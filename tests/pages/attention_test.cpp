#include <tapeform/pages/attention.hpp>
#include <tapeform/tapeform.hpp>

#include "catch.hpp"
#include "message.hpp"
#include "pages/common.hpp"

using namespace tapeform;
using namespace pages;
using nn::AttentionKind;

TEST_CASE("pages: maps of a batch, sentence by sentence, cut to their tokens") {
  const nn::Seq2Seq model = translator();
  const nn::AttentionRecorder recorder(model);
  model(two_sources, two_lens, two_targets);
  const auto maps = attention_maps(recorder, two_sentences);
  REQUIRE(maps.size() == 12);  // two sentences, three kinds, two layers
  const AttentionMap& cross = maps[11];
  CHECK(cross.name == "transformer.decoder.layers.1.multihead_attn");
  CHECK(cross.kind == AttentionKind::cross);
  CHECK(cross.layer == 1);
  CHECK(cross.sentence == 1);
  CHECK(cross.weights.shape() == Shape{2, 2, 2});
  CHECK(cross.queries == two_sentences[1].target);
  CHECK(cross.keys == two_sentences[1].source);
  const Array& whole = recorder[cross.name];
  for (const Dim h : {0, 1})
    for (const Dim i : {0, 1})
      for (const Dim j : {0, 1}) CHECK(cross.weights.at({h, i, j}) == whole.at({1, h, i, j}));
  CHECK(maps[0].kind == AttentionKind::encoder_self);
  CHECK(maps[0].queries == two_sentences[0].source);
  CHECK(maps[2].kind == AttentionKind::decoder_self);
  CHECK(maps[2].keys == two_sentences[0].target);
}

TEST_CASE("pages: a language model has one side, an encoder too") {
  Rng rng(1);
  const nn::CausalLM lm(5, rng, {.num_hiddens = 4, .num_heads = 1, .num_layers = 1, .max_len = 4});
  const nn::AttentionRecorder recorder(lm);
  lm(Ids::rows({{1, 2, 3}}));
  for (const SentenceTokens& tokens : {SentenceTokens{{"a", "b", "c"}, {}}, SentenceTokens{{}, {"a", "b", "c"}}}) {
    const auto maps = attention_maps(recorder, {tokens});
    REQUIRE(maps.size() == 1);
    CHECK(maps[0].queries == std::vector<std::string>{"a", "b", "c"});
    CHECK(maps[0].keys == maps[0].queries);
  }
}

TEST_CASE("pages: tokens and sentences that do not fit what was recorded") {
  const nn::Seq2Seq model = translator();
  const nn::AttentionRecorder recorder(model);
  CHECK(message<ValueError>([&] { html(recorder, two_sentences); }) ==
        "attention_maps: nothing has been recorded yet. Call the model while the recorder lives");
  model(two_sources, two_lens, two_targets);
  CHECK(message<ShapeError>([&] {
          attention_maps(recorder, {{{"a", "b", "c", "d", "e"}, {"x"}}});
        }) ==
        "attention_maps: no more tokens than positions; got 5 and 5 tokens for weights [2, 2, 4, 4] of "
        "'transformer.encoder.layers.0.self_attn', "
        "sentence 0");
  CHECK(message<ShapeError>([&] {
          attention_maps(recorder, {{{"a"}, {}}, {{"b"}, {}}, {{"c"}, {}}});
        }) ==
        "attention_maps: no more sentences than samples; got 3 sentences for weights [2, 2, 4, 4] of "
        "'transformer.encoder.layers.0.self_attn'");
  CHECK(attention_maps(recorder, {}).empty());
}

TEST_CASE("pages: a picture has every token and value, escaped, a colour bar and a scheme for dark pages") {
  const AttentionMap map{.kind = AttentionKind::cross,
                         .layer = 1,
                         .weights = Array::of({1, 2, 2}, {0.25, 0.75, 1, 0}),
                         .queries = {"&", "▁Straße"},
                         .keys = {"<s>", "tab\t"}};
  const std::string picture = svg({map}, {.title = "A <b> & 'c'"});
  CHECK(picture.starts_with("<svg xmlns="));
  CHECK(picture.ends_with("</svg>\n"));
  CHECK_THAT(picture, Contains("<title>&amp; → &lt;s&gt;: 0.25</title>") && Contains("<title>&amp; → tab␉: 0.75</title>"));
  CHECK_THAT(picture, Contains("<title>▁Straße → &lt;s&gt;: 1</title>") && Contains(">cross-attention, layer 1, head 0</text>"));
  CHECK_THAT(picture, Contains("A &lt;b&gt; &amp; &#39;c&#39;") && Contains("role=\"img\"") && Contains("prefers-color-scheme:dark"));
  CHECK_THAT(picture, Contains("class=\"w31\" d=\"M0 1") && Contains("class=\"w0\" d=\"M1 1"));
  CHECK(count(picture, "<title>") == 4);
  CHECK(count(picture, "d=\"M") == 4 + 32);  // the cells, and the bar
  CHECK_THAT(svg(std::vector<AttentionMap>{}, {.title = "nothing"}), Contains("</svg>"));
  const AttentionMap turned{.weights = Array::ones({1, 1, 1}), .queries = {"שלום"}, .keys = {"</svg>"}};
  const std::string one = svg({turned});
  CHECK_THAT(one, Contains("<title>\u2068שלום\u2069 → &lt;/svg&gt;: 1</title>") && Contains(">שלום</text>"));
  CHECK(count(one, "</svg>") == 1);
}

TEST_CASE("pages: a picture of the chosen kind, layer, head and sentence") {
  const nn::Seq2Seq model = translator();
  const nn::AttentionRecorder recorder(model);
  model(two_sources, two_lens, two_targets);
  const auto maps = attention_maps(recorder, two_sentences);
  const auto heads = [&maps](const AttentionChoice& choice) { return count(svg(maps, {.choice = choice}), "class=\"h\""); };
  CHECK(heads({}) == 24);
  CHECK(heads({.kind = AttentionKind::cross}) == 8);
  CHECK(heads({.kind = AttentionKind::cross, .layer = 0}) == 4);
  CHECK(heads({.kind = AttentionKind::cross, .layer = 0, .head = 1}) == 2);
  CHECK(heads({.kind = AttentionKind::cross, .layer = 0, .head = 1, .sentence = 1}) == 1);
  CHECK(message<ValueError>([&] { heads({.head = 2}); }) ==
        "svg: the choice leaves no head. Layers, heads and sentences are counted from 0");
  CHECK(count(svg(recorder, two_sentences[0]), "class=\"h\"") == 12);
}

TEST_CASE("pages: pictures and pages refuse what is not weights of their tokens") {
  const AttentionMap map{.weights = Array::ones({2, 2}), .queries = {"a"}, .keys = {"b", "c"}};
  CHECK(message<ShapeError>([&] { svg({map}); }) ==
        "svg: weights must be [H, Tq, Tk] with a token for every row and column; got weights [2, 2], 1 and 2 tokens");
  CHECK(message<ShapeError>([&] { html(std::vector<AttentionMap>{map}); }) ==
        "page: one token for every row and column; got values [2, 2], 1 and 2 tokens for 'attention, layer 0'");
  const AttentionMap large{.weights = Array::full({1, 1, 1}, 1.5), .queries = {"a"}, .keys = {"b"}};
  CHECK(message<ValueError>([&] { svg({large}); }) == "svg: weights are numbers from 0 to 1; got 1.5");
  CHECK(message<ValueError>([&] { html(std::vector<AttentionMap>{large}); }) ==
        "page: weights are numbers from 0 to 1; got 1.5 for 'attention, layer 0'");
}

TEST_CASE("MA-29: weights drawn of a training step are those before dropout") {
  Rng rng(1);
  const nn::MultiHeadAttention attention(8, 2, rng, {.dropout = 0.2});
  const nn::AttentionRecorder recorder(attention);
  const Array x = normal({1, 4, 8}, 0.0, 1.0, rng);
  const Tape tape(rng);
  attention(x, {.mask = Mask::causal()});
  const auto maps = attention_maps(recorder, {{{"a", "b", "c", "d"}, {}}});
  REQUIRE(maps.size() == 1);
  for (const Dim h : {0, 1})
    for (const Dim i : {0, 1, 2, 3}) {
      double sum = 0;
      for (const Dim j : {0, 1, 2, 3}) {
        sum += maps[0].weights.at({h, i, j});
        if (i == 0) CHECK(maps[0].weights.at({h, i, j}) == (j == 0 ? 1 : 0));
      }
      CHECK(sum == Catch::Approx(1).epsilon(1e-6));
    }
  CHECK_THAT(svg(maps), Contains("<title>a → a: 1</title>") && Contains("<title>a → d: 0</title>"));
}
