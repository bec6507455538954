#pragma once
#include <unistd.h>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

/// What tests of files share.

/// A path of this process in the folder for passing files; whatever stands there at the end of the test is removed.
struct TemporaryFile {
  std::string path;
  explicit TemporaryFile(const std::string& name)
      : path((std::filesystem::temp_directory_path() / ("tapeform_" + std::to_string(::getpid()) + "_" + name)).string()) {
    std::filesystem::remove_all(path);
  }
  ~TemporaryFile() { std::filesystem::remove_all(path); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
};

/// An empty folder of this test's own, gone at its end.
struct TemporaryFolder : TemporaryFile {
  explicit TemporaryFolder(const std::string& name) : TemporaryFile(name) { std::filesystem::create_directories(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::ptrdiff_t files() const { return std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()); }
};

inline void write_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::string little_endian(std::uint64_t n) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(n >> (8 * i));
  return bytes;
}
