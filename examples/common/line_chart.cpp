#include "common/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace examples {
namespace {

constexpr double width = 210, height = 110, left = 64, top = 44, bottom = 30, gap = 18, margin = 16, title_height = 40;
constexpr double cell_width = left + width + gap, cell_height = top + height + bottom + gap;

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

/// Where the values of a chart lie in its cell.
class Place {
 public:
  explicit Place(const LineChart& chart) : last_(static_cast<double>(std::max<std::size_t>(chart.values.size(), 2) - 1)) {
    for (const double value : chart.values)
      if (std::isfinite(value)) most_ = std::max(most_, value);
  }
  double x(std::size_t i) const { return left + width * static_cast<double>(i) / last_; }
  double y(double value) const { return top + height * (1 - (most_ > 0 ? std::clamp(value / most_, 0.0, 1.0) : 0.0)); }
  double most() const { return most_; }

 private:
  double last_, most_ = 0;
};

/// Invisible bars of full height whose tooltips tell the numbers; neighbours share one where there are more than pixels.
void draw_tooltips(std::string& out, const LineChart& chart, const Place& place) {
  const std::size_t count = chart.values.size(), step = std::max<std::size_t>(1, (count + 69) / 70);
  for (std::size_t i = 0; i < count; i += step)
    fmt::format_to(std::back_inserter(out),
                   "<rect class=\"b\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\"><title>{} {}: {:.6g}</title></rect>\n",
                   place.x(i), top, place.x(std::min(i + step, std::max<std::size_t>(count, 1) - 1)) - place.x(i) + 0.5, height,
                   escaped(chart.axis), i, chart.values[i]);
}

void draw(std::string& out, const LineChart& chart, double x0, double y0) {
  const Place place(chart);
  auto to = std::back_inserter(out);
  fmt::format_to(to, "<g transform=\"translate({:.0f} {:.0f})\">\n<text class=\"h\" x=\"{:.0f}\" y=\"14\">{}</text>\n", x0, y0, left,
                 escaped(chart.title));
  fmt::format_to(to, "<text class=\"n\" x=\"{:.0f}\" y=\"30\">{}</text>\n", left, escaped(chart.note));
  fmt::format_to(to, "<path class=\"a\" d=\"M{0:.0f} {1:.0f}V{2:.0f}H{3:.0f}\"/>\n", left, top, top + height, left + width);
  fmt::format_to(to, "<text class=\"e\" x=\"{:.0f}\" y=\"{:.0f}\">{:.3g}</text>\n", left - 6, top + 10, place.most());
  fmt::format_to(to, "<text class=\"e\" x=\"{:.0f}\" y=\"{:.0f}\">0</text>\n", left - 6, top + height);
  fmt::format_to(to, "<text class=\"e\" x=\"{:.0f}\" y=\"{:.0f}\">{} {}</text>\n", left + width, top + height + 16, escaped(chart.axis),
                 chart.values.empty() ? 0 : chart.values.size() - 1);
  std::string path;
  for (std::size_t i = 0; i < chart.values.size(); ++i) {
    if (!std::isfinite(chart.values[i])) continue;
    fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", path.empty() ? "M" : "L", place.x(i), place.y(chart.values[i]));
  }
  if (!path.empty()) fmt::format_to(to, "<path class=\"l\" d=\"{}\"/>\n", path);
  draw_tooltips(out, chart, place);
  out += "</g>\n";
}

}  // namespace

std::string line_charts_svg(const std::string& title, const std::vector<LineChart>& charts, int columns) {
  const auto count = static_cast<int>(charts.size());
  const int across = std::max(1, std::min(columns, count)), down = (count + across - 1) / across;
  std::string out;
  fmt::format_to(
      std::back_inserter(out),
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
      "aria-label=\"{2}\">\n<style>text{{font:12px sans-serif;fill:#1b1f24}}.h{{font-weight:bold}}.n{{font-size:11px}}.e{{text-anchor:end}}"
      ".t{{font-size:16px;font-weight:bold}}.p{{fill:#fff}}.a{{fill:none;stroke:#8a919c}}.l{{fill:none;stroke:#083b7a;stroke-width:1.6}}"
      ".b{{fill:transparent}}@media(prefers-color-scheme:dark){{text{{fill:#e6e9ee}}.p{{fill:#15181d}}.l{{stroke:#7fb2f0}}}}</style>\n"
      "<rect class=\"p\" width=\"100%\" height=\"100%\"/>\n<text class=\"t\" x=\"{3:.0f}\" y=\"{4:.0f}\">{2}</text>\n",
      2 * margin + across * cell_width, 2 * margin + title_height + down * cell_height, escaped(title), margin, margin + 16);
  for (int i = 0; i < count; ++i)
    draw(out, charts[static_cast<std::size_t>(i)], margin + (i % across) * cell_width, margin + title_height + (i / across) * cell_height);
  return out + "</svg>\n";
}

}  // namespace examples
