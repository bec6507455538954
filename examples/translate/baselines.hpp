#pragma once
#include <string>
#include <vector>

#include "translate/sources.hpp"

namespace examples::translate {

/// What a translator must beat: each word of a sentence, in its place, by the word that most often translates it in the training pairs'
/// gold alignments; a word that has none stays.
std::vector<std::string> word_by_word(const TrainingText& text, const std::vector<std::string>& sentences);

}  // namespace examples::translate
