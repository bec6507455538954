#pragma once
#include <cstdint>
#include <string>
#include <tapeform/tapeform.hpp>

namespace examples::copy {

/// Sequences of ten free symbols 1 … 10, to be written out again after a 0.
constexpr tapeform::Dim length = 10;
constexpr std::int64_t start_id = 0;
constexpr tapeform::Dim vocabulary = 11;

struct Recipe {
  std::int64_t updates = 300;
  tapeform::Dim batch = 80;
  double lr = 3e-3;  ///< highest learning rate; a cosine takes it to 0 with the last update
  std::int64_t warmup = 30;
  double clip = 1.0;
  void state(tapeform::StateFields& field);
};

/// [batch, length] symbols.
tapeform::Ids draw_sequences(tapeform::Dim batch, tapeform::Rng& rng);
/// What the decoder reads to predict `targets`: the start symbol, then all but the last of them.
tapeform::Ids shifted(const tapeform::Ids& targets);

/// 2 + 2 layers, width 64, 4 heads, feed-forward width 256, norms first, learned positions (a head then finds its source position more
/// sharply than with sinusoidal ones), no dropout.
tapeform::nn::Seq2Seq make_model(tapeform::Rng& rng);

/// The model, its optimizer and its data, one update at a time.
class Trainer {
 public:
  Trainer(tapeform::nn::Seq2Seq& model, const Recipe& recipe, std::uint64_t seed);
  /// One update; returns the loss before it.
  double update();
  /// Updates so far.
  std::int64_t done() const noexcept { return done_; }
  /// What a run needs besides the model to go on where it was.
  void state(tapeform::StateFields& field);

 private:
  tapeform::nn::Seq2Seq& model_;
  Recipe recipe_;
  tapeform::Rng data_;
  std::vector<tapeform::ParameterRef> parameters_;
  tapeform::optim::AdamW adamw_;
  tapeform::optim::CosineSchedule schedule_;
  std::int64_t done_ = 0;
};

struct Result {
  tapeform::Dim sequences = 0, exact = 0;
  tapeform::Ids sources = {}, copies = {};  ///< [sequences, length]
};
/// Decodes `sequences` new sequences greedily from the start symbol alone, one symbol at a time.
Result evaluate(const tapeform::nn::Seq2Seq& model, tapeform::Dim sequences, std::uint64_t seed);

/// Every cross-attention head on some sequences: [sequences, H, length, length] for each decoder layer.
struct CrossAttention {
  std::vector<std::string> layers;
  std::vector<tapeform::Array> weights;
  /// The head that puts most of its weight on the source position being copied, and how much that is on average.
  std::string best_head;
  double best_share = 0;
};
CrossAttention look(const tapeform::nn::Seq2Seq& model, const tapeform::Ids& sources);

/// A picture (SVG) or a page (HTML) of all of them on the first sequence.
std::string draw(const CrossAttention& attention, const tapeform::Ids& sources, bool as_page = false);

}  // namespace examples::copy
