#pragma once
#include <string>
#include <vector>

namespace examples {

/// One curve to draw: values at 0, 1, 2, … along `axis`.
struct LineChart {
  std::string title;
  std::string note;  ///< under the title
  std::string axis;
  std::vector<double> values;
};

/// A self-contained SVG picture with all charts in a grid, each from 0 to its largest value, numbers at the axes' ends and the values as
/// tooltips; readable on light and dark pages.
std::string line_charts_svg(const std::string& title, const std::vector<LineChart>& charts, int columns = 4);

}  // namespace examples
