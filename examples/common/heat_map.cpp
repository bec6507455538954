#include "common/heat_map.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace examples {
namespace {

constexpr double cell = 20, gap = 34, margin = 16, title_height = 44, map_title = 22;

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

// From near-white to deep blue, its lightness falling evenly with the weight: still a scale when printed grey.
std::string colour(double weight) {
  const double w = std::isfinite(weight) ? std::clamp(weight, 0.0, 1.0) : 0.0;
  const auto mix = [w](double from, double to) { return static_cast<int>(std::lround(from + (to - from) * w)); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(0xf4, 0x08), mix(0xf7, 0x3b), mix(0xfb, 0x7a));
}

std::size_t longest(const std::vector<std::string>& tokens) {
  std::size_t most = 1;
  for (const std::string& token : tokens)  // characters, not bytes: continuation bytes are left out
    most = std::max(most, static_cast<std::size_t>(
                              std::ranges::count_if(token, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; })));
  return most;
}

struct Layout {
  double left, top, width, height;  // of one map with its labels
  explicit Layout(const std::vector<HeatMap>& maps) : left(0), top(0), width(0), height(0) {
    for (const HeatMap& map : maps) {
      left = std::max(left, 8.0 * static_cast<double>(longest(map.query_tokens)) + 8);
      top = std::max(top, map_title + 8.0 * static_cast<double>(longest(map.key_tokens)) + 8);
      width = std::max(width, cell * static_cast<double>(map.key_tokens.size()));
      height = std::max(height, cell * static_cast<double>(map.query_tokens.size()));
    }
    width += left;
    height += top;
  }
};

void draw(std::string& out, const HeatMap& map, const Layout& layout, double x0, double y0) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "<g transform=\"translate({:.0f} {:.0f})\">\n<text class=\"h\" x=\"{:.0f}\" y=\"14\">{}</text>\n", x0, y0, layout.left,
                 escaped(map.title));
  for (std::size_t j = 0; j < map.key_tokens.size(); ++j)
    fmt::format_to(to, "<text transform=\"translate({:.0f} {:.0f}) rotate(-90)\">{}</text>\n",
                   layout.left + cell * static_cast<double>(j) + 14, layout.top - 5, escaped(map.key_tokens[j]));
  for (std::size_t i = 0; i < map.query_tokens.size(); ++i) {
    const double y = layout.top + cell * static_cast<double>(i);
    fmt::format_to(to, "<text class=\"q\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", layout.left - 6, y + 14, escaped(map.query_tokens[i]));
    for (std::size_t j = 0; j < map.key_tokens.size(); ++j) {
      const double weight = map.weights.at({static_cast<tapeform::Dim>(i), static_cast<tapeform::Dim>(j)});
      fmt::format_to(
          to,
          "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" fill=\"{}\"><title>{} attends {}: {:.3f}</title></rect>\n",
          layout.left + cell * static_cast<double>(j), y, cell - 1, cell - 1, colour(weight), escaped(map.query_tokens[i]),
          escaped(map.key_tokens[j]), weight);
    }
  }
  out += "</g>\n";
}

void draw_colour_bar(std::string& out, double x, double y) {
  auto to = std::back_inserter(out);
  constexpr int steps = 20;
  for (int i = 0; i < steps; ++i)
    fmt::format_to(to, "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"6\" height=\"10\" fill=\"{}\"/>\n", x + 6 * i, y,
                   colour((i + 0.5) / steps));
  fmt::format_to(to, "<text class=\"q\" x=\"{:.0f}\" y=\"{:.0f}\">0</text>\n<text x=\"{:.0f}\" y=\"{:.0f}\">1</text>\n", x - 4, y + 9,
                 x + 6 * steps + 4, y + 9);
}

void check(const HeatMap& map) {
  const tapeform::Shape expected{static_cast<tapeform::Dim>(map.query_tokens.size()), static_cast<tapeform::Dim>(map.key_tokens.size())};
  if (map.weights.shape() != expected)
    throw tapeform::ShapeError(
        fmt::format("heat map: one token for each row and column; got weights {}, tokens {}", map.weights.shape().str(), expected.str()));
}

}  // namespace

std::string heat_maps_svg(const std::string& title, const std::vector<HeatMap>& maps, int columns) {
  for (const HeatMap& map : maps) check(map);
  const Layout layout(maps);
  const auto count = static_cast<int>(maps.size());
  const int across = std::max(1, std::min(columns, count)), down = (count + across - 1) / across;
  const double width = 2 * margin + across * layout.width + (across - 1) * gap;
  const double height = 2 * margin + title_height + down * layout.height + std::max(0, down - 1) * gap;
  std::string out;
  fmt::format_to(
      std::back_inserter(out),
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
      "aria-label=\"{2}\">\n<style>text{{font:12px sans-serif;fill:#1b1f24}}.q{{text-anchor:end}}.h{{font-weight:bold}}"
      ".t{{font-size:16px;font-weight:bold}}.p{{fill:#fff}}@media(prefers-color-scheme:dark){{text{{fill:#e6e9ee}}.p{{fill:#15181d}}}}"
      "</style>\n<rect class=\"p\" width=\"100%\" height=\"100%\"/>\n<text class=\"t\" x=\"{3:.0f}\" y=\"{4:.0f}\">{2}</text>\n",
      width, height, escaped(title), margin, margin + 16);
  draw_colour_bar(out, margin + 10, margin + 26);
  for (int i = 0; i < count; ++i)
    draw(out, maps[static_cast<std::size_t>(i)], layout, margin + (i % across) * (layout.width + gap),
         margin + title_height + (i / across) * (layout.height + gap));
  return out + "</svg>\n";
}

}  // namespace examples
