#include "translate/alignment_head.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/utf8_text.hpp"

namespace examples::translate {

using namespace tapeform;

static constexpr const char* file_name = "alignment.json";

std::optional<AlignmentHead> read_alignment_head(const RunFolder& folder, const Recipe& recipe) {
  if (!folder.has(file_name)) return std::nullopt;
  const std::string path = folder.file(file_name);
  const nlohmann::json kept = nlohmann::json::parse(read_file(path), nullptr, false);
  const auto number = [&kept](const char* name) { return kept.is_object() && kept.contains(name) && kept[name].is_number(); };
  if (!number("layer") || !number("head") || !number("valid_error_rate") || !kept.contains("weights") || !kept["weights"].is_string())
    throw UsageError{fmt::format("{} is no alignment head: it needs layer, head, valid_error_rate and weights", path)};
  const AlignmentHead chosen{.head = {kept["layer"].get<Dim>(), kept["head"].get<Dim>()},
                             .error_rate = kept["valid_error_rate"].get<double>(),
                             .weights = kept["weights"].get<std::string>()};
  if (chosen.head.layer < 0 || chosen.head.layer >= recipe.decoder_layers || chosen.head.head < 0 || chosen.head.head >= recipe.heads)
    throw UsageError{
        fmt::format("{}: the model has no {}: {} layers of {} heads", path, chosen.head.text(), recipe.decoder_layers, recipe.heads)};
  return chosen;
}

std::optional<AlignmentHead> choose_alignment_head(const RunFolder& folder, const Config& config, const text::Vocabularies& vocabularies,
                                                   const TrainingText& text) {
  if (text.valid_gold.empty()) return std::nullopt;
  const std::string weights = folder.best_file();
  const nn::Seq2Seq model = folder.load_model(weights, config, vocabularies);
  const HeadErrors errors = head_errors(model, vocabularies, text.corpus.valid, text.valid_gold);
  const std::size_t best = errors.best();
  const AlignmentHead chosen{.head = errors.heads[best], .error_rate = errors.error_rates[best], .weights = weights};
  const nlohmann::ordered_json kept = {
      {"layer", chosen.head.layer}, {"head", chosen.head.head}, {"valid_error_rate", chosen.error_rate}, {"weights", weights}};
  write_file(folder.file(file_name), kept.dump() + "\n");
  return chosen;
}

}  // namespace examples::translate
