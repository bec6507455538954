#include "translate/recipe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <tapeform/core/error.hpp>
#include <tapeform/nn/module.hpp>

namespace examples::translate {

using namespace tapeform;

Recipe Recipe::preset_named(const std::string& name) {
  Recipe recipe;
  recipe.preset = name;
  if (name == "tiny") return recipe;
  if (name != "small" && name != "base") throw UsageError{fmt::format("--preset is tiny, small or base; got '{}'", name)};
  recipe.vocabulary = 8000;
  recipe.separate = false;
  recipe.share = "all";
  recipe.encoder_layers = recipe.decoder_layers = 3;
  recipe.width = 256;
  recipe.heads = 8;
  recipe.ffn = 1024;
  recipe.dropout = 0.1;
  recipe.epochs = 20;
  recipe.tokens = 2500;
  recipe.schedule = "noam";
  recipe.lr = 1.6e-3;
  recipe.warmup = 400;
  recipe.average = 5;
  recipe.length_penalty = 0.6;
  if (name == "small") return recipe;
  recipe.vocabulary = 32'000;
  recipe.encoder_layers = recipe.decoder_layers = 6;
  recipe.width = 512;
  recipe.ffn = 2048;
  recipe.norm_first = false;
  recipe.max_ids = 256;
  recipe.lr = 7e-4;
  recipe.warmup = 4000;
  return recipe;
}

static void one_of(const char* option, const std::string& given, std::initializer_list<std::string_view> words) {
  if (std::find(words.begin(), words.end(), given) == words.end())
    throw UsageError{fmt::format("--{} is one of {}; got '{}'", option, fmt::join(words, ", "), given)};
}

void Recipe::check() const {
  one_of("positions", positions, {"sinusoidal", "learned"});
  one_of("share", share, {"all", "head", "none"});
  one_of("optimizer", optimizer, {"adam", "adamw"});
  one_of("schedule", schedule, {"noam", "cosine"});
  one_of("tokenize", tokenize, {"13a", "intl", "char", "none"});
  if (share == "all" && separate)
    throw UsageError{"--share all takes one vocabulary for both languages: --separate false, or --share head"};
  if (width % heads != 0) throw UsageError{fmt::format("--width must be a multiple of --heads; got {} and {}", width, heads)};
  if (min_lr > lr) throw UsageError{fmt::format("--min-lr {} is over --lr {}", min_lr, lr)};
  if (max_ids >= tokens) throw UsageError{fmt::format("--tokens {} leaves no room for a sentence of --max-ids {}", tokens, max_ids)};
  if (ema > 0 && average > 0) throw UsageError{"--ema and --average exclude each other: give --average 0 with --ema"};
}

void Recipe::state(StateFields& field) {
  visit([&field](const char* name, auto& member, const char*, auto...) { field(name, member); });
}

nn::Seq2Seq make_model(const Recipe& recipe, Dim source_ids, Dim target_ids, Rng& rng) {
  try {
    return nn::Seq2Seq(source_ids, target_ids, rng,
                       {.num_hiddens = recipe.width,
                        .num_heads = recipe.heads,
                        .num_encoder_layers = recipe.encoder_layers,
                        .num_decoder_layers = recipe.decoder_layers,
                        .ffn_num_hiddens = recipe.ffn,
                        .dropout = recipe.dropout,
                        .norm_first = recipe.norm_first,
                        .positions = recipe.positions == "learned" ? nn::Positions::learned : nn::Positions::sinusoidal,
                        .max_len = recipe.max_ids + 1,  // bos before a target, eos behind a source
                        .share_embeddings = recipe.share == "all",
                        .share_head = recipe.share != "none",
                        .scale_embeddings = true});
  } catch (const ValueError& error) {
    throw UsageError{error.what()};
  }
}

double seconds_of(const std::string& duration) {
  double number = 0;
  const char* const end = duration.data() + duration.size();
  const auto [unit, failure] = std::from_chars(duration.data(), end, number);
  const double seconds = unit + 1 != end ? 0 : *unit == 's' ? number : *unit == 'm' ? 60 * number : *unit == 'h' ? 3600 * number : 0;
  if (failure != std::errc() || !(seconds > 0) || seconds > 1e9)
    throw UsageError{fmt::format("--budget is a time such as 90s, 45m or 1.5h; got '{}'", duration)};
  return seconds;
}

}  // namespace examples::translate
