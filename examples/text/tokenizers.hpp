#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace examples::text {

/// How a metric cuts a sentence into words.
enum class Tokenizer {
  v13a,       ///< NIST's mteval-v13a: ASCII punctuation and symbols apart, but full stops, commas and hyphens between digits
  intl,       ///< NIST's mteval-v14 --international-tokenization: the same by Unicode's classes of punctuation, symbols and numbers
  character,  ///< every character that is no space is a word
  none        ///< at white space alone
};

/// `13a`, `intl`, `char`, `none`: as sacreBLEU names them.
const char* name_of(Tokenizer tokenizer);
/// @throws tapeform::ValueError for a name that is none of these.
Tokenizer tokenizer_named(const std::string& name);

/// The words of a sentence. @throws UsageError where it is not UTF-8.
std::vector<std::string> words(std::string_view sentence, Tokenizer tokenizer);

/// White space of Unicode, with the separators U+001C … U+001F.
bool is_space(char32_t character) noexcept;
/// The parts between white space.
std::vector<std::u32string> split(std::u32string_view text);
std::u32string without_trailing_space(std::u32string text);

/// Full lower-casing by Unicode (SpecialCasing: final sigma, the dotted capital I), in no language in particular. @throws UsageError as
/// `words`.
std::string lower_case(std::string_view text);

/// Marks parted as Tercom's normalisation does: like 13a, and 's from its word.
std::string parted_for_ter(std::string_view sentence);

/// What counting takes words for: numbers in the order of their first sight.
class WordIds {
 public:
  WordIds();
  ~WordIds();
  WordIds(const WordIds&) = delete;
  WordIds& operator=(const WordIds&) = delete;
  std::vector<std::int64_t> of(const std::vector<std::string>& words);

 private:
  struct Table;
  Table* table_;
};

}  // namespace examples::text
