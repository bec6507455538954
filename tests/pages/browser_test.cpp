#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <sstream>
#include <tapeform/pages/attention.hpp>
#include <tapeform/pages/explain.hpp>
#include <tapeform/tapeform.hpp>

#include "catch.hpp"
#include "detail/text.hpp"
#include "pages/common.hpp"

using namespace tapeform;

namespace {

std::string output_of(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe)) text.append(part.data(), n);
  pclose(pipe);
  return text;
}

/// The command of a Chromium; empty, with a line that says so, when there is none.
std::string browser() {
  const char* const given = std::getenv("TAPEFORM_CHROMIUM");
  std::string found = given ? given
                            : output_of(
                                  "command -v chromium || command -v chromium-browser || command -v google-chrome || "
                                  "command -v google-chrome-stable || true");
  while (found.ends_with('\n')) found.pop_back();
  if (found.empty()) {
    std::puts("skipped: Chromium is not installed, so no page was driven in it (apt-get install chromium, or TAPEFORM_CHROMIUM=PROGRAM)");
    SUCCEED("no Chromium");
  }
  return found;
}

/// A folder that goes with the test.
struct Scratch {
  std::filesystem::path path;
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "tapeform-pages-XXXXXX";
    REQUIRE(mkdtemp(name.data()));
    path = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

/// The page's elements after its scripts have run, in a window of this width.
std::string shown(const std::string& chromium, const std::string& page, int width) {
  const Scratch scratch;
  std::ofstream(scratch.path / "page.html") << page;
  return output_of(
      fmt::format("cd {0} && HOME={0} timeout 90 {1} --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
                  "--user-data-dir={0}/profile --window-size={2},900 --virtual-time-budget=20000 --dump-dom file://{0}/page.html "
                  "2>/dev/null </dev/null",
                  scratch.path.string(), chromium, width));
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.rfind(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

/// The page with a script that collects errors before its own runs, and one that comes after.
std::string driven(const std::string& page, const std::string& script) {
  const std::string collector =
      "<body>\n<script>const troubles = []; addEventListener('error', event => troubles.push(event.message));\n"
      "addEventListener('securitypolicyviolation', event => troubles.push(event.violatedDirective));</script>\n";
  return replaced(replaced(page, "<body>\n", collector), "</body>", "<script>\n" + script + "</script>\n</body>");
}

std::string log_of(const std::string& dom) {
  const std::string open = "<pre id=\"log\">";
  const std::size_t begin = dom.find(open);
  if (begin == std::string::npos) return "FAILED: no log in\n" + dom.substr(0, 2000);
  return dom.substr(begin + open.size(), dom.find("</pre>", begin) - begin - open.size());
}

}  // namespace

TEST_CASE("browser: a page of attention is used by pointer, keyboard and lists, at two widths", "[slow]") {
  const std::string chromium = browser();
  if (chromium.empty()) return;
  const int width = GENERATE(1280, 500);
  const std::vector<pages::SentenceTokens> sentences{
      {{"<b>das</b>", "▁groß", "ü&\"'", "␊\n"}, {"<s>", "the\u202e", "long, long token of a text"}}, {{"ja", "!"}, {"<s>", "yes"}}};
  const nn::Seq2Seq model = translator();
  const nn::AttentionRecorder recorder(model);
  model(two_sources, two_lens, two_targets);
  const auto maps = attention_maps(recorder, sentences);
  const Array& weights = maps[5].weights;        // cross-attention of layer 1 in sentence 0
  const auto value = [&weights](Dim i, Dim j) {  // as the page keeps it
    return fmt::format("{:.4f}", static_cast<double>(std::lround(weights.at({0, i, j}) * 65'532)) / 65'532);
  };
  const auto text = [&](Dim i, Dim j) {
    return fmt::format("cross-attention, layer 1, head 0: {} → {}: {}",
                       pages::detail::visible(sentences[0].target[static_cast<std::size_t>(i)]),
                       pages::detail::visible(sentences[0].source[static_cast<std::size_t>(j)]), value(i, j));
  };
  using pages::detail::json;
  const std::string picture = svg(maps, {.choice = {.kind = nn::AttentionKind::cross}});
  const std::string expected = fmt::format(
      "const expected = {{title: {}, tokens: {}, pointed: {}, first: {}, last: {}, value: {}, rows: 3, columns: 4, svg: {}, cells: {}}};\n",
      json("<i>Title</i> & more"), json("<s>|the⟨U+202E⟩|long,␣long␣toke…|<b>das</b>|▁groß|ü&\"'|␊␊"), json(text(1, 2)), json(text(0, 0)),
      json(text(2, 3)), json(value(1, 2)), json(picture), 2 * 2 * (3 * 4 + 2 * 2));
  std::ifstream file(TAPEFORM_TESTS_DIR "/pages/drive.js");
  std::stringstream script;
  script << file.rdbuf();
  REQUIRE_FALSE(script.str().empty());
  const std::string page = html(maps, {.title = "<i>Title</i> & more", .lead = "Lead"});
  const std::string log = log_of(shown(chromium, driven(page, expected + script.str()), width));
  INFO(log);
  CHECK(count(log, "FAILED") == 0);
  CHECK(count(log, "\nok ") == 38);
  CHECK_THAT(log, Contains(fmt::format("width {}", width)));
}

TEST_CASE("browser: a page that explains a model shows every step, one head of each", "[slow]") {
  const std::string chromium = browser();
  if (chromium.empty()) return;
  const std::string page = pages::explain(translator(), Ids{1, 2, 3}, Ids{0, 4}, {.queries = {"<s>", "ß"}, .keys = {"a", "b", "c"}});
  const std::string log = log_of(shown(chromium, driven(page, R"js(
    const titles = () => [...document.querySelectorAll('figcaption strong')].map(one => one.textContent);
    const log = [`first ${titles().join(', ')}`];
    const part = document.querySelector('select[data-choice=part]');
    part.value = 'decoder layer 1';
    part.dispatchEvent(new Event('change', {bubbles: true}));
    log.push(`then ${titles().join(', ')}`, `shapes ${document.querySelectorAll('figcaption span').length}`, `troubles ${troubles}.`);
    log.push(`wide ${document.documentElement.scrollWidth <= innerWidth}`);
    const pre = document.createElement('pre');
    pre.id = 'log';
    pre.textContent = log.join('\n');
    document.body.prepend(pre);
  )js"),
                                       1280));
  INFO(log);
  CHECK_THAT(
      log,
      Contains("first encoder embeddings, encoder positions, encoder in, encoder out, decoder embeddings, decoder positions, decoder in, "
               "decoder out, logits\n"));
  CHECK_THAT(log, Contains("then block in, memory, self-attention: queries, keys and values, self-attention: projected queries") &&
                      Contains("attention to the memory: weights, head 0, attention to the memory: output of a head, head 0") &&
                      Contains("feed-forward in, feed-forward, first map, feed-forward out, block out"));
  CHECK_THAT(log, Contains("troubles .") && Contains("wide true"));
}

TEST_CASE("browser: one token by one, tokens that would break out, nothing at all", "[slow]") {
  const std::string chromium = browser();
  if (chromium.empty()) return;
  const std::string evil = "</script><!--<svg onload=alert(1)>&amp;\"'`${1}\\";
  const std::vector<std::string> tokens{evil, "שלום", "\u0301", "\xFF\u2029", "", "\u202eabc", std::string(300, 'w'), "日本語"};
  std::vector<pages::AttentionMap> maps;
  for (const std::string& token : tokens)
    maps.push_back(
        {.name = token, .layer = static_cast<Dim>(maps.size()), .weights = Array::ones({1, 1, 1}), .queries = {token}, .keys = {token}});
  const std::string script = R"js(
    const log = [];
    for (const option of [...document.querySelectorAll('select[data-choice=layer] option')].slice(1)) {
      const select = document.querySelector('select[data-choice=layer]');
      select.value = option.value;
      select.dispatchEvent(new Event('change', {bubbles: true}));
      const figures = document.querySelectorAll('figure'), svg = figures[0].querySelector('svg');
      svg.focus();
      for (const key of ['ArrowDown', 'ArrowRight', 'End', 'PageDown', 'Home'])
        svg.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
      log.push(`${figures.length}: ${document.getElementById('reading').textContent}`);
    }
    log.push(`${document.querySelectorAll('main script, main *[onload], figure figure').length} of tokens, troubles ${troubles}.`);
    log.push(`wide ${document.documentElement.scrollWidth <= innerWidth}`);
    const pre = document.createElement('pre');
    pre.id = 'log';
    pre.textContent = log.join('\n');
    document.body.prepend(pre);
  )js";
  const std::string log = log_of(shown(chromium, driven(html(maps, {.title = evil, .lead = evil}), script), 500));
  INFO(log);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string token = pages::detail::markup(pages::detail::isolated(pages::detail::visible(tokens[i])));
    CHECK_THAT(log, Contains(fmt::format("1: attention, layer {}, head 0: ", i)));
    if (token.find("&quot;") == std::string::npos) CHECK_THAT(log, Contains(fmt::format("{0} → {0}: 1\n", token)));
  }
  CHECK_THAT(log, Contains("0 of tokens, troubles .") && Contains("wide true"));
  const std::string nothing = log_of(shown(chromium, driven(pages::html(std::vector<pages::Panel>{}), R"js(
    const pre = document.createElement('pre');
    pre.id = 'log';
    pre.textContent = `figures ${document.querySelectorAll('figure').length}, troubles ${troubles}.`;
    document.body.prepend(pre);
  )js"),
                                           500));
  CHECK(nothing == "figures 0, troubles .");
}

TEST_CASE("browser: a page begins with what its maker chose, several measures side by side, unless its address chooses", "[slow]") {
  const std::string chromium = browser();
  if (chromium.empty()) return;
  const auto map = [](Dim layer, pages::AttentionMeasure measure) {
    const bool heads = measure == pages::AttentionMeasure::weights || measure == pages::AttentionMeasure::gradient;
    return pages::AttentionMap{.kind = nn::AttentionKind::cross,
                               .layer = layer,
                               .weights = Array::full({heads ? 2 : 1, 1, 2}, 0.5),
                               .queries = {"q"},
                               .keys = {"k", "l"},
                               .measure = measure};
  };
  using enum pages::AttentionMeasure;
  const std::vector<pages::AttentionMap> maps{map(0, weights),  map(1, weights), map(0, gradient),
                                              map(1, gradient), map(0, rollout), map(0, switched_off)};
  const std::string page = html(maps, {.chosen = {{"shown", "all"}, {"layer", "0"}, {"head", "1"}}});
  const std::string log = log_of(shown(chromium, driven(page, R"js(
    const titles = () => [...document.querySelectorAll('figcaption strong')].map(one => one.textContent).join('; ');
    const log = [`first ${titles()}`];
    location.hash = '#shown=gradient × attention&layer=1&head=0';
    setTimeout(() => {
      const pre = document.createElement('pre');
      pre.id = 'log';
      pre.textContent = [...log, `then ${titles()}`, `troubles ${troubles}.`].join('\n');
      document.body.prepend(pre);
    }, 60);
  )js"),
                                       1280));
  CHECK(log ==
        "first cross-attention, layer 0, head 1; gradient × attention: cross-attention, layer 0, head 1; rollout: cross-attention; "
        "head switched off: cross-attention\nthen gradient × attention: cross-attention, layer 1, head 0\ntroubles .");
}

TEST_CASE("browser: six layers of eight heads for 40 by 40 tokens are a page of less than 1 MB, and it is drawn", "[slow]") {
  Rng rng(1);
  std::vector<std::string> tokens;
  for (int i = 0; i < 40; ++i) tokens.push_back(fmt::format("▁token{}", i));
  std::vector<pages::AttentionMap> maps;
  for (const auto kind : {nn::AttentionKind::encoder_self, nn::AttentionKind::decoder_self, nn::AttentionKind::cross})
    for (Dim layer = 0; layer < 6; ++layer)
      maps.push_back({.name = "transformer.decoder.layers.0.multihead_attn",
                      .kind = kind,
                      .layer = layer,
                      .weights = softmax(normal({8, 40, 40}, 0.0, 1.0, rng)).value(),
                      .queries = tokens,
                      .keys = tokens});
  const std::string page = html(maps);
  CHECK(page.size() <= 1'000'000);
  const std::string chromium = browser();
  if (chromium.empty()) return;
  const std::string log = log_of(shown(chromium, driven(page, R"js(
    const pre = document.createElement('pre');
    pre.id = 'log';
    pre.textContent = `figures ${document.querySelectorAll('figure').length}, troubles ${troubles}.`;
    document.body.prepend(pre);
  )js"),
                                       1280));
  CHECK(log == "figures 8, troubles .");
}
