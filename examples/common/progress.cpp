#include "common/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace examples {

// A line that cannot be shown (standard error closed, or its disk full) must not end the run.
static void show(const std::string& text) { std::fputs(text.c_str(), stderr); }

std::string clock_time(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::isfinite(seconds) ? std::max(0.0, std::round(seconds)) : 0.0);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Progress::Progress(std::int64_t total, bool quiet, std::int64_t before)
    : Progress(Settings{.total = total, .before = before, .quiet = quiet, .terminal = isatty(STDERR_FILENO) == 1}) {}
Progress::Progress(const Settings& settings) : settings_(settings) {}
Progress::~Progress() { finish(); }

double Progress::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

std::string Progress::line(std::int64_t done, double loss, double seconds) const {
  const double rate = seconds > 0 ? static_cast<double>(tokens_) / seconds : 0.0;
  const std::int64_t here = done - settings_.before;
  const double left = here > 0 ? seconds * static_cast<double>(settings_.total - done) / static_cast<double>(here) : 0.0;
  const std::string numbers = fmt::format("loss {:.4f}  {:.0f} tokens/s  {} left", loss, rate, clock_time(left));
  if (!settings_.terminal) return fmt::format("update {}/{}  {}", done, settings_.total, numbers);
  const auto width = static_cast<std::size_t>(settings_.width);
  const auto filled = settings_.total > 0 ? width * static_cast<std::size_t>(done) / static_cast<std::size_t>(settings_.total) : width;
  return fmt::format("[{}{}] {}/{}  {}", std::string(filled, '#'), std::string(width - filled, '.'), done, settings_.total, numbers);
}

void Progress::update(std::int64_t done, double loss, std::int64_t tokens) {
  tokens_ += tokens;
  if (settings_.quiet) return;
  if (settings_.terminal) {
    const Clock::time_point now = Clock::now();
    if (open_ && done < settings_.total && now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
    open_ = true;
    show(fmt::format("\r{}\x1b[K", line(done, loss, seconds())));
    std::fflush(stderr);
  } else if (const std::int64_t every = std::max<std::int64_t>(1, settings_.total / settings_.lines);
             done % every == 0 || done == settings_.total) {
    show(line(done, loss, seconds()) + "\n");
  }
}

void Progress::finish() {
  if (std::exchange(open_, false)) show("\n");
}

}  // namespace examples
