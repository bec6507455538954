#include "translate/translator.hpp"

#include <algorithm>
#include <numeric>

#include "text/parallel.hpp"

namespace examples::translate {

using namespace tapeform;

namespace {

using Line = std::vector<std::int64_t>;

/// Rows filled up with pad, each with eos at its end.
std::pair<Ids, Ids> source_batch(const std::vector<Line>& lines, std::span<const std::size_t> rows) {
  std::size_t longest = 0;
  for (const std::size_t row : rows) longest = std::max(longest, lines[row].size() + 1);
  std::vector<std::int64_t> ids, lens;
  for (const std::size_t row : rows) {
    const Line& line = lines[row];
    ids.insert(ids.end(), line.begin(), line.end());
    ids.push_back(text::eos_id);
    ids.resize(ids.size() + longest - line.size() - 1, text::pad_id);
    lens.push_back(static_cast<std::int64_t>(line.size()) + 1);
  }
  const auto count = static_cast<Dim>(rows.size());
  return {Ids(Shape{count, static_cast<Dim>(longest)}, ids), Ids(Shape{count}, lens)};
}

Translation finished(std::vector<std::int64_t> ids, double score, const text::Subwords& subwords) {
  const auto end = std::find(ids.begin(), ids.end(), text::eos_id);
  ids.erase(end, ids.end());
  return {.text = subwords.decode(ids), .ids = std::move(ids), .score = score};
}

/// The longest translation that is looked for: three times the source, and what the model has room for.
Dim room(const nn::Seq2Seq& model, Dim source) { return std::min(model.max_len(), 3 * source + 20); }

void translate_batch(const nn::Seq2Seq& model, const text::Subwords& target, const std::vector<Line>& lines,
                     std::span<const std::size_t> rows, const TranslateOptions& options, Translations& into) {
  const auto [src, lens] = source_batch(lines, rows);
  if (options.beam == 1) {
    const Ids made = nn::generate(model, src, lens,
                                  {.max_new_ids = room(model, src.dim(1)),
                                   .start_id = text::bos_id,
                                   .end_id = text::eos_id,
                                   .rules = {.banned = {text::pad_id, text::bos_id, text::unk_id}}});
    const auto width = static_cast<std::size_t>(made.dim(1));
    for (std::size_t b = 0; b < rows.size(); ++b) {
      const auto row = made.values().subspan(b * width, width);
      into.sentences[rows[b]].push_back(finished({row.begin(), row.end()}, 0, target));
    }
    return;
  }
  const auto found = nn::beam_search(model, src, lens,
                                     {.beam = options.beam,
                                      .n_best = std::min(options.beam, options.nbest),
                                      .max_new_ids = room(model, src.dim(1)),
                                      .start_id = text::bos_id,
                                      .end_id = text::eos_id,
                                      .length_penalty = options.length_penalty,
                                      .rules = {.banned = {text::pad_id, text::bos_id, text::unk_id}}});
  for (std::size_t b = 0; b < rows.size(); ++b)
    for (const nn::Hypothesis& hypothesis : found[b]) into.sentences[rows[b]].push_back(finished(hypothesis.ids, hypothesis.score, target));
}

}  // namespace

std::vector<std::int64_t> source_ids(const text::Vocabularies& vocabularies, const std::string& line, std::int64_t max_ids, bool* cut) {
  std::vector<std::int64_t> ids = vocabularies.source.encode(text::tidy_line(line));
  const bool too_long = static_cast<std::int64_t>(ids.size()) > max_ids;
  if (too_long) ids.resize(static_cast<std::size_t>(max_ids));
  if (cut) *cut = too_long;
  return ids;
}

Translations translate(const nn::Seq2Seq& model, const text::Vocabularies& vocabularies, std::span<const std::string> lines,
                       const TranslateOptions& options) {
  Translations translations{.sentences = std::vector<std::vector<Translation>>(lines.size()), .cut = {}};
  std::vector<Line> sources;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bool cut = false;
    sources.push_back(source_ids(vocabularies, lines[i], model.max_len() - 1, &cut));
    if (cut) translations.cut.push_back(i);
    if (sources.back().empty())
      translations.sentences[i].emplace_back();
    else
      order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sources[a].size() > sources[b].size(); });
  for (std::size_t first = 0; first < order.size();) {
    const auto ids = static_cast<std::int64_t>(sources[order[first]].size() + 1) * options.beam;
    const auto rows = static_cast<std::size_t>(std::max<std::int64_t>(1, options.batch_ids / ids));
    const std::size_t count = std::min(rows, order.size() - first);
    translate_batch(model, vocabularies.target, sources, std::span(order).subspan(first, count), options, translations);
    first += count;
  }
  return translations;
}

std::vector<std::string> best_texts(const Translations& translations) {
  std::vector<std::string> texts;
  for (const std::vector<Translation>& sentence : translations.sentences) texts.push_back(sentence.front().text);
  return texts;
}

}  // namespace examples::translate
