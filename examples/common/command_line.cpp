#include "common/command_line.hpp"

#include <fmt/format.h>
#include <tapeform/core/parallel.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <tapeform/core/error.hpp>
#include <tapeform/core/version.hpp>

namespace examples {
namespace {

/// What is wrong with `text` as a number in [low, high]; nothing when it is one.
template <class T>
std::string number_fault(const std::string& text, T low, T high) {
  T value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && end == text.data() + text.size() && value >= low && value <= high) return {};  // NaN is in no range
  return fmt::format("Value {} not in range {} to {}", text, low, high);
}

/// A stream that was closed would lend its number to the next file that is opened: it stays taken, and writing to it fails.
void keep_standard_streams() {
  int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  while (file >= 0 && file <= STDERR_FILENO) file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (file >= 0) ::close(file);
}

}  // namespace

struct CommandLine::Impl {
  CLI::App app;
};

CommandLine::CommandLine(const std::string& name, const std::string& description) : impl_(new Impl{CLI::App(description, name)}) {
  impl_->app.set_help_flag("-h,--help", "show this text");
  impl_->app.get_formatter()->column_width(34);
  impl_->app.option_defaults()->always_capture_default();
  add("--seed", seed_, "seed of everything random");
  add("--threads", threads_, "threads to use; 0: TAPEFORM_THREADS, or all processors", 0, 1024);
  add_flag("--quiet", quiet, "print the results alone");
}

CommandLine::~CommandLine() { delete impl_; }

void CommandLine::add(const std::string& name, std::int64_t& value, const std::string& help, std::int64_t low, std::int64_t high) {
  impl_->app.add_option(name, value, help)
      ->check([low, high](const std::string& text) { return number_fault(text, low, high); })
      ->type_name("INT");
}
void CommandLine::add(const std::string& name, double& value, const std::string& help, double low, double high) {
  impl_->app.add_option(name, value, help)
      ->check([low, high](const std::string& text) { return number_fault(text, low, high); })
      ->type_name("NUMBER");
}
void CommandLine::add(const std::string& name, std::string& value, const std::string& help) { impl_->app.add_option(name, value, help); }
void CommandLine::add(const std::string& name, bool& value, const std::string& help) {
  impl_->app.add_option(name, value, help)->type_name("BOOL");
}
void CommandLine::add_argument(const std::string& name, std::string& value, const std::string& help) {
  impl_->app.add_option(name, value, help)->required();
}
void CommandLine::add_arguments(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  impl_->app.add_option(name, values, help);
}
void CommandLine::allow_config_file() {
  impl_->app.set_config("--config", "", "file with options, `name = value` on each line");
  impl_->app.allow_config_extras(CLI::config_extras_mode::error);
}
void CommandLine::add_flag(const std::string& name, bool& value, const std::string& help) { impl_->app.add_flag(name, value, help); }

bool CommandLine::given(const std::string& name) const { return impl_->app.count(name) > 0; }

void CommandLine::parse(int argc, const char* const* argv) {
  try {
    impl_->app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(impl_->app.help().c_str(), stdout);
    throw HelpShown{};
  } catch (const CLI::ParseError& error) {
    throw UsageError{error.what()};
  }
  seed = static_cast<std::uint64_t>(seed_);
  if (threads_ > 0) tapeform::set_threads(static_cast<int>(threads_));
  try {
    tapeform::build_info();  // reads TAPEFORM_THREADS and TAPEFORM_ISA: a wrong one is told now
  } catch (const tapeform::ValueError& error) {
    throw UsageError{error.what()};
  }
}

int run(const char* name, int (*body)(int, const char* const*), int argc, const char* const* argv) {
  keep_standard_streams();
  // One line, whatever the message holds; where it cannot be shown, the exit status tells.
  const auto complain = [name](std::string message) {
    for (char& c : message)
      if (c == '\n' || c == '\r') c = ' ';
    std::fputs(fmt::format("{}: {}\n", name, message).c_str(), stderr);
  };
  const auto flushed = [&complain](int status) {
    if (std::fflush(stdout) == 0) return status;
    complain(fmt::format("the results could not be written: {}", std::strerror(errno)));
    return 1;
  };
  try {
    return flushed(body(argc, argv));
  } catch (const HelpShown&) {
    return flushed(0);
  } catch (const UsageError& error) {
    complain(error.message + " (--help lists the options)");
    return 2;
  } catch (const std::exception& error) {
    complain(error.what());
    return 1;
  }
}

namespace {
volatile std::sig_atomic_t interrupts = 0;
}

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    interrupts = 1;
    std::signal(SIGINT, SIG_DFL);
  };
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() noexcept { return interrupts != 0; }

}  // namespace examples
