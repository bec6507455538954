#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace examples {

/// The bytes of a file, a pipe or a terminal. @throws UsageError naming it when it cannot be read, is a folder, or holds more than
/// `most_bytes`, which of a pipe or a device may be without end.
std::string read_file(const std::string& path, std::uint64_t most_bytes = std::uint64_t{1} << 30);

/// Tells before a long run that a file cannot be written at its end. @throws UsageError naming it.
void check_writable(const std::string& path);

/// Writes a file whole: beside it first, then renamed into place; a device or a pipe is written to. @throws tapeform::IoError naming it.
void write_file(const std::string& path, std::string_view contents);

/// @throws UsageError naming the source, the line and the byte when the text is not valid UTF-8.
void check_utf8(std::string_view bytes, const std::string& source);

/// The code points of UTF-8 text; `source` names it in errors. @throws UsageError as check_utf8.
std::u32string decode_utf8(std::string_view bytes, const std::string& source);
std::string encode_utf8(std::u32string_view text);

/// The distinct characters of a text in order, and ids for them.
class Alphabet {
 public:
  explicit Alphabet(std::u32string_view text);
  const std::u32string& characters() const noexcept { return characters_; }
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(characters_.size()); }
  /// @throws UsageError naming the first character that the alphabet does not hold.
  std::vector<std::int64_t> encode(std::u32string_view text) const;
  std::u32string decode(const std::vector<std::int64_t>& ids) const;

 private:
  std::u32string characters_;
};

}  // namespace examples
