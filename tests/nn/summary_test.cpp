#include <iterator>
#include <sstream>
#include <tapeform/core/ops/activation.hpp>
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/sequential.hpp>
#include <tapeform/nn/summary.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

TEST_CASE("summary of a run: path, type, output, parameters, activation bytes and FLOP of every call") {
  Rng rng(1);
  const nn::Sequential model{nn::Linear(64, 32, rng), relu, nn::Linear(32, 16, rng, {.bias = false})};
  const Array x = drawn({8, 64}, 1).cast(DType::float32);
  const auto calls = nn::trace_calls(model, x);
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].path.empty());
  CHECK(calls[0].output == Shape{8, 16});
  CHECK(calls[0].parameters == 64 * 32 + 32 + 32 * 16);
  CHECK(calls[0].flop == 2 * 8 * (64 * 32 + 32 * 16));
  CHECK(calls[1].path == "0");
  CHECK(calls[1].type == "Linear");
  CHECK(calls[1].output == Shape{8, 32});
  CHECK(calls[1].parameters == 64 * 32 + 32);
  CHECK(calls[1].flop == 2 * 8 * 64 * 32);
  const auto holds = [](std::int64_t bytes, Dim numbers) {  // buffers are a little larger than their numbers
    CHECK(bytes >= numbers * 4);
    CHECK(bytes <= numbers * 5);
  };
  holds(calls[1].activation_bytes, 8 * 32);
  CHECK(calls[2].path == "2");
  CHECK(calls[2].parameters == 32 * 16);
  holds(calls[2].activation_bytes, 8 * 16);
  holds(calls[0].activation_bytes, 8 * 32 + 8 * 16);  // relu needs its result alone, not the first layer's
}

TEST_CASE("summary of a run as a table; a module inside another one without a name of its own, a tied head, all calls of a module") {
  Rng rng(2);
  const nn::CausalLM model(10, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 1, .ffn_num_hiddens = 16, .max_len = 6});
  const std::string table = nn::summary(model, Ids::rows({{1, 2, 3, 4}, {5, 6, 7, 8}}));
  INFO(table);
  std::vector<std::vector<std::string>> lines;
  std::istringstream text(table);
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    lines.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  REQUIRE(lines.size() == 1 + 13);
  CHECK(lines[0] == std::vector<std::string>{"module", "type", "output", "parameters", "activations", "work"});
  const auto line = [&](std::size_t at, std::vector<std::string> words) {
    lines[at].resize(words.size());
    CHECK(lines[at] == words);
  };
  line(1, {"(model)", "CausalLM", "[2,", "4,", "10]", "744"});
  line(2, {"tok", "Embedding", "[2,", "4,", "8]", "80"});
  line(3, {"pos", "LearnedPositions", "[2,", "4,", "8]", "48"});
  line(4, {"encoder", "TransformerEncoder", "[2,", "4,", "8]", "616"});
  line(5, {"encoder.layers.0", "TransformerEncoderLayer", "[2,", "4,", "8]", "600"});
  line(13, {"encoder.norm", "LayerNorm", "[2,", "4,", "8]", "16"});
  CHECK(table.starts_with("module                               type                     output      parameters  activations"));

  struct Twice : nn::Module<Twice> {
    nn::Linear map;
    explicit Twice(Rng& numbers) : map(4, 4, numbers) {}
    Tensor forward(const Tensor& x) const { return map(map(x)); }
    void visit(nn::Fields& field) { field("map", map); }
  };
  const auto calls = nn::trace_calls(Twice(rng), Array::ones({3, 4}));
  CHECK(calls.size() == 3);
  CHECK(calls[2].path == "map");
  CHECK(calls[0].parameters == 20);
  CHECK(calls[0].flop == 2 * calls[1].flop);
}

TEST_CASE("summary of a run changes nothing, and lets an error through") {
  Rng rng(3);
  const nn::FeedForward model(4, 6, rng, {.dropout = 0.5});
  const Array x = Array::ones({2, 4}), y = model(x).value();
  nn::trace_calls(model, x);
  for (const auto& parameter : nn::parameters(model)) CHECK_FALSE(parameter.grad());
  CHECK(same_bits(model(x).value(), y));
  CHECK_THROWS_AS(nn::summary(model, Array::ones({2, 5})), ShapeError);
  CHECK(nn::trace_calls(model, x).size() == 3);  // nobody watches twice
  const Profile profile;
  CHECK(message<ValueError>([&] { nn::summary(model, x); }) == "Profile: another one is running on this thread. End its scope first");
}
