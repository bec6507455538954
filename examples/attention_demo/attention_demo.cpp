#include "attention_demo/attention_demo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tapeform/pages/explain.hpp>

namespace examples::attention_demo {

using namespace tapeform;

nn::MultiHeadAttention make_attention(Rng& rng) { return nn::MultiHeadAttention(width, heads, rng, {.dropout = 0.5, .bias = false}); }

Inputs draw_inputs(Rng& rng) {
  const Array queries = normal({2, 4, width}, 0.0, 1.0, rng);
  const Array keys = normal({2, 6, width}, 0.0, 1.0, rng);
  return {queries, keys, Ids{3, 2}};
}

Attended attend(const nn::MultiHeadAttention& attention, const Inputs& inputs) {
  Attended attended;
  attended.output =
      attention(inputs.queries, inputs.keys, inputs.keys, {.mask = Mask::valid_lens(inputs.lens), .weights = &attended.weights}).value();
  return attended;
}

std::string steps_page(const nn::MultiHeadAttention& attention, const Inputs& inputs) {
  const Array keys = inputs.keys.rows(0, 1);
  return pages::explain(attention, inputs.queries.rows(0, 1), keys, keys, {.mask = Mask::valid_lens(Ids{inputs.lens[0]})});
}

std::string weights_text(const Array& weights) {
  std::string text;
  for (Dim b = 0; b < weights.dim(0); ++b)
    for (Dim h = 0; h < weights.dim(1); ++h) {
      text += fmt::format("sample {}, head {}\n", b, h);
      for (Dim i = 0; i < weights.dim(2); ++i) {
        for (Dim j = 0; j < weights.dim(3); ++j) text += fmt::format("  {:.4f}", weights.at({b, h, i, j}));
        text += '\n';
      }
    }
  return text;
}

/// Sums of the norm over rows p [queries, keys]: Σᵢ pᵢ²·(1 − pᵢ)² on the diagonal, Σᵢ pᵢ²·(Σⱼ pⱼ² − pᵢ²) beside it.
static double jacobian_norms(const Array& p) {
  const auto keys = static_cast<std::size_t>(p.dim(1));
  const std::vector<double> values = p.to_vector();
  double sum = 0;
  for (std::size_t begin = 0; begin < values.size(); begin += keys) {
    double squares = 0, norm = 0;
    for (std::size_t i = begin; i < begin + keys; ++i) squares += values[i] * values[i];
    for (std::size_t i = begin; i < begin + keys; ++i) {
      const double square = values[i] * values[i];
      norm += square * (1 - values[i]) * (1 - values[i]) + square * std::max(0.0, squares - square);
    }
    sum += std::sqrt(norm);
  }
  return sum;
}

ScaleRow measure_scale(Dim key_width, Dim keys, Dim queries, Rng& rng) {
  constexpr Dim group = 100;
  const double scale = 1.0 / std::sqrt(static_cast<double>(key_width));
  ScaleRow row{.key_width = key_width};
  double squares = 0;
  for (Dim done = 0; done < queries; done += group) {
    const Dim count = std::min(group, queries - done);
    const Array q = normal({count, key_width}, 0.0, 1.0, rng);
    const Array k = normal({keys, key_width}, 0.0, 1.0, rng);
    const Tensor scores = matmul(q, k, {.transpose_b = true});  // [queries, keys]
    for (const double score : scores.value().to_vector()) squares += score * score;
    row.raw_jacobian += jacobian_norms(softmax(scores).value()) / static_cast<double>(queries);
    row.scaled_jacobian += jacobian_norms(softmax(scores * scale).value()) / static_cast<double>(queries);
  }
  row.raw_deviation = std::sqrt(squares / static_cast<double>(queries * keys));  // their mean is 0
  row.scaled_deviation = scale * row.raw_deviation;
  return row;
}

}  // namespace examples::attention_demo
