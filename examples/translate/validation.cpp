#include "translate/validation.hpp"

#include <algorithm>

#include "translate/trainer.hpp"
#include "translate/translator.hpp"

namespace examples::translate {

using namespace tapeform;

text::BleuOptions bleu_options(const Recipe& recipe) {
  return {.tokenizer = text::tokenizer_named(recipe.tokenize), .lower_case = recipe.lower_case};
}

Validator::Validator(const text::ParallelText& text, const text::Vocabularies& vocabularies, const Recipe& recipe)
    : text_(text), vocabularies_(vocabularies), recipe_(recipe), pairs_(vocabularies.encode(text, recipe.max_ids)) {
  if (pairs_.size() == 0) throw UsageError{"there is no sentence to validate on: give --valid-src and --valid-tgt, or more text"};
}

Validation Validator::operator()(const nn::Seq2Seq& model) const {
  Validation validation{.loss = mean_loss(model, pairs_, recipe_.tokens), .bleu = {}, .samples = {}};
  const Translations translations = translate(model, vocabularies_, text_.source, {.beam = 1});
  const std::vector<std::string> texts = best_texts(translations);
  validation.bleu = text::bleu(texts, text_.target, bleu_options(recipe_));
  for (std::size_t i = 0; i < std::min<std::size_t>(3, texts.size()); ++i) {
    const std::size_t at = i * texts.size() / 3;
    validation.samples.push_back({text_.source[at], text_.target[at], texts[at]});
  }
  return validation;
}

}  // namespace examples::translate
