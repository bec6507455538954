#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace examples {

/// The state of a training run on standard error: a bar that is drawn over itself at a terminal, a plain line now and then elsewhere.
class Progress {
 public:
  struct Settings {
    std::int64_t total = 0;   ///< updates of the whole run
    std::int64_t before = 0;  ///< of those, done before this program
    bool quiet = false;       ///< nothing at all
    bool terminal = false;    ///< draw a bar
    int width = 24;           ///< of the bar
    std::int64_t lines = 10;  ///< plain lines of the whole run
  };
  /// `terminal` is found out from standard error.
  Progress(std::int64_t total, bool quiet, std::int64_t before = 0);
  explicit Progress(const Settings& settings);
  ~Progress();

  /// After update number `done` (1 … total) with its loss, which took `tokens` tokens.
  void update(std::int64_t done, double loss, std::int64_t tokens);
  /// Ends the bar's line.
  void finish();

  double seconds() const;

  /// The line for a given moment, as the bar or the plain form.
  std::string line(std::int64_t done, double loss, double seconds) const;

 private:
  using Clock = std::chrono::steady_clock;
  Settings settings_;
  Clock::time_point start_ = Clock::now(), drawn_ = start_;
  std::int64_t tokens_ = 0;
  bool open_ = false;  // the bar's line has not been ended
};

/// `1:05` or `2:01:07`.
std::string clock_time(double seconds);

}  // namespace examples
