#include "common/command_line.hpp"

#include <fmt/format.h>
#include <tapeform/core/parallel.hpp>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

namespace examples {

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
  impl_->app.add_option(name, value, help)->check(CLI::Range(low, high))->type_name("INT");
}
void CommandLine::add(const std::string& name, double& value, const std::string& help, double low, double high) {
  impl_->app.add_option(name, value, help)->check(CLI::Range(low, high))->type_name("NUMBER");
}
void CommandLine::add(const std::string& name, std::string& value, const std::string& help) { impl_->app.add_option(name, value, help); }
void CommandLine::add_flag(const std::string& name, bool& value, const std::string& help) { impl_->app.add_flag(name, value, help); }

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
}

int run(const char* name, int (*body)(int, const char* const*), int argc, const char* const* argv) {
  // One line, whatever the message holds.
  const auto complain = [name](std::string message) {
    for (char& c : message)
      if (c == '\n' || c == '\r') c = ' ';
    fmt::print(stderr, "{}: {}\n", name, message);
  };
  try {
    return body(argc, argv);
  } catch (const HelpShown&) {
    return 0;
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
