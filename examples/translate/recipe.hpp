#pragma once
#include <cstdint>
#include <string>
#include <tapeform/core/random.hpp>
#include <tapeform/core/state.hpp>
#include <tapeform/nn/seq2seq.hpp>

#include "common/command_line.hpp"

namespace examples::translate {

/// Every number of a translator and its training. Each is an option of the command line and a line of the run's config file.
struct Recipe {
  std::string preset = "tiny";

  // the vocabulary
  std::int64_t vocabulary = 5500;
  bool separate = true;

  // the model
  std::int64_t encoder_layers = 2, decoder_layers = 2, width = 64, heads = 4, ffn = 256;
  double dropout = 0.0;
  bool norm_first = true;
  std::string positions = "sinusoidal", share = "head";
  std::int64_t max_ids = 128;

  // the training
  std::int64_t epochs = 1, updates = 0, tokens = 500, accumulate = 1;
  std::string optimizer = "adamw", schedule = "cosine";
  double lr = 6e-3, min_lr = 0.0, beta1 = 0.9, beta2 = 0.98, eps = 1e-9, decay = 0.0, clip = 1.0, smoothing = 0.1, ema = 0.0;
  std::int64_t warmup = 300, average = 0, patience = 0, bad_updates = 10;
  bool average_best = false;

  // the translations
  std::int64_t beam = 4;
  double length_penalty = 1.0;
  std::string tokenize = "13a";
  bool lower_case = false;

  /// `tiny` learns the generated sentences in minutes, `small` is for tens of thousands of real ones, `base` is the base model
  /// of Vaswani et al., 2017. @throws UsageError for another name.
  static Recipe preset_named(const std::string& name);

  /// Calls `field(name, member, help, low, high)` for every number and `field(name, member, help)` for words and flags.
  template <class F>
  void visit(const F& field) {
    field("vocabulary", vocabulary, "ids of a vocabulary", 100, 1'000'000);
    field("separate", separate, "a vocabulary for each language, not one for both");
    field("encoder-layers", encoder_layers, "layers of the encoder", 1, 1000);
    field("decoder-layers", decoder_layers, "layers of the decoder", 1, 1000);
    field("width", width, "width of the model", 1, 100'000);
    field("heads", heads, "attention heads a layer", 1, 1000);
    field("ffn", ffn, "width inside of the feed-forward networks", 1, 1'000'000);
    field("dropout", dropout, "probability of dropout", 0, 0.99);
    field("norm-first", norm_first, "norms before attention and feed-forward networks, not behind them (true or false)");
    field("positions", positions, "sinusoidal or learned");
    field("share", share, "tables of embeddings that are one: all (source, target, head), head (target, head) or none");
    field("max-ids", max_ids, "longest sentence in ids; training leaves longer ones out", 4, 100'000);
    field("epochs", epochs, "times that every pair is learned from", 0, 1'000'000);
    field("updates", updates, "training updates; 0: as --epochs says", 0, 1'000'000'000);
    field("tokens", tokens, "rows times longest side of a batch, padding included", 8, 10'000'000);
    field("accumulate", accumulate, "batches an update", 1, 10'000);
    field("optimizer", optimizer, "adam or adamw");
    field("schedule", schedule, "noam (inverse square root) or cosine, both after a linear warm-up");
    field("lr", lr, "highest learning rate", 0, 10);
    field("min-lr", min_lr, "learning rate at the end of a cosine", 0, 10);
    field("beta1", beta1, "Adam's beta 1", 0, 0.999999);
    field("beta2", beta2, "Adam's beta 2", 0, 0.999999);
    field("eps", eps, "Adam's epsilon", 0, 1);
    field("decay", decay, "weight decay of matrices", 0, 10);
    field("clip", clip, "longest gradient; 0: no limit", 0, 1e9);
    field("smoothing", smoothing, "label smoothing", 0, 0.99);
    field("ema", ema, "decay of a moving average of the weights, which is then what is evaluated; 0: none", 0, 0.999999);
    field("warmup", warmup, "updates over which the rate rises", 1, 1'000'000'000);
    field("average", average, "epochs whose weights are averaged; 0: none", 0, 1000);
    field("average-best", average_best, "average the epochs with the lowest validation loss, not the last ones (true or false)");
    field("patience", patience, "stop after so many epochs without a better validation loss; 0: never", 0, 1'000'000);
    field("bad-updates", bad_updates, "stop after so many updates in a row without a finite gradient", 1, 1'000'000);
    field("beam", beam, "sequences of the beam search; 1: greedy", 1, 1000);
    field("length-penalty", length_penalty, "alpha of the beam search's length penalty", 0, 10);
    field("tokenize", tokenize, "how BLEU cuts words: 13a, intl, char or none");
    field("lower-case", lower_case, "BLEU without regard to case (true or false)");
  }

  /// @throws UsageError naming the first option whose word is none of those that it may be, or that does not go with another.
  void check() const;
  /// What a checkpoint keeps, to tell whether it is the config's.
  void state(tapeform::StateFields& field);
};

/// The model that a recipe describes. @throws UsageError when its numbers do not fit together.
tapeform::nn::Seq2Seq make_model(const Recipe& recipe, tapeform::Dim source_ids, tapeform::Dim target_ids, tapeform::Rng& rng);

/// `90s`, `45m`, `1.5h` in seconds. @throws UsageError for anything else.
double seconds_of(const std::string& duration);

}  // namespace examples::translate
