#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "common/command_line.hpp"

namespace examples {

/// `--save`, `--resume`, `--load` and `--save-every`: where the state of a training run goes and comes from.
struct RunFiles {
  std::string save, resume, load;
  std::int64_t every = 100;

  explicit RunFiles(CommandLine& options);

  /// To be called after parsing. A resumed run is saved where it came from unless `--save` says otherwise; `--seed` is free with `--load`.
  /// @throws UsageError when options exclude each other, one of `fixed` is given although the file holds it, or the file to save cannot be
  /// written.
  void check(const CommandLine& options, std::initializer_list<const char*> fixed);

  /// The file to begin from; empty when there is none.
  const std::string& source() const noexcept { return load.empty() ? resume : load; }
  /// After update `done` of `total`: is it time to save?
  bool due(std::int64_t done, std::int64_t total) const noexcept { return !save.empty() && done % every == 0 && done < total; }
};

/// Saves on the way: what fails is one line on standard error, and the training goes on.
void save_on_the_way(const char* name, void (*save)(const void*), const void* run);

/// Calls `save()` on the way.
template <class F>
void save_on_the_way(const char* name, const F& save) {
  save_on_the_way(
      name, [](const void* run) { (*static_cast<const F*>(run))(); }, &save);
}

/// Calls `load()`; what is wrong with a file that the user gave is a UsageError.
void load_given(void (*load)(const void*), const void* run);

template <class F>
void load_given(const F& load) {
  load_given([](const void* run) { (*static_cast<const F*>(run))(); }, &load);
}

}  // namespace examples
