#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "detail/plain_file.hpp"
#include "detail/replacement.hpp"

namespace tapeform::io::detail {

/// Reads zip archives (PKWARE's APPNOTE.TXT), stored and deflated, with sizes over 32 bits. A member is read when it is asked for.
class ZipReader {
 public:
  struct Member {
    std::string name;
    bool deflated = false;
    std::uint32_t checksum = 0;
    std::uint64_t packed = 0, size = 0, begin = 0;  // bytes in the file, bytes of the member, where its local header is
  };

  /// Checks everything that the directory claims against the file's size. @throws IoError, as all of it.
  explicit ZipReader(const Where& where);
  const std::vector<Member>& members() const noexcept { return members_; }
  std::vector<std::byte> read(const Member& member) const;

 private:
  struct Directory {
    std::uint64_t members = 0, begin = 0, bytes = 0;
  };
  Directory find_directory() const;
  void read_directory(const Directory& directory);
  std::vector<std::byte> bytes(std::uint64_t from, std::uint64_t n) const;

  Where where_;
  PlainFile file_;
  std::vector<Member> members_;
};

/// Writes a zip archive, every size in 64 bits.
class ZipWriter {
 public:
  ZipWriter(Replacement& to, bool compressed) : to_(to), compressed_(compressed) {}
  /// A member made of pieces that follow each other. @throws IoError
  void add(const std::string& name, const std::vector<Bytes>& pieces);
  void finish();

 private:
  void write(const std::string& bytes);

  Replacement& to_;
  bool compressed_;
  std::uint64_t at_ = 0, members_ = 0;
  std::string directory_;
};

}  // namespace tapeform::io::detail
