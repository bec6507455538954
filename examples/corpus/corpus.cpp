#include "corpus/corpus.hpp"

#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace examples::corpus {
namespace {

/// Calls `f` for what stands between spaces.
template <class F>
void for_each_word(std::string_view line, const F& f) {
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) f(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
}

}  // namespace

std::string Spread::str() const { return fmt::format("mean {:.1f}, median {}, 95 % up to {}, longest {}", mean, median, most, longest); }

Spread spread(std::vector<std::int64_t> lengths) {
  if (lengths.empty()) return {};
  std::ranges::sort(lengths);
  double sum = 0;
  for (const std::int64_t length : lengths) sum += static_cast<double>(length);
  const std::size_t n = lengths.size();
  return {.mean = sum / static_cast<double>(n),
          .median = lengths[(n - 1) / 2],
          .most = lengths[(n * 95 + 99) / 100 - 1],
          .longest = lengths.back()};
}

Side describe(const std::vector<std::string>& lines) {
  std::vector<std::int64_t> characters;
  std::unordered_set<std::string> kinds;
  Side side;
  for (const std::string& line : lines) {
    characters.push_back(utf8::distance(line.begin(), line.end()));
    for_each_word(line, [&side, &kinds](std::string_view word) {
      ++side.words;
      kinds.emplace(word);
    });
  }
  side.characters = spread(std::move(characters));
  side.kinds = static_cast<std::int64_t>(kinds.size());
  return side;
}

Spelling describe(const std::vector<std::string>& lines, const text::Subwords& subwords) {
  std::vector<std::int64_t> lengths;
  double ids = 0, bytes = 0;
  for (const std::string& line : lines) {
    const std::vector<std::int64_t> encoded = subwords.encode(line);
    lengths.push_back(static_cast<std::int64_t>(encoded.size()));
    ids += static_cast<double>(encoded.size());
    bytes += static_cast<double>(std::ranges::count_if(encoded, [&](std::int64_t id) { return subwords.is_byte(id); }));
  }
  const auto words = static_cast<double>(describe(lines).words);
  return {.ids = spread(std::move(lengths)), .ids_a_word = words > 0 ? ids / words : 0, .bytes_share = ids > 0 ? bytes / ids : 0};
}

}  // namespace examples::corpus
