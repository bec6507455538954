#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace tapeform::io::detail {

using Bytes = std::span<const std::byte>;

/// A file that is written beside `path` (or what a link leads to) and takes its place at the end; gone again when anything fails before.
/// A device or a pipe has no place to take: it is written to.
///
/// The file beside has one name for all times, `<path>.tapeform0.part` (another number while that one is being written), and belongs to
/// whoever holds its lock. So what a stopped program leaves behind is found, and used again or removed, by the next one.
class Replacement {
 public:
  /// `op` begins the text of every error. @throws IoError, as all of it.
  Replacement(const char* op, const std::string& path);
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void write(Bytes bytes);
  void put_in_place();

 private:
  int open_beside();
  void remove_left_over() const;
  void sync_folder() const;
  [[noreturn]] void fail(const char* rule) const;

  const char* op_;
  std::string path_, target_, written_;
  int file_ = -1;
  bool in_place_ = false;
};

}  // namespace tapeform::io::detail
