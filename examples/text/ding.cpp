#include "text/ding.hpp"

#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <unordered_set>
#include <utility>
#include <vector>

#include "common/command_line.hpp"
#include "common/utf8_text.hpp"

namespace examples::text {
namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + at.size());
  }
}

/// The first variant of a part, without what stands in brackets; unbalanced brackets stay.
std::string first_variant(std::string_view part) {
  constexpr std::string_view opening = "{[(<", closing = "}])>";
  std::string text, open;
  for (const char c : part) {
    if (const std::size_t kind = opening.find(c); kind != std::string_view::npos) {
      open += closing[kind];
    } else if (!open.empty()) {
      if (c == open.back()) open.pop_back();
    } else if (c == ';') {
      break;
    } else {
      text += c;
    }
  }
  return open.empty() ? text : text + '(';  // a mark that no sentence may hold
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, " "))
    if (!word.empty()) words.push_back(word);
  return words;
}

/// Words with one space between them, none before a stop or comma that a note stood before; abbreviations like /SCNR/ are left out.
std::string joined(std::string_view text) {
  std::string line;
  for (const std::string_view word : words_of(text)) {
    if (word.size() > 2 && word.front() == '/' && word.back() == '/') continue;
    if (!line.empty() && word.find_first_not_of(".,!?:") != std::string_view::npos) line += ' ';
    line += word;
  }
  return line;
}

bool is_capital(char32_t c) { return (c >= U'A' && c <= U'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7); }
bool is_quote(char32_t c) {
  return c == U'"' || c == U'„' || c == U'“' || c == U'”' || c == U'‘' || c == U'’' || c == U'‚' || c == U'»' || c == U'«';
}

bool is_sentence(std::string_view line) {
  const std::u32string text = utf8::utf8to32(line);
  const auto first = std::ranges::find_if_not(text, is_quote);
  const auto last = std::find_if_not(text.rbegin(), text.rend(), is_quote);
  return first != text.end() && is_capital(*first) && (*last == U'.' || *last == U'!' || *last == U'?') && words_of(line).size() >= 3;
}

/// A choice, a gap or a placeholder: no text that anyone would say.
bool is_open(std::string_view line) {
  if (line.find_first_of("/|{}[]()<>_=~;") != std::string_view::npos || line.find("…") != std::string_view::npos ||
      line.find("...") != std::string_view::npos)
    return true;
  constexpr std::array<std::string_view, 8> placeholders{"jd.", "jdm.", "jdn.", "jds.", "etw.", "sb.", "sth.", "swh."};
  return std::ranges::any_of(words_of(line), [&](std::string_view word) {
    return std::ranges::any_of(placeholders, [&](std::string_view placeholder) { return word.starts_with(placeholder); });
  });
}

/// Takes in what one entry has.
class Reader {
 public:
  void entry(std::string_view line) {
    const auto sides = split(line, "::");
    if (sides.size() != 2) return void(++found_.report.uneven);
    const auto german = split(sides[0], "|"), english = split(sides[1], "|");
    if (german.size() != english.size()) return void(++found_.report.uneven);
    for (std::size_t i = 0; i < german.size(); ++i) part(joined(first_variant(german[i])), joined(first_variant(english[i])));
  }
  DingText take() { return std::move(found_); }

 private:
  void part(std::string german, std::string english) {
    DingReport& report = found_.report;
    ++report.parts;
    if (!is_sentence(german) || !is_sentence(english)) return void(++report.no_sentence);
    if (is_open(german) || is_open(english)) return void(++report.open);
    if (german_.contains(german) || english_.contains(english)) return void(++report.repeated);
    german_.insert(german);
    english_.insert(english);
    found_.text.add(std::move(german), std::move(english));
  }

  DingText found_;
  std::unordered_set<std::string> german_, english_;
};

}  // namespace

std::string DingReport::str() const {
  return fmt::format(
      "{} parts of entries read, {} sentences kept; left out: {} words and phrases, {} with choices or gaps, {} repeated; {} uneven "
      "entries",
      parts, kept(), no_sentence, open, repeated, uneven);
}

DingText parse_ding(std::string_view bytes, const std::string& source) {
  Reader reader;
  for (const std::string& line : split_lines(bytes, source))
    if (const std::string tidy = tidy_line(line); !tidy.empty() && tidy.front() != '#') reader.entry(tidy);
  DingText found = reader.take();
  if (found.text.size() == 0) throw UsageError{fmt::format("{}: there are no sentences in it: {}", source, found.report.str())};
  return found;
}

DingText read_ding(const std::string& path) {
  if (!std::filesystem::exists(path))
    throw UsageError{
        fmt::format("{}: there is no such file; Debian's package trans-de-en brings the dictionary as {}: apt-get install trans-de-en",
                    path, ding_path)};
  return parse_ding(read_file(path), path);
}

Part frozen_part(std::string_view sentence) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : sentence) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3;
  const std::uint64_t place = (hash ^ (hash >> 32)) % 32;  // the upper bits of FNV are the better ones
  return place == 0 ? Part::valid : place <= 2 ? Part::test : Part::train;
}

SplitText frozen_split(const ParallelText& text) {
  SplitText split;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const Part part = frozen_part(text.source[i]);
    (part == Part::train ? split.train : part == Part::valid ? split.valid : split.test).add(text.source[i], text.target[i]);
  }
  return split;
}

}  // namespace examples::text
