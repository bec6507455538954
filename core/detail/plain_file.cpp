#include "detail/plain_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <tapeform/core/error.hpp>

#include "detail/quoted.hpp"

namespace tapeform::io::detail {

void Where::fail(const std::string& rule, const std::string& got) const {
  std::string at;
  if (name) at = fmt::format("{} {} of ", kind, quoted(*name));
  throw IoError(fmt::format("{}: {}; got {} in {}\"{}\"", op, rule, got, at, path));
}

PlainFile::PlainFile(const Where& where) {
  file_ = ::open(where.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file_ < 0) where.fail("the file must be readable", std::strerror(errno));
  struct stat status = {};
  if (::fstat(file_, &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  ::close(file_);
  where.fail("the file must be readable", S_ISDIR(status.st_mode) ? "a folder" : "a pipe or a device");
}

PlainFile::~PlainFile() {
  if (file_ >= 0) ::close(file_);
}

void read_at(const Where& where, int file, void* to, std::uint64_t bytes, std::uint64_t from) {
  auto* next = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ::ssize_t n = ::pread(file, next, bytes, static_cast<::off_t>(from));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) where.fail("the file must stay readable to its end", n < 0 ? std::strerror(errno) : "fewer bytes than before");
    next += n;
    bytes -= static_cast<std::uint64_t>(n);
    from += static_cast<std::uint64_t>(n);
  }
}

}  // namespace tapeform::io::detail
