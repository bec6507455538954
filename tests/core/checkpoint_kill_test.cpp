#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/checkpoint.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "core/files.hpp"

using namespace tapeform;
namespace fs = std::filesystem;

namespace {

/// Numbers that are all the same, and must be.
struct State {
  Array a, b;
  std::int64_t number = 0;
  explicit State(std::int64_t n, Dim size)
      : a(Array::full({size}, static_cast<double>(n))), b(Array::full({7}, static_cast<double>(n))), number(n) {}
  void state(StateFields& field) {
    field("a", a);
    field("number", number);
    field("b", b);
  }
};

/// The number of the state that `path` holds, whole; −1 when its parts disagree.
std::int64_t loaded(const std::string& path, Dim size) {
  State state(0, size);
  io::load_checkpoint(path, state);
  const State same(state.number, size);
  return same_bits(state.a, same.a) && same_bits(state.b, same.b) ? state.number : -1;
}

/// Starts f in a child; the child ends with f's result.
pid_t child_of(const std::function<int()>& f) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(60);
  int status = 99;
  try {
    status = f();
  } catch (...) {
  }
  ::_exit(status);
}

int exit_status(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void kill_and_wait(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

/// Kills a save of `state` where it enters or leaves its system call number `stop`. False when the save has ended before.
bool killed_at_call(int stop, const std::string& path, const State& state) {
  const pid_t child = child_of([&] {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 98;
    ::raise(SIGSTOP);
    io::save_checkpoint(path, state);
    return 0;
  });
  int status = 0;
  for (int seen = -1; ::waitpid(child, &status, 0) == child && WIFSTOPPED(status); ++seen) {
    if (seen == stop) {
      kill_and_wait(child);
      return true;
    }
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  }
  return false;
}

bool may_trace() {
  const pid_t child = child_of([] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 98; });
  return exit_status(child) == 0;
}

}  // namespace

TEST_CASE("checkpoint: kill -9 before and after every system call of a save leaves a file that loads", "[fork][ptrace]") {
  if (!may_trace()) return;
  const TemporaryFolder folder("killed_calls");
  const std::string path = folder / "run";
  constexpr Dim size = 1000;
  io::save_checkpoint(path, State(1, size));
  std::int64_t last = 1;
  int kills = 0, replaced = 0;
  for (int stop = 0; killed_at_call(stop, path, State(last + 1, size)); ++stop) {
    ++kills;
    const std::int64_t now = loaded(path, size);
    if (now != last && now != last + 1) FAIL("after stop " << stop << ": " << now << " where " << last << " or the next was due");
    if (folder.files() > 2) FAIL("after stop " << stop << ": " << folder.files() << " files");
    replaced += now == last + 1;
    last = now;
  }
  CHECK(kills >= 20);
  CHECK(replaced >= 1);                   // some came after the rename
  CHECK(loaded(path, size) == last + 1);  // the last save ran to its end
  CHECK(folder.files() == 1);             // and left nothing of those before it
}

TEST_CASE("CK-14: checkpoint write not atomic", "[case][fork]") {
  const TemporaryFolder folder("killed_anywhere");
  const std::string path = folder / "run";
  constexpr Dim size = 300'000;
  const auto start = std::chrono::steady_clock::now();
  io::save_checkpoint(path, State(1, size));
  const auto save = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
  Rng moments(14);
  std::int64_t last = 1;
  int in_the_middle = 0;
  for (int kill = 0; kill < 100; ++kill) {
    int begun[2];
    REQUIRE(::pipe(begun) == 0);
    const pid_t child = child_of([&] {
      if (::write(begun[1], "", 1) != 1) return 97;
      for (std::int64_t n = last + 1;; ++n) io::save_checkpoint(path, State(n, size));
      return 0;
    });
    ::close(begun[1]);  // else a child that never begins would be waited for
    char byte = 0;
    REQUIRE(::read(begun[0], &byte, 1) == 1);
    ::close(begun[0]);
    ::usleep(static_cast<unsigned>(moments.below(3 * save + 1000)));
    kill_and_wait(child);
    const std::int64_t now = loaded(path, size);
    if (now < last) FAIL("kill " << kill << ": " << now << " after " << last);
    last = now;
    in_the_middle += folder.files() == 2;
    if (folder.files() > 2) FAIL("kill " << kill << ": " << folder.files() << " files");
  }
  CHECK(last > 1);
  CHECK(in_the_middle > 0);
  io::save_checkpoint(path, State(5, size));
  CHECK(folder.files() == 1);
}

TEST_CASE("CK-14: a disk that is full is one error, and the old file stays", "[case][fork]") {
  const TemporaryFolder folder("full");
  const std::string path = folder / "run";
  io::save_checkpoint(path, State(1, 10));
  // A limit on the size of files is a disk that is full after so many bytes.
  for (const ::rlim_t room : {::rlim_t{0}, ::rlim_t{5}, ::rlim_t{100}, ::rlim_t{100'000}}) {
    const pid_t child = child_of([&] {
      ::signal(SIGXFSZ, SIG_IGN);
      const ::rlimit limit{room, room};
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 97;
      const std::string text = message<IoError>([&] { io::save_checkpoint(path, State(2, 50'000)); });
      return text == "save_checkpoint: every byte must be written; got \"File too large\" for \"" + path + "\"" ? 0 : 1;
    });
    CHECK(exit_status(child) == 0);
    CHECK(loaded(path, 10) == 1);
    CHECK(folder.files() == 1);
  }
  if (!fs::is_character_file("/dev/full")) return;
  fs::create_symlink("/dev/full", folder / "device");
  CHECK(message<IoError>([&] { io::save_checkpoint(folder / "device", State(1, 10)); }) ==
        "save_checkpoint: every byte must be written; got \"No space left on device\" for \"" + (folder / "device") + "\"");
}

TEST_CASE("checkpoint: a folder that is read-only is one error, and the old file stays", "[fork]") {
  const TemporaryFolder folder("read_only");
  const std::string path = folder / "run";
  io::save_checkpoint(path, State(1, 10));
  REQUIRE((::chmod(folder.path.c_str(), 0555) == 0 && ::chmod(path.c_str(), 0444) == 0));
  const pid_t child = child_of([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 0;  // permissions do not bind the superuser
    const std::string text = message<IoError>([&] { io::save_checkpoint(path, State(2, 10)); });
    return text == "save_checkpoint: the folder must be writable; got \"Permission denied\" for \"" + path + "\"" && loaded(path, 10) == 1
               ? 0
               : 1;
  });
  CHECK(exit_status(child) == 0);
  fs::permissions(folder.path, fs::perms::owner_all);
  CHECK(loaded(path, 10) == 1);
  CHECK(folder.files() == 1);
}

TEST_CASE("checkpoint: what somebody else put beside the file is neither used nor removed") {
  const TemporaryFolder folder("beside");
  const std::string path = folder / "run", victim = folder / "victim";
  write_bytes(victim, "precious");
  fs::create_symlink("victim", path + ".tapeform0.part");
  fs::create_hard_link(victim, path + ".tapeform1.part");
  fs::create_directory(path + ".tapeform2.part");
  REQUIRE(::mkfifo((path + ".tapeform3.part").c_str(), 0600) == 0);
  write_bytes(path + ".tapeform4.part", std::string(10'000, 'x'));  // longer than the file
  write_bytes(path + ".tapeform9.part", "left over");
  write_bytes(path + ".part", "a download of the user's");
  io::save_checkpoint(path, State(3, 10));
  CHECK(loaded(path, 10) == 3);
  CHECK(read_bytes(victim) == "precious");
  CHECK(folder.files() == 7);  // the file, the victim, four of somebody's, the download
}
