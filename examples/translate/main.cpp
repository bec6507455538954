// German to English, or any pair of languages: from text files to a translator, its score, and pictures of what it attends to.
#include <cstdio>
#include <string_view>

#include "common/command_line.hpp"
#include "translate/commands.hpp"

namespace {

using namespace examples;

constexpr const char* help =
    "translate COMMAND …\n\n"
    "  train [OPTIONS]           learn from text, or from generated sentences when no text is given\n"
    "  resume DIR                go on with a run\n"
    "  test DIR                  score a run on its test set\n"
    "  DIR < IN > OUT            translate line by line\n"
    "  plot DIR SENTENCE         a page with what every attention head looks at\n"
    "  average DIR FILE FILE …   the mean of several files of weights\n"
    "  info DIR                  what a run is and how it went\n\n"
    "translate COMMAND --help tells the options of each.\n";

struct Command {
  std::string_view name;
  int (*run)(int, const char* const*);
};

constexpr Command commands[] = {{"train", translate::train_command},     {"resume", translate::resume_command},
                                {"test", translate::test_command},       {"plot", translate::plot_command},
                                {"average", translate::average_command}, {"info", translate::info_command}};

int body(int argc, const char* const* argv) {
  const std::string_view word = argc > 1 ? argv[1] : "--help";
  if (word == "--help" || word == "-h" || word == "help") {
    std::fputs(help, stdout);
    return 0;
  }
  for (const Command& command : commands)
    if (word == command.name) return command.run(argc - 1, argv + 1);
  return translate::translate_command(argc, argv);
}

}  // namespace

int main(int argc, char** argv) { return examples::run("translate", body, argc, argv); }
