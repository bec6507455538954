#include "common/utf8_text.hpp"

#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <unistd.h>
#include <utf8.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "common/command_line.hpp"

namespace examples {

std::string read_file(const std::string& path, std::uint64_t most_bytes) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) throw UsageError{fmt::format("{}: is a folder, not a file", path)};
  constexpr std::uint64_t typed = std::uint64_t{1} << 24;  // more than anybody types at a terminal; other devices may never end
  if (std::filesystem::is_character_file(status)) most_bytes = std::min(most_bytes, typed);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError{fmt::format("{}: {}", path, std::strerror(errno))};
  std::string bytes;
  std::vector<char> part(std::size_t{1} << 16);  // a pipe does not tell its size
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())), file.gcount() > 0) {
    bytes.append(part.data(), static_cast<std::size_t>(file.gcount()));
    if (bytes.size() > most_bytes)
      throw UsageError{fmt::format("{}: holds more than the {} bytes that are read at most", path, most_bytes)};
  }
  if (file.bad()) throw UsageError{fmt::format("{}: cannot be read", path)};
  return bytes;
}

void check_writable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (path.empty()) throw UsageError{"a file to write needs a name; got none"};
  if (fs::is_directory(path, ignored)) throw UsageError{fmt::format("{}: is a folder, not a file", path)};
  const fs::path folder = fs::path(path).parent_path();
  const std::string place = folder.empty() ? "." : folder.string();
  if (::access(place.c_str(), W_OK) != 0) throw UsageError{fmt::format("{}: cannot be written: {}", path, std::strerror(errno))};
}

// Where the bytes go first: beside the file (or what a link leads to). A device or a pipe is written as it is, never replaced.
static std::pair<std::string, std::string> places(const std::string& path) {
  std::error_code failure;
  const std::filesystem::path followed = std::filesystem::canonical(path, failure);
  if (failure) return {path + ".partial", path};  // not there yet
  const bool special = std::filesystem::exists(followed) && !std::filesystem::is_regular_file(followed);
  return {followed.string() + (special ? "" : ".partial"), followed.string()};
}

void write_file(const std::string& path, std::string_view contents) {
  const auto [beside, target] = places(path);
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  std::error_code failure;
  if (file && beside != target) std::filesystem::rename(beside, target, failure);
  if (file && !failure) return;
  const std::string reason = failure ? failure.message() : std::strerror(errno);
  std::error_code ignored;
  if (beside != target) std::filesystem::remove(beside, ignored);
  throw tapeform::IoError(fmt::format("write: {} cannot be written; {}. Check the folder and the space left", path, reason));
}

void check_utf8(std::string_view bytes, const std::string& source) {
  const auto wrong = utf8::find_invalid(bytes.begin(), bytes.end());
  if (wrong == bytes.end()) return;
  const auto line = 1 + std::count(bytes.begin(), wrong, '\n');
  throw UsageError{fmt::format("{}: line {} is not valid UTF-8 (byte {:#04x} at offset {})", source, line,
                               static_cast<unsigned char>(*wrong), wrong - bytes.begin())};
}

std::u32string decode_utf8(std::string_view bytes, const std::string& source) {
  check_utf8(bytes, source);
  std::u32string text;
  utf8::utf8to32(bytes.begin(), bytes.end(), std::back_inserter(text));
  return text;
}

std::string encode_utf8(std::u32string_view text) {
  std::string bytes;
  utf8::utf32to8(text.begin(), text.end(), std::back_inserter(bytes));
  return bytes;
}

Alphabet::Alphabet(std::u32string_view text) : characters_(text) {
  std::ranges::sort(characters_);
  characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
}

std::vector<std::int64_t> Alphabet::encode(std::u32string_view text) const {
  std::vector<std::int64_t> ids;
  ids.reserve(text.size());
  for (const char32_t character : text) {
    const auto at = std::ranges::lower_bound(characters_, character);
    if (at == characters_.end() || *at != character)
      throw UsageError{fmt::format("the character '{}' (U+{:04X}) is not in the text that the model was trained on",
                                   encode_utf8(std::u32string_view(&character, 1)), static_cast<std::uint32_t>(character))};
    ids.push_back(at - characters_.begin());
  }
  return ids;
}

std::u32string Alphabet::decode(const std::vector<std::int64_t>& ids) const {
  std::u32string text;
  for (const std::int64_t id : ids) text += characters_.at(static_cast<std::size_t>(id));
  return text;
}

}  // namespace examples
