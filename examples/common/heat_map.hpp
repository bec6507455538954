#pragma once
#include <string>
#include <tapeform/core/array.hpp>
#include <vector>

namespace examples {

/// One attention head to draw: weights [Tq, Tk], queries down, keys across.
struct HeatMap {
  std::string title;
  tapeform::Array weights;
  std::vector<std::string> query_tokens;
  std::vector<std::string> key_tokens;
};

/// A self-contained SVG picture with all maps in a grid, tokens on both axes, a colour bar from 0 to 1, and every value as a
/// tooltip; readable on light and dark pages. @throws tapeform::ShapeError when tokens and weights do not fit.
std::string heat_maps_svg(const std::string& title, const std::vector<HeatMap>& maps, int columns = 4);

}  // namespace examples
