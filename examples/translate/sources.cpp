#include "translate/sources.hpp"

#include <filesystem>

namespace examples::translate {
namespace {

std::vector<text::WordAlignment> gold_of(const std::vector<grammar::Example>& examples) {
  std::vector<text::WordAlignment> gold;
  for (const grammar::Example& example : examples) gold.push_back({example.alignment, example.possible});
  return gold;
}

TrainingText generate(std::int64_t pairs, std::uint64_t seed) {
  const grammar::Corpus examples = text::generated_examples(pairs, seed);
  return {.corpus = text::generated_corpus(examples),
          .generated = true,
          .train_gold = gold_of(examples.train),
          .valid_gold = gold_of(examples.valid),
          .test_gold = gold_of(examples.test)};
}

void turn(text::ParallelText& text) { std::swap(text.source, text.target); }
void turn(std::vector<text::WordAlignment>& gold) {
  for (text::WordAlignment& alignment : gold)
    for (auto* links : {&alignment.sure, &alignment.possible})
      for (auto& [a, b] : *links) std::swap(a, b);
}

}  // namespace

void Sources::make_absolute() {
  for (std::string* path : {&files.src, &files.tgt, &files.tsv, &files.valid_src, &files.valid_tgt, &files.test_src, &files.test_tgt})
    if (!path->empty()) *path = std::filesystem::absolute(*path).lexically_normal().string();
  if (files.data.starts_with("ding:")) files.data = "ding:" + std::filesystem::absolute(files.data.substr(5)).lexically_normal().string();
}

TrainingText Sources::read(std::uint64_t seed) const {
  TrainingText text;
  if (files.given())
    text.corpus = files.read();
  else
    text = generate(pairs, seed);
  if (reverse) {
    for (text::ParallelText* part : {&text.corpus.train, &text.corpus.valid, &text.corpus.test}) turn(*part);
    for (std::vector<text::WordAlignment>* gold : {&text.train_gold, &text.valid_gold, &text.test_gold}) turn(*gold);
  }
  return text;
}

}  // namespace examples::translate
