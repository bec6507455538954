// What the library costs its users: the compiler's time, memory and preprocessed lines for a file that only includes the umbrella,
// and the size of the static libraries. With --check the status is 1 when a budget is exceeded; time has none there, machines differ.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr double megabyte = 1e6;
constexpr double max_memory_mb = 200;
constexpr double max_libraries_mb = 5;
constexpr double max_pages_mb = 0.5;
constexpr long max_lines = 35'000;

std::vector<std::string> split(std::string_view joined) {
  std::vector<std::string> parts;
  while (!joined.empty()) {
    const std::size_t end = std::min(joined.find('|'), joined.size());
    if (end > 0) parts.emplace_back(joined.substr(0, end));
    joined.remove_prefix(std::min(end + 1, joined.size()));
  }
  return parts;
}

std::vector<std::string> compiler_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{COMPILER, "-std=c++20"};
  for (const std::string& dir : split(INCLUDE_DIRS)) command.push_back("-I" + dir);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

struct Cost {
  double seconds = 0;    // of processor time, which the machine's other work does not lengthen much
  double memory_mb = 0;  // largest resident memory of the command and of what it started
};

double seconds_of(const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6; }

Cost run(std::vector<std::string> command) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    execvp(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) throw std::runtime_error("the compiler failed: " + command[0]);
  return {seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), static_cast<double>(usage.ru_maxrss) * 1024 / megabyte};
}

long count_lines(const std::filesystem::path& preprocessed) {
  std::ifstream file(preprocessed);
  long lines = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find_first_not_of(" \t") != std::string::npos && line[0] != '#') ++lines;
  }
  return lines;
}

bool row(const char* what, const std::string& value, const std::string& budget, bool kept) {
  fmt::print("{:<44} {:>12}   {:<14} {}\n", what, value, budget, kept ? "" : "exceeded");
  return kept;
}

double size_mb(std::string_view files) {
  double size = 0;
  for (const std::string& file : split(files)) size += static_cast<double>(std::filesystem::file_size(file)) / megabyte;
  return size;
}

bool measure() {
  std::string folder = std::filesystem::temp_directory_path() / "tapeform-budgets-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  const std::filesystem::path dir = folder;
  const std::string source = dir / "umbrella.cpp";
  std::ofstream(source) << "#include <tapeform/tapeform.hpp>\n";

  const Cost cost = run(compiler_command({"-O2", "-c", source, "-o", dir / "umbrella.o"}));
  run(compiler_command({"-E", source, "-o", dir / "umbrella.ii"}));
  const long lines = count_lines(dir / "umbrella.ii");
  std::filesystem::remove_all(dir);

  const double libraries_mb = size_mb(LIBRARIES), pages_mb = size_mb(PAGES);

  row("a file that includes the umbrella: seconds", fmt::format("{:.2f}", cost.seconds), "(aim 1)", true);
  bool kept =
      row("  peak memory, MB", fmt::format("{:.0f}", cost.memory_mb), fmt::format("<= {}", max_memory_mb), cost.memory_mb <= max_memory_mb);
  kept &= row("  preprocessed lines", fmt::format("{}", lines), fmt::format("<= {}", max_lines), lines <= max_lines);
  kept &= row("static libraries, MB", fmt::format("{:.2f}", libraries_mb), fmt::format("<= {}", max_libraries_mb),
              libraries_mb <= max_libraries_mb);
  kept &= row("tapeform::pages, for those who link it, MB", fmt::format("{:.2f}", pages_mb), fmt::format("<= {}", max_pages_mb),
              pages_mb <= max_pages_mb);
  return kept;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool check = argc > 1 && std::string_view(argv[1]) == "--check";
    const bool kept = measure();
    return kept || !check ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    fmt::print(stderr, "budgets: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
