#include "translate/line_reader.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <tapeform/core/error.hpp>

namespace examples::translate {

bool LineReader::fill() {
  char bytes[1 << 16];
  ssize_t count = 0;
  do count = ::read(descriptor_, bytes, sizeof(bytes));
  while (count < 0 && errno == EINTR);
  if (count < 0) throw tapeform::IoError(fmt::format("standard input: {}", std::strerror(errno)));
  ended_ = count == 0;
  waiting_.append(bytes, static_cast<std::size_t>(count));
  return !ended_;
}

std::vector<std::string> LineReader::next(std::size_t most) {
  std::vector<std::string> lines;
  std::size_t taken = 0;
  while (lines.size() < most) {
    const std::size_t end = waiting_.find('\n', taken);
    if (end != std::string::npos) {
      lines.push_back(waiting_.substr(taken, end - taken));
      taken = end + 1;
      continue;
    }
    if (ended_) {
      if (taken < waiting_.size()) lines.push_back(waiting_.substr(taken));
      taken = waiting_.size();
      break;
    }
    pollfd input{.fd = descriptor_, .events = POLLIN, .revents = 0};
    if (!lines.empty() && ::poll(&input, 1, 0) == 0) break;  // an answer to what came is due before more comes
    waiting_.erase(0, taken);
    taken = 0;
    fill();
  }
  waiting_.erase(0, taken);
  return lines;
}

}  // namespace examples::translate
