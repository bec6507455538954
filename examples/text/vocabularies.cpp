#include "text/vocabularies.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <system_error>
#include <utility>

#include "common/command_line.hpp"
#include "common/utf8_text.hpp"

namespace examples::text {
namespace {

constexpr const char *both_file = "subwords.model", *source_file = "subwords.source.model", *target_file = "subwords.target.model";

std::string file(const std::string& folder, const char* name) { return (std::filesystem::path(folder) / name).string(); }

/// What vocabularies of the other kind have left in the folder would be loaded in place of these.
void remove_files(const std::string& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    std::error_code failure;
    std::filesystem::remove(file(folder, name), failure);
    if (failure) throw tapeform::IoError(fmt::format("subwords: {} cannot be removed; {}", file(folder, name), failure.message()));
  }
}

Subwords trained(const char* language, std::span<const std::string> lines, const SubwordOptions& options) {
  try {
    return Subwords::train(lines, options);
  } catch (const UsageError& error) {
    throw UsageError{fmt::format("{} {}", language, error.message)};
  }
}

Subwords loaded(const std::string& path) { return Subwords(read_file(path), path); }

}  // namespace

Vocabularies Vocabularies::train(const ParallelText& text, const VocabularyOptions& options) {
  const SubwordOptions each{.size = options.size, .character_coverage = options.character_coverage, .exact = options.exact};
  if (!options.joint) return {trained("source", text.source, each), trained("target", text.target, each), false};
  std::vector<std::string> lines = text.source;
  lines.insert(lines.end(), text.target.begin(), text.target.end());
  const Subwords both = Subwords::train(lines, each);
  return {both, both, true};
}

void Vocabularies::save(const std::string& folder) const {
  if (joint) {
    write_file(file(folder, both_file), source.bytes());
    return remove_files(folder, {source_file, target_file});
  }
  write_file(file(folder, source_file), source.bytes());
  write_file(file(folder, target_file), target.bytes());
  remove_files(folder, {both_file});
}

Vocabularies Vocabularies::load(const std::string& folder) {
  if (std::filesystem::exists(file(folder, source_file)))
    return {loaded(file(folder, source_file)), loaded(file(folder, target_file)), false};
  const Subwords both = loaded(file(folder, both_file));
  return {both, both, true};
}

EncodedPairs Vocabularies::encode(const ParallelText& text, std::int64_t max_ids, DropReport* report) const {
  std::vector<std::vector<std::int64_t>> from = source.encode_all(text.source), to = target.encode_all(text.target);
  EncodedPairs pairs;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (max_ids > 0 && static_cast<std::int64_t>(std::max(from[i].size(), to[i].size())) > max_ids) {
      if (report) ++report->too_long;
      continue;
    }
    pairs.source.push_back(std::move(from[i]));
    pairs.target.push_back(std::move(to[i]));
  }
  return pairs;
}

}  // namespace examples::text
