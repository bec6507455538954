#pragma once
#include <string>

#include "common/command_line.hpp"
#include "translate/run_folder.hpp"

namespace examples::translate {

/// What a new run is told on the command line, in a config file (`--config FILE`) or by its preset, the first of these that says it.
/// @throws UsageError, HelpShown as CommandLine::parse.
struct TrainOptions {
  Config config;
  std::string out = "translation";
  bool quiet = false;

  static TrainOptions parse(int argc, const char* const* argv);
};

/// A run's config file, `name = value` on each line.
std::string config_text(const Config& config);
/// @throws UsageError naming the file and the line's fault.
Config config_of(const std::string& path);

}  // namespace examples::translate
