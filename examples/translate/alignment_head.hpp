#pragma once
#include <optional>
#include <string>

#include "translate/alignment.hpp"
#include "translate/run_folder.hpp"

namespace examples::translate {

/// The head of a run that aligns words best, as its folder keeps it in `alignment.json`: of a run on sentences whose alignments are known,
/// the one with the lowest error rate on the validation set.
struct AlignmentHead {
  Head head;
  double error_rate = 0;  ///< on the validation set
  std::string weights;    ///< the file of weights that it was chosen with
};

/// Nothing where the folder has none: of a run on other text, or one that has not ended yet.
/// @throws UsageError naming the file when it holds something else, or a head that the model does not have.
std::optional<AlignmentHead> read_alignment_head(const RunFolder& folder, const Recipe& recipe);

/// Chooses the head for the weights that the folder's commands use, and keeps it; nothing for text without known alignments.
/// @throws UsageError when there are no weights yet, tapeform::IoError.
std::optional<AlignmentHead> choose_alignment_head(const RunFolder& folder, const Config& config, const text::Vocabularies& vocabularies,
                                                   const TrainingText& text);

}  // namespace examples::translate
