#pragma once
#include <cstdint>
#include <string>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "common/utf8_text.hpp"

namespace examples::char_lm {

struct Recipe {
  std::int64_t layers = 4, heads = 4, width = 128, context = 64;
  std::int64_t batch = 12, updates = 2000, warmup = 100;
  double lr = 1e-3, min_lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99, decay = 0.1, clip = 1.0, dropout = 0.0;
  void state(tapeform::StateFields& field);
};

/// A text as ids, its last tenth held out.
struct Corpus {
  Alphabet alphabet;
  std::vector<std::int64_t> train, valid;
  /// @throws UsageError when either part is too short for one window of `context` characters and the one that follows.
  Corpus(std::u32string_view text, std::int64_t context, const std::string& source);
};

/// Norms first, GELU, no biases, the head tied to the table of characters; weights N(0, 0.02²), those that write into the residual
/// stream N(0, 0.02²/(2·layers)). @throws UsageError when the heads do not divide the width.
tapeform::nn::CausalLM make_model(std::int64_t vocabulary, const Recipe& recipe, tapeform::Rng& rng);

/// The model, its optimizer and its windows, one update at a time.
class Trainer {
 public:
  Trainer(tapeform::nn::CausalLM& model, const Corpus& corpus, const Recipe& recipe, std::uint64_t seed);
  /// One update on `batch` windows that begin anywhere in the training text; returns the loss before it.
  double update();
  /// Updates so far.
  std::int64_t done() const noexcept { return done_; }
  /// What a run needs besides the model to go on where it was.
  void state(tapeform::StateFields& field);

 private:
  tapeform::nn::CausalLM& model_;
  const Corpus& corpus_;
  Recipe recipe_;
  tapeform::Rng windows_, dropout_;
  std::vector<tapeform::ParameterRef> parameters_;
  tapeform::optim::AdamW adamw_;
  tapeform::optim::CosineSchedule schedule_;
  std::int64_t done_ = 0;
};

/// Mean loss in nats a character over all windows of `context` characters that follow one another without overlap.
double validation_loss(const tapeform::nn::CausalLM& model, const std::vector<std::int64_t>& text, std::int64_t context);

/// `prompt` and how the model goes on. An empty prompt begins with a line break, or the first character there is.
std::u32string write_on(const tapeform::nn::CausalLM& model, const Alphabet& alphabet, std::u32string_view prompt, tapeform::Rng& rng,
                        const tapeform::nn::SamplingOptions& options);

}  // namespace examples::char_lm
