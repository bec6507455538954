#pragma once
#include <string>
#include <string_view>
#include <tapeform/nn/seq2seq.hpp>
#include <tapeform/pages/attention.hpp>
#include <vector>

namespace {

using tapeform::Ids;

inline tapeform::nn::Seq2Seq translator() {
  tapeform::Rng rng(1);
  return tapeform::nn::Seq2Seq(
      7, 7, rng, {.num_hiddens = 8, .num_heads = 2, .num_encoder_layers = 2, .num_decoder_layers = 2, .ffn_num_hiddens = 10, .max_len = 6});
}

/// Two sentences as a batch for it, the second one shorter.
const Ids two_sources = Ids::rows({{1, 2, 3, 4}, {4, 5, 0, 0}}), two_lens{4, 2}, two_targets = Ids::rows({{0, 1, 2}, {0, 4, 5}});
const std::vector<tapeform::pages::SentenceTokens> two_sentences{{{"das", "▁Haus", "ist", "groß"}, {"<s>", "the", "house"}},
                                                                 {{"ja", "!"}, {"<s>", "yes"}}};

[[maybe_unused]] std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace
