#pragma once
#include <array>
#include <cstdio>
#include <string>
#include <sys/wait.h>

#include "catch.hpp"

/// What the tests of whole programs share.

struct Outcome {
  int status;
  std::string text;
};

/// Runs a shell command in a scratch folder, with $BIN where the example programs are; standard error comes with standard output.
inline Outcome run(const std::string& command) {
  const std::string line = "cd \"${TMPDIR:-/tmp}\" && BIN=" TAPEFORM_EXAMPLES_BIN " && { " + command + "; } 2>&1 </dev/null";
  FILE* const pipe = popen(line.c_str(), "r");
  REQUIRE(pipe);
  Outcome outcome{0, ""};
  std::array<char, 4096> part{};
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe)) outcome.text.append(part.data(), n);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

/// A command in an empty folder that is gone afterwards.
inline Outcome in_folder(const std::string& command) {
  return run("folder=$(mktemp -d) && cd $folder && { " + command + "; }; status=$?; cd /; rm -r $folder; (exit $status)");
}

inline bool one_line(const std::string& text) { return text.find('\n') == text.size() - 1; }
