#pragma once
#include "text/grammar/line.hpp"
#include "text/grammar/phrases.hpp"

namespace examples::grammar {

/// A clause as a German sentence: the verb second (first in a question), the rest of it last; subordinate clauses verb-final.
Line in_german(const Clause& clause);
/// The same as an English sentence.
Line in_english(const Clause& clause);

}  // namespace examples::grammar
