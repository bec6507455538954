#pragma once
#include <cstdint>
#include <string>
#include <utility>

namespace tapeform::io::detail {

/// Where an error is: a reader, a file, and a tensor or member of it once there is one.
struct Where {
  const char* op;
  const std::string& path;
  const char* kind = "tensor";
  const std::string* name = nullptr;

  /// @throws IoError `<op>: <rule>; got <got> in <kind> "<name>" of "<path>"`
  [[noreturn]] void fail(const std::string& rule, const std::string& got) const;
  Where at(const std::string* inside) const { return {op, path, kind, inside}; }
};

/// Reads all of `bytes` at a place of an open file. @throws IoError when the file has become shorter, or the disk fails.
void read_at(const Where& where, int file, void* to, std::uint64_t bytes, std::uint64_t from);

/// A regular file, open for reading; opening does not wait for somebody to write, as a pipe's would. Threads may read at the same time.
class PlainFile {
 public:
  PlainFile() = default;
  /// @throws IoError when the file is not there, or no regular one.
  explicit PlainFile(const Where& where);
  PlainFile(PlainFile&& other) noexcept : file_(std::exchange(other.file_, -1)), size_(other.size_) {}
  PlainFile& operator=(PlainFile&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PlainFile();

  /// Bytes, as it was opened.
  std::uint64_t size() const noexcept { return size_; }
  /// @throws IoError as read_at.
  void read(const Where& where, void* to, std::uint64_t bytes, std::uint64_t from) const { read_at(where, file_, to, bytes, from); }

  /// Gives the descriptor away, to an owner whose header does not show this class.
  int release() noexcept { return std::exchange(file_, -1); }

 private:
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace tapeform::io::detail
