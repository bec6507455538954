#include "text/parallel.hpp"

#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "common/command_line.hpp"
#include "common/utf8_text.hpp"
#include "text/tokenizers.hpp"

namespace examples::text {
namespace {

// Direction marks and isolates, zero-width characters, soft hyphen.
constexpr bool is_invisible(char32_t c) {
  return c == 0xAD || c == 0x061C || (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x2069) ||
         c == 0xFEFF;
}

std::int64_t characters(std::string_view line) { return utf8::distance(line.begin(), line.end()); }

/// Why a pair is left out; nothing when it is kept.
std::int64_t DropReport::*reason_to_drop(std::string_view source, std::string_view target, const CleaningOptions& options) {
  if (options.drop_empty && (source.empty() || target.empty())) return &DropReport::empty;
  const auto [shorter, longer] = std::minmax({characters(source), characters(target)});
  if (options.max_characters > 0 && longer > options.max_characters) return &DropReport::too_long;
  constexpr std::int64_t fair = 10;  // "Ja." may well be "Yes, of course."
  if (options.max_ratio > 0 && static_cast<double>(longer) > options.max_ratio * static_cast<double>(std::max(shorter, fair)))
    return &DropReport::ratio;
  return nullptr;
}

std::string numbered(std::int64_t count, const char* word) { return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s"); }

void check_some_left(const CleanText& clean, const std::string& where) {
  if (clean.text.size() == 0) throw UsageError{fmt::format("{}: no pair of sentences is left: {}", where, clean.report.str())};
}

}  // namespace

std::string DropReport::str() const {
  return fmt::format("{} read, {} kept; dropped: {} empty, {} too long, {} of unlike lengths", numbered(read, "pair"), kept(), empty,
                     too_long, ratio);
}

std::string tidy_line(std::string_view line) {
  std::u32string text = utf8::utf8to32(line);
  std::ranges::replace(text, U'\0', U' ');
  if (std::ranges::all_of(text, [](char32_t c) { return is_space(c) || is_invisible(c); })) return {};
  const auto seen = [](char32_t c) { return !is_space(c); };
  const auto first = std::ranges::find_if(text, seen);
  const auto last = std::find_if(text.rbegin(), text.rend(), seen).base();
  return encode_utf8(std::u32string_view(first, last));
}

std::vector<std::string> split_lines(std::string_view bytes, const std::string& source) {
  check_utf8(bytes, source);
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    lines.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return lines;
}

CleanText clean(const ParallelText& text, const CleaningOptions& options) {
  if (text.source.size() != text.target.size())
    throw UsageError{fmt::format("parallel text: each sentence has one translation; got {} sentences, {} translations", text.source.size(),
                                 text.target.size())};
  CleanText clean;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string source = tidy_line(text.source[i]), target = tidy_line(text.target[i]);
    ++clean.report.read;
    if (const auto reason = reason_to_drop(source, target, options))
      ++(clean.report.*reason);
    else
      clean.text.add(std::move(source), std::move(target));
  }
  return clean;
}

CleanText read_parallel(const std::string& source_path, const std::string& target_path, const CleaningOptions& options) {
  const ParallelText raw{split_lines(read_file(source_path), source_path), split_lines(read_file(target_path), target_path)};
  if (raw.source.size() != raw.target.size())
    throw UsageError{fmt::format("{} has {}, {} has {}: line n of one is the translation of line n of the other", source_path,
                                 numbered(static_cast<std::int64_t>(raw.source.size()), "line"), target_path,
                                 numbered(static_cast<std::int64_t>(raw.target.size()), "line"))};
  CleanText result = clean(raw, options);
  check_some_left(result, fmt::format("{} and {}", source_path, target_path));
  return result;
}

CleanText read_tsv(const std::string& path, const CleaningOptions& options) {
  ParallelText raw;
  std::size_t number = 0;
  for (const std::string& line : split_lines(read_file(path), path)) {
    ++number;
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos && !tidy_line(line).empty())
      throw UsageError{fmt::format("{}: line {} has no tab between a sentence and its translation", path, number)};
    if (tab == std::string::npos)
      raw.add({}, {});
    else
      raw.add(line.substr(0, tab), line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1));
  }
  CleanText result = clean(raw, options);
  check_some_left(result, path);
  return result;
}

std::string Overlap::str() const {
  if (pairs + sources + targets == 0) return fmt::format("none of {} pairs stands in the training text", of);
  std::string lines;
  for (const std::int64_t position : first) lines += fmt::format("{}{}", lines.empty() ? "line " : ", ", position + 1);
  if (pairs > static_cast<std::int64_t>(first.size())) lines += ", …";
  return fmt::format("{} of {} pairs stand in the training text{}; {} of their sources, {} of their targets", pairs, of,
                     lines.empty() ? lines : " (" + lines + ")", sources, targets);
}

Overlap overlap(const ParallelText& train, const ParallelText& test) {
  const auto joined = [](const std::string& source, const std::string& target) { return source + '\n' + target; };
  std::unordered_set<std::string> pairs, sources(train.source.begin(), train.source.end()),
      targets(train.target.begin(), train.target.end());
  for (std::size_t i = 0; i < train.size(); ++i) pairs.insert(joined(train.source[i], train.target[i]));
  Overlap found{.of = static_cast<std::int64_t>(test.size())};
  constexpr std::size_t shown = 5;
  for (std::size_t i = 0; i < test.size(); ++i) {
    found.sources += sources.contains(test.source[i]);
    found.targets += targets.contains(test.target[i]);
    if (!pairs.contains(joined(test.source[i], test.target[i]))) continue;
    ++found.pairs;
    if (found.first.size() < shown) found.first.push_back(static_cast<std::int64_t>(i));
  }
  return found;
}

}  // namespace examples::text
