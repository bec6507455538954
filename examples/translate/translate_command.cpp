#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "common/utf8_text.hpp"
#include "text/alignment.hpp"
#include "translate/alignment.hpp"
#include "translate/commands.hpp"
#include "translate/line_reader.hpp"
#include "translate/loaded.hpp"

namespace examples::translate {
namespace {

struct Shown {
  std::int64_t nbest = 1;
  bool scores = false, alignments = false;
};

/// By the run's head. Where it knows none, by the mean over the heads of the last layer but one, or of the only one.
std::string alignment(const Loaded& run, const std::string& line, const std::string& translation) {
  const PiecedPair pair = pieced(run.vocabularies, line, translation, run.model.max_len() - 1);
  const std::vector<tapeform::Array> layers = cross_weights(run.model, pair);
  if (run.alignment) {
    const Head& head = run.alignment->head;
    return text::pharaoh(word_links(layers[static_cast<std::size_t>(head.layer)], head.head, pair));
  }
  const tapeform::Array& layer = layers[layers.size() > 1 ? layers.size() - 2 : 0];
  const tapeform::Array mean = tapeform::mean(tapeform::Tensor(layer), {0}, {.keepdims = true}).value();
  return text::pharaoh(word_links(mean, 0, pair));
}

/// One line for each translation: the number of the sentence where there are several, the text, then what was asked for.
void show(const Loaded& run, std::int64_t number, const std::string& line, const Translation& translation, const Shown& shown) {
  std::string out = shown.nbest > 1 ? fmt::format("{} ||| {}", number, translation.text) : translation.text;
  if (shown.scores) out += fmt::format(" ||| {:.4f}", translation.score);
  if (shown.alignments) out += " ||| " + (translation.text.empty() ? std::string() : alignment(run, line, translation.text));
  fmt::print("{}\n", out);
}

}  // namespace

int translate_command(int argc, const char* const* argv) {
  CommandLine options("translate", "Translates standard input to standard output, line by line.");
  const UseOptions use(options);
  Shown shown;
  options.add("--nbest", shown.nbest, "translations of each line; over 1, each begins with the number of its line, from 0", 1, 1000);
  options.add_flag("--scores", shown.scores, "the beam search's score behind each translation");
  options.add_flag("--alignments", shown.alignments, "which words belong together behind each translation, 0-0 1-2 …");
  options.parse(argc, argv);
  const Loaded run(use);
  TranslateOptions decoding = use.decoding(run.config);
  decoding.nbest = shown.nbest;
  decoding.beam = std::max(decoding.beam, shown.nbest);
  if (shown.scores && decoding.beam == 1) throw UsageError{"--scores are those of a beam search: --beam must be over 1"};

  LineReader input(STDIN_FILENO);
  std::int64_t number = 0;
  for (std::vector<std::string> lines = input.next(256); !lines.empty(); lines = input.next(256)) {
    for (std::size_t i = 0; i < lines.size(); ++i) check_utf8(lines[i], fmt::format("line {}", number + static_cast<std::int64_t>(i) + 1));
    const Translations translations = translate(run.model, run.vocabularies, lines, decoding);
    for (const std::size_t cut : translations.cut)
      std::fputs(fmt::format("translate: line {} is too long: only its first {} ids were read\n",
                             number + static_cast<std::int64_t>(cut) + 1, run.model.max_len() - 1)
                     .c_str(),
                 stderr);
    for (std::size_t i = 0; i < lines.size(); ++i, ++number)
      for (const Translation& translation : translations.sentences[i]) show(run, number, lines[i], translation, shown);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace examples::translate
