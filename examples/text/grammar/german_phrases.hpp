#pragma once
#include "text/grammar/line.hpp"
#include "text/grammar/phrases.hpp"

namespace examples::grammar::german {

/// A clause with its verb at the end, behind the word that begins it.
void verb_final(Line& line, const Clause& clause);

/// The phrase in a case, with what hangs on it.
void noun_phrase(Line& line, const NounPhrase& phrase, Case in);
/// With its preposition; im, ins, zum, zur, vom, beim.
void place_phrase(Line& line, const PlacePhrase& place);
void time_phrase(Line& line, const TimePhrase& time, int clause_id);

}  // namespace examples::grammar::german
