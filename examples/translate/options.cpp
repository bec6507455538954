#include "translate/options.hpp"

#include <fmt/format.h>

#include <type_traits>

namespace examples::translate {
namespace {

void add_options(CommandLine& options, Config& config) {
  const auto add = [&options](const char* name, auto& member, const char* help, auto... range) {
    options.add(fmt::format("--{}", name), member, help, range...);
  };
  options.add("--preset", config.recipe.preset,
              "tiny, small or base: what the other options begin from; when not given, small for text and tiny without");
  config.sources.visit(add);
  config.recipe.visit(add);
  options.add("--budget", config.budget, "time for the whole run, such as 90s, 45m or 1.5h: --updates is planned to fill it");
  options.add("--save-every", config.save_every, "updates from one save to the next; every epoch ends with one too", 1, 1'000'000'000);
}

std::string quoted(const std::string& text) {
  const char mark = text.find('"') == std::string::npos ? '"' : '\'';
  if (text.find('\n') != std::string::npos || text.find(mark) != std::string::npos)
    throw UsageError{fmt::format("a config file cannot hold the name {}: it has a line break or both kinds of quotation marks", text)};
  return fmt::format("{0}{1}{0}", mark, text);
}

}  // namespace

TrainOptions TrainOptions::parse(int argc, const char* const* argv) {
  TrainOptions train;
  // Twice: the preset's numbers are the defaults that the second reading starts from.
  for (const bool preset_known : {false, true}) {
    const Recipe recipe = preset_known ? Recipe::preset_named(train.config.recipe.preset) : Recipe();
    train = TrainOptions();
    train.config.recipe = recipe;
    CommandLine options("translate train", "Trains a Transformer to translate, on text files or on sentences that it makes itself.");
    options.add("--out", train.out, "folder of the run");
    options.allow_config_file();
    add_options(options, train.config);
    options.parse(argc, argv);
    train.config.seed = options.seed;
    train.quiet = options.quiet;
    if (!options.given("--preset") && train.config.sources.files.given()) train.config.recipe.preset = "small";
  }
  train.config.recipe.check();
  if (!train.config.budget.empty()) {
    seconds_of(train.config.budget);
    if (train.config.recipe.updates > 0) throw UsageError{"--budget plans the updates: leave --updates out"};
  }
  train.config.sources.make_absolute();
  return train;
}

std::string config_text(const Config& config) {
  std::string text = "# What this run was told. To begin another one like it: translate train --config FILE --out FOLDER\n";
  const auto write = [&text](const char* name, const auto& member, const char*, auto...) {
    if constexpr (std::is_same_v<std::decay_t<decltype(member)>, std::string>)
      text += fmt::format("{} = {}\n", name, quoted(member));
    else
      text += fmt::format("{} = {}\n", name, member);
  };
  Config copy = config;
  write("seed", config.seed, "");
  write("preset", config.recipe.preset, "");
  copy.sources.visit(write);
  copy.recipe.visit(write);
  write("budget", config.budget, "");
  write("save-every", config.save_every, "");
  return text;
}

Config config_of(const std::string& path) {
  Config config;
  CommandLine options("translate", "");
  options.allow_config_file();
  add_options(options, config);
  const char* const arguments[] = {"translate", "--config", path.c_str()};
  options.parse(3, arguments);
  config.seed = options.seed;
  config.recipe.check();
  return config;
}

}  // namespace examples::translate
