#include "translate/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/checkpoint.hpp>

#include "common/utf8_text.hpp"
#include "text/parallel.hpp"
#include "translate/options.hpp"

namespace examples::translate {

using namespace tapeform;
namespace fs = std::filesystem;

bool RunFolder::has(const std::string& name) const {
  std::error_code ignored;
  return fs::exists(file(name), ignored);
}

void RunFolder::check_free() const {
  if (has("config.txt"))
    throw UsageError{fmt::format("{} holds a run: go on with 'translate resume {}', or choose another --out", path_, path_)};
}

void RunFolder::create() const {
  check_free();
  std::error_code failure;
  fs::create_directories(path_, failure);
  if (failure) throw UsageError{fmt::format("{}: {}", path_, failure.message())};
  check_writable(file("config.txt"));
}

void RunFolder::check() const {
  std::error_code ignored;
  if (!fs::is_directory(path_, ignored)) throw UsageError{fmt::format("{}: there is no such folder", path_)};
  if (!has("config.txt")) throw UsageError{fmt::format("{} holds no run: config.txt is missing", path_)};
}

void RunFolder::write_config(const Config& config) const { write_file(file("config.txt"), config_text(config)); }

Config RunFolder::read_config() const {
  check();
  return config_of(file("config.txt"));
}

void RunFolder::write_readme() const {
  const std::string me = "./dev run translate", dir = fs::absolute(path_).lexically_normal().string();
  write_file(file("README.txt"), fmt::format("A translator that was trained with Tapeform.\n\n"
                                             "score it on its test set:    {0} test '{1}'\n"
                                             "translate, line by line:     {0} '{1}' < sentences.txt > translations.txt\n"
                                             "see what it attends to:      {0} plot '{1}' 'Ein Satz .' -o page.html\n"
                                             "go on with its training:     {0} resume '{1}'\n"
                                             "average saved weights:       {0} average '{1}' FILE FILE …\n"
                                             "what it is, and how it went: {0} info '{1}'\n",
                                             me, dir));
}

void RunFolder::save_weights(const std::string& name, const nn::Seq2Seq& model) const { io::save_checkpoint(file(name), {{"", model}}); }

nn::Seq2Seq RunFolder::load_model(const std::string& name, const Config& config, const text::Vocabularies& vocabularies) const {
  Rng rng(config.seed);
  nn::Seq2Seq model = make_model(config.recipe, vocabularies.source.size(), vocabularies.target.size(), rng);
  const std::string path = has(name) ? file(name) : name;
  try {
    if (fs::path(path).filename() == "last.safetensors")
      io::load_checkpoint(path, {{"model", model}}, {.allow_other_parts = true});
    else
      io::load_checkpoint(path, {{"", model}});
  } catch (const Error& error) {
    throw UsageError{error.what()};
  }
  return model;
}

std::string RunFolder::best_file() const {
  for (const char* name : {"average.safetensors", "best.safetensors", "last.safetensors"})
    if (has(name)) return name;
  throw UsageError{fmt::format("{} holds no weights yet: 'translate resume {}' makes them", path_, path_)};
}

const std::vector<std::string>& RunLog::columns() {
  static const std::vector<std::string> names = {"update",       "epoch",   "loss",       "lr",  "gradient_norm",
                                                 "tokens_per_s", "skipped", "valid_loss", "bleu"};
  return names;
}

RunLog::RunLog(const RunFolder& folder, std::int64_t done) : folder_(folder) {
  std::string jsonl, csv = fmt::format("{}\n", fmt::join(columns(), ","));
  if (folder.has("log.jsonl")) {
    const std::vector<std::string> lines = text::split_lines(read_file(folder.file("log.jsonl")), folder.file("log.jsonl"));
    for (const std::string& line : lines) {
      const nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
      if (!row.is_object() || row.value("update", std::int64_t{0}) > done) continue;  // cut in the middle, or after what was saved
      jsonl += line + "\n";
      std::vector<std::string> cells;
      for (const std::string& column : columns()) cells.push_back(row.contains(column) ? row[column].dump() : "");
      csv += fmt::format("{}\n", fmt::join(cells, ","));
    }
  }
  write_file(folder.file("log.jsonl"), jsonl);
  write_file(folder.file("log.csv"), csv);
}

void RunLog::append(const std::string& name, const std::string& line) {
  std::FILE* const file = std::fopen(folder_.file(name).c_str(), "a");
  const bool written = file && std::fputs(line.c_str(), file) >= 0;
  if ((!file || std::fclose(file) != 0 || !written) && !complained_) {
    complained_ = true;
    std::fputs(fmt::format("translate: {} could not be written; the training goes on\n", folder_.file(name)).c_str(), stderr);
  }
}

void RunLog::add(const Row& row) {
  nlohmann::ordered_json line;
  std::vector<std::string> cells(columns().size());
  for (const auto& [name, value] : row) {
    const auto column = std::find(columns().begin(), columns().end(), name);
    if (column == columns().end()) throw ValueError(fmt::format("RunLog: there is no column '{}'", name));
    line[name] = std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
    cells[static_cast<std::size_t>(column - columns().begin())] = line[name].dump();
  }
  append("log.jsonl", line.dump() + "\n");
  append("log.csv", fmt::format("{}\n", fmt::join(cells, ",")));
}

}  // namespace examples::translate
