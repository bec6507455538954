#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "common/command_line.hpp"
#include "translate/alignment_head.hpp"
#include "translate/run_folder.hpp"
#include "translate/translator.hpp"

namespace examples::translate {

/// What all commands understand that use a run's weights: the run's folder, `--weights`, and how to search.
class UseOptions {
 public:
  explicit UseOptions(CommandLine& options);
  /// The decoding that was asked for: the run's own where nothing was said.
  TranslateOptions decoding(const Config& config) const;

  std::string folder, weights;

 private:
  std::int64_t beam_ = 0;
  double length_penalty_ = -1;
};

/// A run, ready to translate.
struct Loaded {
  RunFolder folder;
  Config config;
  text::Vocabularies vocabularies;
  std::string weights;
  tapeform::nn::Seq2Seq model;
  std::optional<AlignmentHead> alignment;

  /// @throws UsageError when the folder holds no run, or no such weights, and as read_alignment_head.
  explicit Loaded(const UseOptions& options);
};

}  // namespace examples::translate
