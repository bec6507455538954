#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/pages/attention.hpp>

#include "detail/maps.hpp"
#include "detail/text.hpp"

namespace tapeform::pages {

namespace {

constexpr double cell = 20, gap = 34, margin = 16, title_height = 48, head_title = 22, letter = 7.2;
constexpr int levels = 32, signed_levels = 33, longest_token = 16;

/// One head of a map, its tokens as they are drawn.
struct Head {
  std::string title;
  const double* weights;  // [Tq, Tk]
  double reach;           // of numbers of either sign, on both sides of 0; 0 for weights
  std::vector<std::string> queries, keys;
};

std::vector<std::string> all_visible(const std::vector<std::string>& tokens) {
  std::vector<std::string> shown;
  for (const std::string& token : tokens) shown.push_back(detail::visible(token));
  return shown;
}

void check(const AttentionMap& map) {
  detail::check("svg", map);
  if (detail::is_signed(map.measure)) return;
  for (const double weight : map.weights.to_vector())
    if (weight < -1e-3 || weight > 1 + 1e-3) throw ValueError(fmt::format("svg: weights are numbers from 0 to 1; got {}", weight));
}

bool takes(const std::optional<Dim>& wanted, Dim value) { return !wanted || *wanted == value; }

/// The picture of head h of a map.
Head head_of(const AttentionMap& map, Dim h) {
  const Dim size = map.weights.dim(1) * map.weights.dim(2);
  Head head{"", map.weights.data<double>() + h * size, 0, all_visible(map.queries), all_visible(map.keys)};
  if (map.measure != AttentionMeasure::weights) head.title = fmt::format("{}: ", name(map.measure));
  head.title += name(map.kind);
  if (detail::has_heads(map.measure)) head.title += fmt::format(", layer {}, head {}", map.layer, h);
  if (!detail::is_signed(map.measure)) return head;
  for (Dim i = 0; i < size; ++i)
    if (std::isfinite(head.weights[i])) head.reach = std::max(head.reach, std::abs(head.weights[i]));
  head.title += fmt::format(" (±{:.3g})", head.reach);
  if (head.reach == 0) head.reach = 1;
  return head;
}

/// The chosen heads of `maps`, whose weights are float64.
std::vector<Head> heads_of(const std::vector<AttentionMap>& maps, const AttentionChoice& choice) {
  std::vector<Head> heads;
  for (const AttentionMap& map : maps) {
    check(map);
    const bool of_layer = detail::has_heads(map.measure);
    if (!takes(choice.sentence, map.sentence) || (choice.kind && *choice.kind != map.kind)) continue;
    if (of_layer && !takes(choice.layer, map.layer)) continue;
    for (Dim h = 0; h < map.weights.dim(0); ++h)
      if (!of_layer || takes(choice.head, h)) heads.push_back(head_of(map, h));
  }
  if (heads.empty() && !maps.empty()) throw ValueError("svg: the choice leaves no head. Layers, heads and sentences are counted from 0");
  return heads;
}

double room(const std::vector<std::string>& tokens) {
  int most = 1;
  for (const std::string& token : tokens) most = std::max(most, detail::columns(detail::shortened(token, longest_token)));
  return letter * most + 10;
}

/// Of one head with its labels; all have the same.
struct Layout {
  double left = 0, top = 0, width = 0, height = 0;
  explicit Layout(const std::vector<Head>& heads) {
    double title = 0;
    for (const Head& head : heads) {
      left = std::max(left, room(head.queries));
      top = std::max(top, head_title + room(head.keys));
      width = std::max(width, cell * static_cast<double>(head.keys.size()));
      height = std::max(height, cell * static_cast<double>(head.queries.size()));
      title = std::max(title, letter * detail::columns(head.title));
    }
    width = std::max(left + width, title);
    height += top;
  }
};

std::string class_of(const Head& head, double value) {
  if (std::isnan(value)) return "n";
  const auto level = [](double share, int count) { return static_cast<int>(std::clamp(share * count, 0.0, count - 1.0)); };
  if (head.reach == 0) return fmt::format("w{}", level(value, levels));
  return fmt::format("s{}", level((value / head.reach + 1) / 2, signed_levels));
}

using Colour = std::array<int, 3>;

/// Classes of colours from the first stop to the last. From pale to dark, or on dark pages from dark to pale, they are even in lightness:
/// still a scale when printed in grey.
std::string fills(char prefix, int count, const std::vector<Colour>& stops) {
  std::string rules;
  for (int level = 0; level < count; ++level) {
    const double place = static_cast<double>(level) / (count - 1) * static_cast<double>(stops.size() - 1);
    const std::size_t first = std::min(static_cast<std::size_t>(place), stops.size() - 2);
    const auto mix = [place, first, &stops](std::size_t i) {
      const int from = stops[first][i], to = stops[first + 1][i];
      return static_cast<int>(std::lround(from + (to - from) * (place - static_cast<double>(first))));
    };
    rules += fmt::format(".{}{}{{fill:#{:02x}{:02x}{:02x}}}", prefix, level, mix(0), mix(1), mix(2));
  }
  return rules;
}

std::string style(bool weights, bool both_signs) {
  const auto scales = [weights, both_signs](const std::vector<Colour>& one, const std::vector<Colour>& two) {
    return (weights ? fills('w', levels, one) : "") + (both_signs ? fills('s', signed_levels, two) : "");
  };
  return "<style>text{font:12px sans-serif;fill:#1b1f24}.q{text-anchor:end}.h{font-weight:bold}.t{font-size:16px;font-weight:bold}"
         ".p{fill:#fff}.n{fill:#c026d3}" +
         scales({{0xf1, 0xf5, 0xfa}, {0x08, 0x3b, 0x7a}}, {{0x9a, 0x3b, 0x0c}, {0xf5, 0xf3, 0xf0}, {0x08, 0x3b, 0x7a}}) +
         "@media(prefers-color-scheme:dark){text{fill:#e6e9ee}.p{fill:#14171c}" +
         scales({{0x1c, 0x22, 0x2a}, {0xd4, 0xe9, 0xff}}, {{0xff, 0xb3, 0x8a}, {0x1f, 0x24, 0x2b}, {0x9c, 0xca, 0xff}}) + "}</style>\n";
}

void draw_cells(std::string& out, const Head& head) {
  for (std::size_t i = 0; i < head.queries.size(); ++i) {
    const std::string query = detail::markup(detail::isolated(head.queries[i]));
    for (std::size_t j = 0; j < head.keys.size(); ++j) {
      const double weight = head.weights[i * head.keys.size() + j];
      out += fmt::format("<path class=\"{}\" d=\"M{} {}h.95v.95h-.95z\"><title>{} → {}: {:.4g}</title></path>\n", class_of(head, weight), j,
                         i, query, detail::markup(detail::isolated(head.keys[j])), weight);
    }
  }
}

void draw(std::string& out, const Head& head, const Layout& layout, double x0, double y0) {
  out +=
      fmt::format("<g transform=\"translate({:.0f} {:.0f})\">\n<text class=\"h\" y=\"14\">{}</text>\n", x0, y0, detail::markup(head.title));
  const auto label = [](const std::string& token) { return detail::markup(detail::shortened(token, longest_token)); };
  for (std::size_t j = 0; j < head.keys.size(); ++j)
    out += fmt::format("<text transform=\"translate({:.0f} {:.0f}) rotate(-90)\">{}</text>\n",
                       layout.left + cell * static_cast<double>(j) + 14, layout.top - 5, label(head.keys[j]));
  for (std::size_t i = 0; i < head.queries.size(); ++i)
    out += fmt::format("<text class=\"q\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", layout.left - 6,
                       layout.top + cell * static_cast<double>(i) + 14, label(head.queries[i]));
  out += fmt::format("<g transform=\"translate({:.0f} {:.0f}) scale({})\">\n", layout.left, layout.top, cell);
  draw_cells(out, head);
  out += "</g>\n</g>\n";
}

/// Returns where it ends.
double draw_colour_bar(std::string& out, double x, double y, char prefix, int count, const char* low, const char* high) {
  out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x, y + 10, low);
  for (int level = 0; level < count; ++level)
    out += fmt::format("<path class=\"{}{}\" d=\"M{:.0f} {:.0f}h4v12h-4z\"/>", prefix, level, x + 14 + 4 * level, y);
  out += fmt::format("\n<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x + 20 + 4 * count, y + 10, high);
  return x + 50 + 4 * count;
}

}  // namespace

std::string svg(const std::vector<AttentionMap>& given, const SvgOptions& options) {
  std::vector<AttentionMap> maps = given;
  for (AttentionMap& map : maps) map.weights = map.weights.cast(DType::float64);
  const std::vector<Head> heads = heads_of(maps, options.choice);
  const Layout layout(heads);
  const bool both_signs = std::ranges::any_of(heads, [](const Head& head) { return head.reach > 0; });
  const bool weights = heads.empty() || std::ranges::any_of(heads, [](const Head& head) { return head.reach == 0; });
  const auto count = static_cast<int>(heads.size());
  const int across = std::max(1, std::min(options.columns, count)), down = (count + across - 1) / across;
  const double bars = both_signs ? 360 : 0;
  const double width = 2 * margin + std::max({across * layout.width + (across - 1) * gap, 8.5 * detail::columns(options.title), bars});
  const double height = 2 * margin + title_height + down * layout.height + std::max(0, down - 1) * gap;
  const std::string title = detail::markup(options.title);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
      "aria-label=\"{2}: {3} heads, queries down, keys across\">\n{4}<rect class=\"p\" width=\"100%\" height=\"100%\"/>\n"
      "<text class=\"t\" x=\"{5:.0f}\" y=\"{6:.0f}\">{2}</text>\n",
      width, height, title, count, style(weights, both_signs), margin, margin + 16);
  const double behind = weights ? draw_colour_bar(out, margin, margin + 28, 'w', levels, "0", "1") : margin;
  if (both_signs) draw_colour_bar(out, behind, margin + 28, 's', signed_levels, "−", "+");
  for (int i = 0; i < count; ++i)
    draw(out, heads[static_cast<std::size_t>(i)], layout, margin + (i % across) * (layout.width + gap),
         margin + title_height + (i / across) * (layout.height + gap));
  return out + "</svg>\n";
}

}  // namespace tapeform::pages
