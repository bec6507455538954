#pragma once
#include <nlohmann/json.hpp>

#include "cases.hpp"

namespace bench {

/// Times a step with one thread, with as many as there are processors and with twice as many, in turn, so that a machine whose speed
/// drifts is as fast for all of them. Returns medians in ms by count, and how many times as fast as one thread each is.
nlohmann::ordered_json thread_counts(const Case& one, double seconds);

}  // namespace bench
