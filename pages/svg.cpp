#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/pages/attention.hpp>

#include "detail/text.hpp"

namespace tapeform::pages {

namespace {

constexpr double cell = 20, gap = 34, margin = 16, title_height = 48, head_title = 22, letter = 7.2;
constexpr int levels = 32, longest_token = 16;

/// One head of a map, its tokens as they are drawn.
struct Head {
  std::string title;
  const double* weights;  // [Tq, Tk]
  std::vector<std::string> queries, keys;
};

std::vector<std::string> all_visible(const std::vector<std::string>& tokens) {
  std::vector<std::string> shown;
  for (const std::string& token : tokens) shown.push_back(detail::visible(token));
  return shown;
}

void check(const AttentionMap& map) {
  const Shape& shape = map.weights.shape();
  const auto queries = static_cast<Dim>(map.queries.size()), keys = static_cast<Dim>(map.keys.size());
  if (shape.rank() != 3 || shape[1] != queries || shape[2] != keys)
    throw ShapeError(fmt::format("svg: weights must be [H, Tq, Tk] with a token for every row and column; got weights {}, {} and {} tokens",
                                 shape.str(), queries, keys));
  for (const double weight : map.weights.to_vector())
    if (weight < -1e-3 || weight > 1 + 1e-3) throw ValueError(fmt::format("svg: weights are numbers from 0 to 1; got {}", weight));
}

bool takes(const std::optional<Dim>& wanted, Dim value) { return !wanted || *wanted == value; }

/// The chosen heads of `maps`, whose weights are float64.
std::vector<Head> heads_of(const std::vector<AttentionMap>& maps, const AttentionChoice& choice) {
  std::vector<Head> heads;
  for (const AttentionMap& map : maps) {
    check(map);
    if (!takes(choice.sentence, map.sentence) || !takes(choice.layer, map.layer) || (choice.kind && *choice.kind != map.kind)) continue;
    for (Dim h = 0; h < map.weights.dim(0); ++h)
      if (takes(choice.head, h))
        heads.push_back({fmt::format("{}, layer {}, head {}", name(map.kind), map.layer, h),
                         map.weights.data<double>() + h * map.weights.dim(1) * map.weights.dim(2), all_visible(map.queries),
                         all_visible(map.keys)});
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

int level_of(double weight) { return std::clamp(static_cast<int>(weight * levels), 0, levels - 1); }

/// From pale to dark, or on dark pages from dark to pale, evenly in lightness: still a scale when printed in grey.
std::string fills(const int (&pale)[3], const int (&full)[3]) {
  std::string rules;
  for (int level = 0; level < levels; ++level) {
    const double share = static_cast<double>(level) / (levels - 1);
    const auto mix = [share, &pale, &full](int i) { return static_cast<int>(std::lround(pale[i] + (full[i] - pale[i]) * share)); };
    rules += fmt::format(".w{}{{fill:#{:02x}{:02x}{:02x}}}", level, mix(0), mix(1), mix(2));
  }
  return rules;
}

std::string style() {
  return "<style>text{font:12px sans-serif;fill:#1b1f24}.q{text-anchor:end}.h{font-weight:bold}.t{font-size:16px;font-weight:bold}"
         ".p{fill:#fff}.n{fill:#c026d3}" +
         fills({0xf1, 0xf5, 0xfa}, {0x08, 0x3b, 0x7a}) + "@media(prefers-color-scheme:dark){text{fill:#e6e9ee}.p{fill:#14171c}" +
         fills({0x1c, 0x22, 0x2a}, {0xd4, 0xe9, 0xff}) + "}</style>\n";
}

void draw_cells(std::string& out, const Head& head) {
  for (std::size_t i = 0; i < head.queries.size(); ++i) {
    const std::string query = detail::markup(detail::isolated(head.queries[i]));
    for (std::size_t j = 0; j < head.keys.size(); ++j) {
      const double weight = head.weights[i * head.keys.size() + j];
      const std::string fill = std::isnan(weight) ? "n" : fmt::format("w{}", level_of(weight));
      out += fmt::format("<path class=\"{}\" d=\"M{} {}h.95v.95h-.95z\"><title>{} → {}: {:.4g}</title></path>\n", fill, j, i, query,
                         detail::markup(detail::isolated(head.keys[j])), weight);
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

void draw_colour_bar(std::string& out, double x, double y) {
  out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">0</text>\n", x, y + 10);
  for (int level = 0; level < levels; ++level)
    out += fmt::format("<path class=\"w{}\" d=\"M{:.0f} {:.0f}h4v12h-4z\"/>", level, x + 14 + 4 * level, y);
  out += fmt::format("\n<text x=\"{:.0f}\" y=\"{:.0f}\">1</text>\n", x + 20 + 4 * levels, y + 10);
}

}  // namespace

std::string svg(const std::vector<AttentionMap>& given, const SvgOptions& options) {
  std::vector<AttentionMap> maps = given;
  for (AttentionMap& map : maps) map.weights = map.weights.cast(DType::float64);
  const std::vector<Head> heads = heads_of(maps, options.choice);
  const Layout layout(heads);
  const auto count = static_cast<int>(heads.size());
  const int across = std::max(1, std::min(options.columns, count)), down = (count + across - 1) / across;
  const double width = std::max(2 * margin + across * layout.width + (across - 1) * gap, 2 * margin + 8.5 * detail::columns(options.title));
  const double height = 2 * margin + title_height + down * layout.height + std::max(0, down - 1) * gap;
  const std::string title = detail::markup(options.title);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
      "aria-label=\"{2}: {3} heads, queries down, keys across\">\n{4}<rect class=\"p\" width=\"100%\" height=\"100%\"/>\n"
      "<text class=\"t\" x=\"{5:.0f}\" y=\"{6:.0f}\">{2}</text>\n",
      width, height, title, count, style(), margin, margin + 16);
  draw_colour_bar(out, margin, margin + 28);
  for (int i = 0; i < count; ++i)
    draw(out, heads[static_cast<std::size_t>(i)], layout, margin + (i % across) * (layout.width + gap),
         margin + title_height + (i / across) * (layout.height + gap));
  return out + "</svg>\n";
}

}  // namespace tapeform::pages
