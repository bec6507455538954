#include "text/grammar/line.hpp"

#include <algorithm>

#include "text/grammar/german.hpp"

namespace examples::grammar {
namespace {

bool meet(const std::vector<int>& a, const std::vector<int>& b) {
  return std::ranges::any_of(a, [&b](int part) { return std::ranges::find(b, part) != b.end(); });
}

}  // namespace

void Line::add(const std::string& text, std::vector<int> sure, std::vector<int> possible) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('_', at), text.size());
    words.push_back({text.substr(at, end - at), sure, possible});
    at = end + 1;
  }
}

void Line::finish(const char* mark, int id) {
  add(mark, {part_of(id, Part::end)});
  std::vector<Word> kept;
  for (Word& word : words) {
    if (!kept.empty() && kept.back().text == "," && (word.text == "," || word.text == mark)) {
      if (word.text == ",") word.sure.insert(word.sure.end(), kept.back().sure.begin(), kept.back().sure.end());
      kept.pop_back();
    }
    kept.push_back(std::move(word));
  }
  words = std::move(kept);
  words.front().text = german::upper_first(words.front().text);
}

std::string Line::text() const {
  std::string joined;
  for (const Word& word : words) joined += (joined.empty() ? "" : " ") + word.text;
  return joined;
}

Links links(const Line& german, const Line& english) {
  Links found;
  for (std::size_t i = 0; i < german.words.size(); ++i)
    for (std::size_t j = 0; j < english.words.size(); ++j) {
      const Line::Word &de = german.words[i], &en = english.words[j];
      const std::pair<int, int> link(static_cast<int>(i), static_cast<int>(j));
      const bool sure = meet(de.sure, en.sure);
      if (sure) found.sure.push_back(link);
      if (sure || meet(de.sure, en.possible) || meet(de.possible, en.sure)) found.possible.push_back(link);
    }
  return found;
}

}  // namespace examples::grammar
