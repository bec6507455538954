#pragma once
#include <vector>

#include "text/grammar/phrases.hpp"

namespace examples::grammar {

/// Phrases of time that go with a tense; those of the future go with can, must, should and want too.
const std::vector<TimePhrase>& time_phrases(Tense tense);

/// oft – often …
const std::vector<Conjunction>& frequencies();
/// weil – because …
const std::vector<Conjunction>& circumstance_words();

}  // namespace examples::grammar
