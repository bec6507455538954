#pragma once
#include <string>
#include <tapeform/tapeform.hpp>

namespace examples::attention_demo {

constexpr tapeform::Dim width = 100, heads = 5;

/// Five heads of width 20, without biases; dropout 0.5 of the weights in training.
tapeform::nn::MultiHeadAttention make_attention(tapeform::Rng& rng);

/// Two samples of 4 queries and 6 keys, of which 3 and 2 are valid; every key is its own value.
struct Inputs {
  tapeform::Array queries;  ///< [2, 4, 100]
  tapeform::Array keys;     ///< [2, 6, 100]
  tapeform::Ids lens;       ///< [2]
};
Inputs draw_inputs(tapeform::Rng& rng);

struct Attended {
  tapeform::Array output;   ///< [2, 4, 100]
  tapeform::Array weights;  ///< [2, 5, 4, 6], before dropout
};
Attended attend(const tapeform::nn::MultiHeadAttention& attention, const Inputs& inputs);

/// A page that shows every step of the first sample's attention.
std::string steps_page(const tapeform::nn::MultiHeadAttention& attention, const Inputs& inputs);

/// Each head's weights, one line a query.
std::string weights_text(const tapeform::Array& weights);

/// What the factor 1/√d_k does to queries and keys from N(0, 1): the deviation of the scores, and how much the softmax still answers to
/// them: the Frobenius norm of its Jacobian, ‖diag(p) − p·pᵀ‖, on average over the queries.
struct ScaleRow {
  tapeform::Dim key_width = 0;
  double raw_deviation = 0, scaled_deviation = 0;
  double raw_jacobian = 0, scaled_jacobian = 0;
};
/// `queries` random queries in groups of 100, each group with `keys` random keys of its own.
ScaleRow measure_scale(tapeform::Dim key_width, tapeform::Dim keys, tapeform::Dim queries, tapeform::Rng& rng);

}  // namespace examples::attention_demo
