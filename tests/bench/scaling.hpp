#pragma once
#include <string>

namespace bench {

/// Times a step against depth, batch and sequence length, prints a JSON line for every point, and draws the three curves (with the
/// live memory of attention) into an SVG file.
void scaling(double seconds, const std::string& picture);

}  // namespace bench
