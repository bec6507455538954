#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace examples {

/// What every example understands: `--help`, `--seed`, `--threads`, `--quiet`, and what it adds itself.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// `--name VALUE`; `value` holds the default and receives what was given. Numbers must lie in [low, high].
  void add(const std::string& name, std::int64_t& value, const std::string& help, std::int64_t low = 0, std::int64_t high = INT64_MAX);
  void add(const std::string& name, double& value, const std::string& help, double low = 0.0, double high = 1e300);
  void add(const std::string& name, std::string& value, const std::string& help);
  /// `--name true` or `--name false`, for what a config file or a preset may have switched on.
  void add(const std::string& name, bool& value, const std::string& help);
  void add_flag(const std::string& name, bool& value, const std::string& help);
  /// A word without a name, which must be there, and what is left of the words behind it.
  void add_argument(const std::string& name, std::string& value, const std::string& help);
  void add_arguments(const std::string& name, std::vector<std::string>& values, const std::string& help);
  /// `--config FILE`: a file with `name = value` on each line for options that the command line leaves out.
  void allow_config_file();

  /// Reads the arguments and what the environment chooses (TAPEFORM_THREADS, TAPEFORM_ISA), and sets the number of threads.
  /// @throws UsageError naming what is wrong; HelpShown after `--help`.
  void parse(int argc, const char* const* argv);

  /// True when the option was on the command line.
  bool given(const std::string& name) const;

  std::uint64_t seed = 1;
  bool quiet = false;

 private:
  struct Impl;
  Impl* impl_;
  std::int64_t threads_ = 0;
  std::int64_t seed_ = 1;
};

/// What the user gave cannot be used: one line, exit status 2.
struct UsageError {
  std::string message;
};
struct HelpShown {};

/// Runs an example's body: a UsageError is one line on standard error and exit status 2, any other error one line and 1.
int run(const char* name, int (*body)(int argc, const char* const* argv), int argc, const char* const* argv);

/// From now on Ctrl-C only raises a flag (a second one ends the program); `interrupted()` tells.
void catch_interrupts();
bool interrupted() noexcept;

}  // namespace examples
