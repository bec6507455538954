#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/utf8_text.hpp"
#include "translate/commands.hpp"
#include "translate/loaded.hpp"

namespace examples::translate {

using namespace tapeform;

int info_command(int argc, const char* const* argv) {
  CommandLine options("translate info", "Tells what a run is and how its training went.");
  std::string path;
  options.add_argument("DIR", path, "folder of the run");
  options.parse(argc, argv);
  const RunFolder folder(path);
  const Config config = folder.read_config();
  const text::Vocabularies vocabularies = text::Vocabularies::load(path);
  Rng rng(config.seed);
  const nn::Seq2Seq model = make_model(config.recipe, vocabularies.source.size(), vocabularies.target.size(), rng);
  const Recipe& recipe = config.recipe;
  fmt::print("{}: {} + {} layers, width {}, {} heads, feed-forward {}, {} parameters\n", path, recipe.encoder_layers, recipe.decoder_layers,
             recipe.width, recipe.heads, recipe.ffn, nn::count_parameters(model));
  fmt::print("vocabulary: {}\n", vocabularies.joint ? fmt::format("{} for both languages", vocabularies.source.size())
                                                    : fmt::format("{} and {}", vocabularies.source.size(), vocabularies.target.size()));
  for (const char* name : {"last.safetensors", "best.safetensors", "average.safetensors"})
    fmt::print("{}: {}\n", name, folder.has(name) ? "there" : "not yet");
  if (const auto alignment = read_alignment_head(folder, recipe))
    fmt::print("words are aligned best by {}: error rate {:.3f} on the validation set, by {}\n", alignment->head.text(),
               alignment->error_rate, alignment->weights);
  if (!folder.has("log.jsonl")) return 0;
  fmt::print("epoch  update  validation loss   BLEU\n");
  for (const std::string& line : text::split_lines(read_file(folder.file("log.jsonl")), folder.file("log.jsonl"))) {
    const nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains("valid_loss") || !row["valid_loss"].is_number()) continue;
    fmt::print("{:5.0f} {:7.0f} {:16.4f} {:6.2f}\n", row.value("epoch", 0.0), row.value("update", 0.0), row.value("valid_loss", 0.0),
               row.value("bleu", 0.0));
  }
  return 0;
}

}  // namespace examples::translate
