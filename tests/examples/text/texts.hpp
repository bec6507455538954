#pragma once
#include <functional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "common/command_line.hpp"
#include "core/files.hpp"

/// What the tests of text share.

using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

/// The text of the UsageError that `f` throws.
inline std::string usage_error(const std::function<void()>& f) {
  try {
    f();
  } catch (const examples::UsageError& error) {
    return error.message;
  }
  return "no error";
}

/// Writes a file into the folder and tells its path.
inline std::string write_into(const TemporaryFolder& folder, const std::string& name, const std::string& contents) {
  write_bytes(folder / name, contents);
  return folder / name;
}

/// Some hundred sentences in either language, each made of a few words.
inline std::vector<std::string> german_lines() {
  std::vector<std::string> lines;
  for (const char* who : {"Der Hund", "Die Katze", "Das Kind", "Ein müder Bär", "Eine Straße"})
    for (const char* does : {"sieht", "sucht", "findet", "vergisst", "grüßt"})
      for (const char* what : {"den Ball.", "die Tür.", "das Haus.", "einen Schlüssel.", "nichts."})
        lines.push_back(std::string(who) + ' ' + does + ' ' + what);
  return lines;
}
inline std::vector<std::string> english_lines() {
  std::vector<std::string> lines;
  for (const char* who : {"The dog", "The cat", "The child", "A tired bear", "A street"})
    for (const char* does : {"sees", "looks for", "finds", "forgets", "greets"})
      for (const char* what : {"the ball.", "the door.", "the house.", "a key.", "nothing."})
        lines.push_back(std::string(who) + ' ' + does + ' ' + what);
  return lines;
}
