#include <fmt/format.h>

#include <algorithm>
#include <tapeform/pages/attribution.hpp>

#include "common/utf8_text.hpp"
#include "translate/alignment.hpp"
#include "translate/commands.hpp"
#include "translate/loaded.hpp"

namespace examples::translate {

using namespace tapeform;

namespace {

using Maps = std::vector<pages::AttentionMap>;

/// A sentence and its translation as the model reads them.
struct Sentence {
  Ids src, tgt, labels;
  pages::SentenceTokens tokens;
};

Ids row(const std::vector<std::int64_t>& ids) { return Ids(Shape{1, static_cast<Dim>(ids.size())}, ids); }

Sentence sentence_of(const text::Vocabularies& vocabularies, const PiecedPair& pair) {
  std::vector<std::int64_t> input{text::bos_id}, labels = pair.target;
  input.insert(input.end(), pair.target.begin(), pair.target.end());
  labels.push_back(text::eos_id);
  return {row(pair.source), row(input), row(labels), {vocabularies.source.pieces(pair.source), vocabularies.target.pieces(input)}};
}

/// Of the whole translation.
Tensor log_probability(const nn::Seq2Seq& model, const Sentence& sentence) {
  return -1.0 * model.loss(sentence.src, Ids(), sentence.tgt, sentence.labels, {.reduction = Reduction::sum});
}

/// What heads attend to, through all layers too, and how the translation's log-probability depends on it.
Maps maps_of(const nn::Seq2Seq& model, const Sentence& sentence, const std::vector<pages::HeadEffect>& effects) {
  const nn::AttentionRecorder recorder(model, {.keep_heads = true});
  Tape tape(Tape::no_dropout);
  const Tensor y = log_probability(model, sentence);
  Maps maps = pages::attention_maps(recorder, {sentence.tokens});
  for (const Maps& more : {pages::gradient_maps(recorder, tape, y, {sentence.tokens}), rollout(maps), effect_maps(effects)})
    maps.insert(maps.end(), more.begin(), more.end());
  return maps;
}

void print_effects(std::vector<pages::HeadEffect> effects) {
  std::ranges::stable_sort(effects, {}, &pages::HeadEffect::change);
  fmt::print("log-probability of the translation without a head, less that with all:\n");
  for (const pages::HeadEffect& effect : effects)
    fmt::print("{:9.4f}  {}, layer {}, head {}\n", effect.change, name(effect.place.kind), effect.place.layer, effect.head);
}

struct PlotOptions {
  std::string sentence, translation, out = "attention.html", picture, heads_picture;
  std::int64_t layer = -1, head = -1;
  bool effects = false;

  explicit PlotOptions(CommandLine& options) {
    options.add_argument("SENTENCE", sentence, "what to translate");
    options.add("--translation", translation, "look at this translation, not at the model's own");
    options.add("-o,--out", out, "file for the page");
    options.add("--layer", layer, "decoder layer to begin with, from 0; -1: the one that aligns words best, or the last", -1, 1000);
    options.add("--head", head, "its head, from 0; -1: the one that aligns words best, or the first", -1, 1000);
    options.add("--svg", picture, "file for one picture of that head's cross-attention in four ways");
    options.add("--heads-svg", heads_picture, "file for one picture of all heads' cross-attention");
    options.add_flag("--effects", effects, "print what switching each head off changes");
  }

  void check() const {
    check_utf8(sentence, "SENTENCE");
    check_utf8(translation, "--translation");
    for (const std::string& file : {out, picture, heads_picture})
      if (!file.empty()) check_writable(file);
  }

  /// The head to begin with. @throws UsageError when the model does not have it.
  Head first(const Loaded& run) const {
    const Recipe& recipe = run.config.recipe;
    Head chosen = run.alignment && layer < 0 && head < 0 ? run.alignment->head : Head{recipe.decoder_layers - 1, 0};
    if (layer >= 0) chosen.layer = layer;
    if (head >= 0) chosen.head = head;
    if (chosen.layer >= recipe.decoder_layers || chosen.head >= recipe.heads)
      throw UsageError{fmt::format("the model has no {}: {} layers of {} heads", chosen.text(), recipe.decoder_layers, recipe.heads)};
    return chosen;
  }
};

void write_pictures(const Maps& maps, const PlotOptions& plot, const Head& first, const std::string& what) {
  using nn::AttentionKind;
  const auto write = [&maps, &what](const std::string& file, bool all_measures, int columns, const pages::AttentionChoice& choice) {
    Maps drawn;
    std::ranges::copy_if(maps, std::back_inserter(drawn), [all_measures](const pages::AttentionMap& map) {
      return all_measures || map.measure == pages::AttentionMeasure::weights;
    });
    if (!file.empty()) write_file(file, svg(drawn, {.title = what, .columns = columns, .choice = choice}));
  };
  write(plot.picture, true, 2, {.kind = AttentionKind::cross, .layer = first.layer, .head = first.head});
  write(plot.heads_picture, false, 4, {.kind = AttentionKind::cross});
}

}  // namespace

int plot_command(int argc, const char* const* argv) {
  CommandLine options("translate plot", "Writes a page with what every attention head looks at while a sentence is translated.");
  const UseOptions use(options);
  PlotOptions plot(options);
  options.parse(argc, argv);
  plot.check();
  const Loaded run(use);
  const Head first = plot.first(run);
  std::string target = plot.translation;
  if (target.empty())
    target = best_texts(translate(run.model, run.vocabularies, std::vector<std::string>{plot.sentence}, use.decoding(run.config))).front();
  const std::string what = fmt::format("{} → {}", plot.sentence, target);
  const Sentence sentence = sentence_of(run.vocabularies, pieced(run.vocabularies, plot.sentence, target, run.model.max_len() - 1));
  const std::vector<pages::HeadEffect> effects =
      pages::head_effects(run.model, [&sentence](const nn::Seq2Seq& model) { return log_probability(model, sentence).item(); });
  const Maps maps = maps_of(run.model, sentence, effects);
  write_file(
      plot.out,
      html(maps, {.title = "What the translator attends to",
                  .lead = what + " A decoder's row shows what was looked at when the token after it was chosen. Gradients and effects "
                                 "are those of the log-probability of the whole translation.",
                  .chosen = {{"shown", "all"},
                             {"kind", "cross-attention"},
                             {"layer", fmt::format("{}", first.layer)},
                             {"head", fmt::format("{}", first.head)}}}));
  write_pictures(maps, plot, first, what);
  fmt::print("{}\n{}\n", target, plot.out);
  if (plot.effects) print_effects(effects);
  return 0;
}

}  // namespace examples::translate
