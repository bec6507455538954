#include <fmt/format.h>

#include <tapeform/pages/attention.hpp>

#include "common/utf8_text.hpp"
#include "translate/alignment.hpp"
#include "translate/commands.hpp"
#include "translate/loaded.hpp"

namespace examples::translate {

using namespace tapeform;

namespace {

/// The translation to look at: the one that was given, or the model's own.
std::string target_of(const Loaded& run, const UseOptions& use, const std::string& sentence, const std::string& given) {
  if (!given.empty()) return given;
  return best_texts(translate(run.model, run.vocabularies, std::vector<std::string>{sentence}, use.decoding(run.config))).front();
}

std::string page(const Loaded& run, const PiecedPair& pair, const pages::PageOptions& options) {
  std::vector<std::int64_t> input{text::bos_id};
  input.insert(input.end(), pair.target.begin(), pair.target.end());
  const nn::AttentionRecorder recorder(run.model);
  run.model(Ids(Shape{1, static_cast<Dim>(pair.source.size())}, pair.source), Ids(), Ids(Shape{1, static_cast<Dim>(input.size())}, input));
  return pages::html(recorder, {{.source = run.vocabularies.source.pieces(pair.source), .target = run.vocabularies.target.pieces(input)}},
                     options);
}

}  // namespace

int plot_command(int argc, const char* const* argv) {
  CommandLine options("translate plot", "Writes a page with what every attention head looks at while a sentence is translated.");
  const UseOptions use(options);
  std::string sentence, given, out = "attention.html";
  options.add_argument("SENTENCE", sentence, "what to translate");
  options.add("--translation", given, "look at this translation, not at the model's own");
  options.add("-o,--out", out, "file for the page");
  options.parse(argc, argv);
  check_utf8(sentence, "SENTENCE");
  check_utf8(given, "--translation");
  check_writable(out);
  const Loaded run(use);
  const std::string target = target_of(run, use, sentence, given);
  const PiecedPair pair = pieced(run.vocabularies, sentence, target, run.model.max_len() - 1);
  write_file(out, page(run, pair,
                       {.title = "What the translator attends to",
                        .lead = fmt::format("{} → {} A decoder's row shows what was looked at when the token after it was chosen.",
                                            sentence, target)}));
  fmt::print("{}\n{}\n", target, out);
  return 0;
}

}  // namespace examples::translate
