#include "detail/replacement.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <tapeform/core/error.hpp>
#include <utility>

namespace tapeform::io::detail {
namespace {

constexpr int swept = 16;        // names beside a path that a save looks through for what others left
constexpr int most_names = 999;  // writers of one path at a time

std::string name_beside(const std::string& path, int number) { return fmt::format("{}.tapeform{}.part", path, number); }

/// Keeps errno.
bool exists(const std::string& name) {
  const int reason = errno;
  struct stat ignored = {};
  const bool found = ::lstat(name.c_str(), &ignored) == 0;
  errno = reason;
  return found;
}

struct Part {
  int file = -1;         // open and locked, or −1
  bool taken = false;    // by somebody else, or by something that is no file of ours
  bool lockable = true;  // false: the file system knows no locks
};

/// Opens and locks the file `name` unless somebody else holds it; a link, a pipe or a file with a second name is not ours to write to.
Part open_part(const std::string& name, int flags) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int file = ::open(name.c_str(), flags | O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0) return {.taken = exists(name)};
    const bool locked = ::flock(file, LOCK_EX | LOCK_NB) == 0;
    const int reason = locked ? 0 : errno;
    struct stat held = {}, named = {};
    const bool there = ::fstat(file, &held) == 0 && ::lstat(name.c_str(), &named) == 0;
    const bool same = there && held.st_dev == named.st_dev && held.st_ino == named.st_ino;
    const bool plain = S_ISREG(held.st_mode) && held.st_nlink == 1;
    if (locked && same && plain) return {file};
    ::close(file);
    if (!locked) return {.taken = reason == EWOULDBLOCK, .lockable = reason == EWOULDBLOCK};
    if (same) return {.taken = true};
    // Else its owner gave it its final name, or removed it, between our opening and our lock.
  }
  return {.taken = true};
}

}  // namespace

Replacement::Replacement(const char* op, const std::string& path) : op_(op), path_(path), target_(path) {
  std::error_code not_there;
  if (const auto followed = std::filesystem::canonical(path, not_there); !not_there) target_ = followed.string();
  struct stat old = {};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  in_place_ = replaces && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode);
  written_ = target_;
  file_ = in_place_ ? ::open(target_.c_str(), O_WRONLY | O_CLOEXEC) : open_beside();
  if (file_ < 0) fail(in_place_ ? "the file must be writable" : "the folder must be writable");
  if (replaces && !in_place_) (void)::fchmod(file_, old.st_mode & 07777);  // who may read the old file may read the new one
}

Replacement::~Replacement() {
  if (!in_place_) ::unlink(written_.c_str());
  if (file_ >= 0) ::close(file_);
}

int Replacement::open_beside() {
  for (int number = 0; number <= most_names; ++number) {
    written_ = name_beside(target_, number);
    const Part part = open_part(written_, O_CREAT);
    if (part.file >= 0) {
      if (::ftruncate(part.file, 0) == 0) return part.file;
      ::close(part.file);
      return -1;
    }
    if (!part.lockable) break;
    if (!part.taken) return -1;
  }
  // Without locks: a name that nothing else in the process, or in another, writes to.
  static std::atomic<std::uint64_t> count{0};
  written_ = fmt::format("{}.{}.{}.part", target_, ::getpid(), count.fetch_add(1));
  return ::open(written_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

void Replacement::write(Bytes bytes) {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("every byte must be written");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void Replacement::put_in_place() {
  if (::fsync(file_) != 0 && !in_place_) fail("every byte must reach the disk");
  if (!in_place_ && std::rename(written_.c_str(), target_.c_str()) != 0) fail("the new file must take the old one's place");
  const bool renamed = !std::exchange(in_place_, true);
  const int closed = ::close(std::exchange(file_, -1));  // not before the rename: the lock goes with it
  if (renamed) {
    sync_folder();
    remove_left_over();
  } else if (closed != 0) {
    fail("every byte must be written");
  }
}

void Replacement::remove_left_over() const {
  for (int number = 0; number < swept; ++number) {
    const std::string name = name_beside(target_, number);
    const Part part = open_part(name, 0);
    if (part.file < 0) continue;
    ::unlink(name.c_str());
    ::close(part.file);
  }
}

/// The rename itself reaches the disk with the folder. Some file systems refuse this; the file is whole all the same.
void Replacement::sync_folder() const {
  const std::filesystem::path folder = std::filesystem::path(target_).parent_path();
  const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  ::fsync(directory);
  ::close(directory);
}

void Replacement::fail(const char* rule) const {
  throw IoError(fmt::format("{}: {}; got \"{}\" for \"{}\"", op_, rule, std::strerror(errno), path_));
}

}  // namespace tapeform::io::detail
