#include "translate/sources.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace examples::translate {
namespace {

void add(text::ParallelText& text, std::vector<text::WordAlignment>& gold, const std::vector<grammar::Example>& examples) {
  for (const grammar::Example& example : examples) {
    text.add(example.german, example.english);
    gold.push_back({example.alignment, example.possible});
  }
}

TrainingText generate(std::int64_t pairs, std::uint64_t seed) {
  constexpr std::int64_t held_out = 500;
  const grammar::Corpus made = grammar::corpus(seed, pairs, held_out, held_out);
  TrainingText text;
  text.generated = true;
  text.corpus.name = "generated sentences";
  add(text.corpus.train, text.train_gold, made.train);
  add(text.corpus.valid, text.valid_gold, made.valid);
  add(text.corpus.test, text.test_gold, made.test);
  text.corpus.report.push_back(fmt::format("generated: {} pairs to learn from, {} to validate on, {} to test on", made.train.size(),
                                           made.valid.size(), made.test.size()));
  return text;
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
