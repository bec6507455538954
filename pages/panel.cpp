#include <tapeform/pages/panel.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <tapeform/core/error.hpp>

#include "detail/text.hpp"
#include "detail/viewer.hpp"

namespace tapeform::pages {

namespace {

using Labels = std::vector<std::string>;
using Strings = std::vector<std::string>;

struct Range {
  double low = 0, high = 1;
};

/// What is drawn around 0 reaches as far on either side, so that 0 is the middle of the scale.
Range range_of(std::span<const double> values, bool weights) {
  if (weights) return {};
  double reach = 0;
  for (const double value : values)
    if (std::isfinite(value)) reach = std::max(reach, std::abs(value));
  return reach > 0 ? Range{-reach, reach} : Range{-1, 1};
}

/// 16 bits, read by `decode` of viewer.js: 0 to 65,532 from the low to the high end, then −inf, inf, NaN. A weight over 0 is never 0.
std::uint32_t coded(double value, const Range& range, bool weights) {
  constexpr double steps = 65'532;
  if (std::isnan(value)) return 65'535;
  if (std::isinf(value)) return value > 0 ? 65'534 : 65'533;
  const double place = std::clamp((value - range.low) / (range.high - range.low), 0.0, 1.0);
  const auto code = static_cast<std::uint32_t>(std::lround(place * steps));
  return weights && value > 0 && code == 0 ? 1 : code;
}

std::string base64(const std::string& bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) group = group << 8 | (j < left ? static_cast<std::uint8_t>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) text += j <= left ? digits[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::string packed(std::span<const double> values, const Range& range, bool weights) {
  std::string bytes;
  for (const double value : values) {
    const std::uint32_t code = coded(value, range, weights);
    bytes += static_cast<char>(code & 255);
    bytes += static_cast<char>(code >> 8);
  }
  return base64(bytes);
}

void check(const Panel& panel) {
  const Shape& shape = panel.values.shape();
  const auto fits = [&shape](const Labels& labels, int axis) { return labels.empty() || static_cast<Dim>(labels.size()) == shape[axis]; };
  if (!panel.values || shape.rank() < 2 || shape.rank() > 3)
    throw ShapeError(fmt::format("page: values must be [R, C] or [H, R, C]; got {} for '{}'", shape.str(), panel.title));
  if (!fits(panel.rows, -2) || !fits(panel.columns, -1))
    throw ShapeError(fmt::format("page: one token for every row and column; got values {}, {} and {} tokens for '{}'", shape.str(),
                                 panel.rows.size(), panel.columns.size(), panel.title));
  if (!panel.weights) return;
  for (const double value : panel.values.to_vector())
    if (value < -1e-3 || value > 1 + 1e-3)
      throw ValueError(fmt::format("page: weights are numbers from 0 to 1; got {} for '{}'", value, panel.title));
}

/// The page's data, one JSON object: lists of labels, each once, and the pictures that refer to them.
class Data {
 public:
  void add(const Panel& panel) {
    check(panel);
    const Shape& shape = panel.values.shape();
    const std::size_t size = static_cast<std::size_t>(shape[-2] * shape[-1]);
    const std::vector<double> values = panel.values.to_vector();
    const bool heads = shape.rank() == 3;
    for (Dim h = 0; h < (heads ? shape[0] : 1); ++h)
      add(panel, std::span(values).subspan(static_cast<std::size_t>(h) * size, size), heads ? h : -1);
  }

  std::string text(const PageOptions& options) const {
    Strings first;
    for (const auto& [name, value] : options.chosen) first.push_back(fmt::format("[{},{}]", detail::json(name), detail::json(value)));
    return fmt::format("{{\"labels\":[{}],\"choices\":[{}],\"chosen\":[{}],\"panels\":[{}]}}", fmt::join(labels_, ",\n"),
                       fmt::join(choices_, ","), fmt::join(first, ","), fmt::join(panels_, ",\n"));
  }

 private:
  void add(const Panel& panel, std::span<const double> values, Dim head) {
    const Shape& shape = panel.values.shape();
    const Range range = range_of(values, panel.weights);
    auto choice = panel.choice;
    if (head >= 0) choice.emplace_back("head", fmt::format("{}", head));
    Strings chosen;
    for (const auto& [name, value] : choice) {
      index(choices_, detail::json(name));
      chosen.push_back(detail::json(name) + ':' + detail::json(value));
    }
    const std::string title = head < 0 ? panel.title : fmt::format("{}, head {}", panel.title, head);
    const std::string axes = panel.axes.empty() ? shape.str() : panel.axes + " = " + shape.str();
    panels_.push_back(fmt::format(
        "{{\"title\":{},\"formula\":{},\"axes\":{},\"size\":[{},{}],\"rows\":{},\"columns\":{},\"low\":{},\"high\":{},"
        "\"weights\":{},\"choice\":{{{}}},\"values\":\"{}\"}}",
        detail::json(title), detail::json(panel.formula), detail::json(axes), shape[-2], shape[-1], labels(panel.rows),
        labels(panel.columns), range.low, range.high, panel.weights, fmt::join(chosen, ","), packed(values, range, panel.weights)));
  }

  int labels(const Labels& tokens) {
    if (tokens.empty()) return -1;
    Strings shown;
    for (const std::string& token : tokens) shown.push_back(detail::json(detail::visible(token)));
    return index(labels_, fmt::format("[{}]", fmt::join(shown, ",")));
  }

  static int index(Strings& all, const std::string& one) {
    const auto found = std::ranges::find(all, one);
    const auto position = static_cast<int>(found - all.begin());
    if (found == all.end()) all.push_back(one);
    return position;
  }

  Strings labels_, choices_, panels_;
};

}  // namespace

std::string html(const std::vector<Panel>& panels, const PageOptions& options) {
  Data data;
  for (const Panel& panel : panels) data.add(panel);
  const std::string title = detail::markup(options.title);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
      "img-src data:\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>\n{}</style>\n"
      "</head>\n<body>\n<header>\n<h1>{}</h1>\n<p>{}</p>\n<form id=\"choices\" aria-label=\"What is shown\"></form>\n</header>\n"
      "<main id=\"panels\"><noscript><p>The pictures of this page are drawn by its script, which is switched off.</p></noscript></main>\n"
      "<p id=\"reading\" role=\"status\" aria-live=\"polite\">Point at a cell, or press Tab to reach a picture and walk through it with "
      "the "
      "arrow keys.</p>\n<script type=\"application/json\" id=\"data\">\n{}\n</script>\n<script>\n{}</script>\n</body>\n</html>\n",
      title, detail::viewer_style, title, detail::markup(options.lead), data.text(options), detail::viewer_script);
}

}  // namespace tapeform::pages
