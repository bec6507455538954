#include <functional>
#include <string>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;

TEST_CASE("every op says which of its inputs holds nothing") {
  const Tensor none, x = Array::ones({2, 2}), w = Array::ones({2});
  const Ids ids{0, 1};
  const std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"add: a", [&] { none + x; }},
      {"sub: b", [&] { x - none; }},
      {"mul: b", [&] { x* none; }},
      {"div: a", [&] { none / x; }},
      {"neg: x", [&] { -none; }},
      {"exp: x", [&] { exp(none); }},
      {"log: x", [&] { log(none); }},
      {"sqrt: x", [&] { sqrt(none); }},
      {"tanh: x", [&] { tanh(none); }},
      {"sum: x", [&] { sum(none); }},
      {"sum: x", [&] { sum(none, {0}); }},
      {"mean: x", [&] { mean(none); }},
      {"mean: x", [&] { mean(none, {0}); }},
      {"matmul: a", [&] { matmul(none, x); }},
      {"matmul: b", [&] { matmul(x, none); }},
      {"linear: x", [&] { linear(none, x); }},
      {"linear: weight", [&] { linear(x, none); }},
      {"reshape: x", [&] { reshape(none, Shape{1}); }},
      {"reshape: x", [&] { reshape(none, {-1}); }},
      {"permute: x", [&] { permute(none, std::vector<int>{}); }},
      {"permute: x",
       [&] {
         permute(none, {1, 0});
       }},
      {"transpose: x", [&] { transpose(none, 0, 1); }},
      {"slice: x", [&] { slice(none, 0, 0, 1); }},
      {"concat: a part",
       [&] {
         concat({x, none}, 0);
       }},
      {"embedding: weight", [&] { embedding(none, ids); }},
      {"relu: x", [&] { relu(none); }},
      {"gelu: x", [&] { gelu(none); }},
      {"softmax: x", [&] { softmax(none); }},
      {"log_softmax: x", [&] { log_softmax(none); }},
      {"masked_softmax: scores", [&] { masked_softmax(none, {}); }},
      {"layer_norm: x", [&] { layer_norm(none); }},
      {"dropout: x", [&] { dropout(none, 0.5); }},
      {"cross_entropy: logits", [&] { cross_entropy(none, ids); }},
      {"linear_cross_entropy: h", [&] { linear_cross_entropy(none, x, ids); }},
      {"linear_cross_entropy: weight", [&] { linear_cross_entropy(x, none, ids); }},
      {"attention: q", [&] { attention(none, x, x); }},
  };
  for (const auto& [input, call] : calls) CHECK_THAT(message<ValueError>(call), Catch::Matchers::StartsWith(input + " holds nothing"));
}

TEST_CASE("ops that move data name themselves when an axis is not there") {
  const Tensor x = Array::ones({2, 3}), scalar = Array::ones({});
  CHECK(message<ShapeError>([&] { slice(x, 2, 0, 1); }) == "slice: axis 2 is not there; got x [2, 3]. Axes run from -2 to 1");
  CHECK(message<ShapeError>([&] { concat({x, x}, -3); }) == "concat: axis -3 is not there; got x [2, 3]. Axes run from -2 to 1");
  CHECK(message<ShapeError>([&] { transpose(x, 0, 2); }) == "transpose: axis 2 is not there; got x [2, 3]. Axes run from -2 to 1");
  CHECK(message<ShapeError>([&] { slice(scalar, 0, 0, 1); }) == "slice: axis 0 is not there; got x []. A scalar has no axes");
}
