#include <tapeform/pages/panel.hpp>
#include <tapeform/tapeform.hpp>

#include <cmath>

#include "catch.hpp"
#include "message.hpp"
#include "pages/common.hpp"

using namespace tapeform;
using namespace pages;

namespace {

/// The 16-bit codes of the page's first picture.
std::vector<int> codes(const std::string& page) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", key = "\"values\":\"";
  const std::size_t begin = page.find(key) + key.size();
  const std::string text = page.substr(begin, page.find('"', begin) - begin);
  std::vector<int> bytes, found;
  for (std::size_t i = 0; i + 3 < text.size(); i += 4) {
    int group = 0;
    for (std::size_t j = 0; j < 4; ++j) group = group * 64 + (text[i + j] == '=' ? 0 : static_cast<int>(digits.find(text[i + j])));
    for (const int shift : {16, 8, 0}) bytes.push_back(group >> shift & 255);
  }
  for (std::size_t i = 0; i < 3; ++i)
    if (text.ends_with(std::string(i, '='))) bytes.resize(text.size() / 4 * 3 - i);
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) found.push_back(bytes[i] | bytes[i + 1] << 8);
  return found;
}

double decoded(int code, double low, double high) { return low + (high - low) * code / 65'532; }

}  // namespace

TEST_CASE("pages: weights come back within half a step, and what is over 0 is not 0") {
  Rng rng(1);
  const Array weights = uniform({5, 7}, 0, 1, rng, DType::float64);
  const auto found = codes(html({{.title = "w", .values = weights, .weights = true}}));
  REQUIRE(found.size() == 35);
  const auto expected = weights.to_vector();
  for (std::size_t i = 0; i < 35; ++i) CHECK(std::abs(decoded(found[i], 0, 1) - expected[i]) <= 0.5000001 / 65'532);
  CHECK(codes(html({{.title = "w", .values = Array::of({1, 4}, {0, 1, 1e-30, NAN}), .weights = true}})) ==
        std::vector<int>{0, 65'532, 1, 65'535});
}

TEST_CASE("pages: other numbers lie around 0, which is exact, as NaN and the infinities are") {
  const std::string page = html({{.title = "s", .values = Array::of({1, 6}, {-2, 0, 1, INFINITY, -INFINITY, NAN})}});
  CHECK_THAT(page, Contains("\"low\":-2") && Contains("\"high\":2") && Contains("\"size\":[1,6]"));
  CHECK(codes(page) == std::vector<int>{0, 32'766, 49'149, 65'534, 65'533, 65'535});
  CHECK(codes(html({{.title = "0", .values = Array::zeros({1, 2})}})) == std::vector<int>{32'766, 32'766});
  CHECK(codes(html({{.title = "empty", .values = Array::zeros({0, 3})}})).empty());
}

TEST_CASE("pages: a page is one file that asks for nothing") {
  const std::string page = html({{.title = "t", .values = Array::ones({1, 1})}}, {.title = "Title", .lead = "Lead"});
  CHECK(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
  CHECK_THAT(page, Contains("default-src 'none'") && Contains("<title>Title</title>") && Contains("<p>Lead</p>"));
  CHECK(count(page, "http") == 2);  // http-equiv, and the name of SVG's namespace
  CHECK_THAT(page, Contains("'http://www.w3.org/2000/svg'") && !Contains("src=\"") && !Contains("<link") && !Contains("@import") &&
                       !Contains("url("));
}

TEST_CASE("pages: nothing that a token or a title holds gets out of its place") {
  const std::string evil = "</script><img src=x onerror=alert(1)>\"'&\n";
  const std::string page = html({{.title = evil,
                                  .formula = evil,
                                  .axes = evil,
                                  .values = Array::ones({1, 1}),
                                  .rows = {evil},
                                  .columns = {evil},
                                  .choice = {{evil, evil}}}},
                                {.title = evil, .lead = evil});
  CHECK(count(page, "<img") == 0);
  CHECK(count(page, "</script>") == 2);
  CHECK_THAT(page, Contains("<title>&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;\n</title>"));
  CHECK_THAT(page, Contains("[\"\\u003c/script\\u003e\\u003cimg␣src=x␣onerror=alert(1)\\u003e\\\"'\\u0026␊\"]"));
}

TEST_CASE("pages: lists of tokens stand once, heads are pictures of their own") {
  const std::vector<std::string> tokens{"one", "two"};
  const Panel panel{
      .title = "p", .axes = "[H, T, T]", .values = Array::zeros({3, 2, 2}), .rows = tokens, .columns = tokens, .choice = {{"layer", "1"}}};
  const std::string page = html({panel, panel});
  CHECK(count(page, "\"one\"") == 1);
  CHECK(count(page, "\"values\":") == 6);
  CHECK_THAT(page, Contains("\"choices\":[\"layer\",\"head\"]") && Contains("\"title\":\"p, head 2\"") &&
                       Contains("\"choice\":{\"layer\":\"1\",\"head\":\"2\"}") && Contains("\"axes\":\"[H, T, T] = [3, 2, 2]\""));
}

TEST_CASE("pages: values that are no matrix are refused") {
  CHECK(message<ShapeError>([] { html({{.title = "v", .values = Array::ones({3})}}); }) ==
        "page: values must be [R, C] or [H, R, C]; got [3] for 'v'");
  CHECK_THROWS_AS(html({{.title = "nothing", .values = Array()}}), ShapeError);
}
