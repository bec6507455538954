#include "common/run_files.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <tapeform/core/error.hpp>

#include "common/utf8_text.hpp"

namespace examples {

RunFiles::RunFiles(CommandLine& options) {
  options.add("--save", save, "save the run in this file: now and then, at its end and after Ctrl-C");
  options.add("--resume", resume, "go on with the run that this file holds, to the same numbers as if it had never stopped");
  options.add("--load", load, "use the model of this file; no training");
  options.add("--save-every", every, "updates from one save to the next", 1, 1'000'000'000);
}

void RunFiles::check(const CommandLine& options, std::initializer_list<const char*> fixed) {
  for (const char* other : {"--save", "--resume"})
    if (options.given("--load") && options.given(other)) throw UsageError{fmt::format("--load trains nothing: leave {} out", other)};
  if (!source().empty())
    for (const std::string option : fixed)
      if (options.given(option) && !(option == "--seed" && !load.empty()))
        throw UsageError{fmt::format("{} comes from {}: leave it out", option, source())};
  if (save.empty()) save = resume;
  if (!save.empty()) check_writable(save);
}

void save_on_the_way(const char* name, void (*save)(const void*), const void* run) {
  try {
    save(run);
  } catch (const tapeform::Error& error) {
    std::fputs(fmt::format("{}: the run goes on, not saved: {}\n", name, error.what()).c_str(), stderr);
  }
}

void load_given(void (*load)(const void*), const void* run) {
  try {
    load(run);
  } catch (const tapeform::Error& error) {
    throw UsageError{error.what()};
  }
}

}  // namespace examples
