// Scores translations: BLEU, chrF, TER as sacreBLEU does, with intervals and tests; alignment error rate.
#include <fmt/format.h>
#include <tapeform/core/error.hpp>

#include <algorithm>
#include <limits>

#include "common/command_line.hpp"
#include "score/score.hpp"

using namespace examples;

namespace {

/// The parts between commas.
std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// What the command line says, in its own words.
struct Words {
  std::string hypothesis = "/dev/stdin", reference, baseline, metrics = "bleu", tokenizer = "13a", smoothing = "exp", alignment, gold;
  std::int64_t chrf_words = 0, chrf_characters = 6, decimals = 1;
};

void add_options(CommandLine& options, Words& words, score::Request& request) {
  options.add("--hypothesis", words.hypothesis, "translations to score, one a line");
  options.add("--reference", words.reference, "references, one a line; several files with commas between them");
  options.add("--baseline", words.baseline, "another system's translations, for a paired bootstrap test");
  options.add("--metrics", words.metrics, "any of bleu, chrf, ter, with commas between them");
  options.add("--tokenizer", words.tokenizer, "of BLEU: 13a, intl, char, none");
  options.add_flag("--lower-case", request.bleu.lower_case, "BLEU and chrF take capitals for small letters");
  options.add("--smoothing", words.smoothing, "of BLEU: exp, floor, add-k, none");
  options.add("--smoothing-value", request.bleu.smoothing_value, "of floor and add-k; below 0: 0.1 and 1", -1, 1e6);
  options.add_flag("--effective-order", request.bleu.effective_order, "BLEU leaves out n-grams of which there are none");
  options.add("--chrf-characters", words.chrf_characters, "longest n-gram of characters", 1, 16);
  options.add("--chrf-words", words.chrf_words, "longest n-gram of words; 2: chrF++", 0, 4);
  options.add("--chrf-beta", request.chrf.beta, "how much recall counts", 1e-3, 1e3);
  options.add_flag("--chrf-white-space", request.chrf.white_space, "count white space among the characters");
  options.add_flag("--ter-case", request.ter.case_sensitive, "TER tells capitals from small letters");
  options.add_flag("--ter-normalized", request.ter.normalized, "TER parts marks from words");
  options.add_flag("--confidence", request.confidence, "95 % intervals by bootstrap");
  options.add("--samples", request.bootstrap.samples, "bootstrap samples", 1, 1'000'000);
  options.add_flag("--sentences", request.sentences, "a line for every sentence too");
  options.add("--decimals", words.decimals, "digits of the scores", 0, 15);
  options.add("--alignment", words.alignment, "word alignments in Pharaoh format, scored by their error rate");
  options.add("--gold", words.gold, "the right ones");
}

/// @throws UsageError naming both files and their numbers of lines when these differ.
void check_beside(const score::Lines& hypotheses, const Words& words, const score::Lines& lines, const std::string& file) {
  if (lines.size() != hypotheses.size())
    throw UsageError{fmt::format("lines: {} in {}, {} in {}; line n of one belongs to line n of the other", hypotheses.size(),
                                 words.hypothesis, lines.size(), file)};
}

/// Everything that is to be read, references first: standard input is not waited for in vain.
void read_files(const Words& words, score::Request& request) {
  const std::vector<std::string> files = listed(words.reference);
  for (const std::string& file : files) request.references.push_back(score::read_lines(file));
  if (!words.baseline.empty()) request.baseline = score::read_lines(words.baseline);
  request.hypotheses = score::read_lines(words.hypothesis);
  if (request.hypotheses.empty()) throw UsageError{fmt::format("{}: there is no line in it", words.hypothesis)};
  for (std::size_t i = 0; i < files.size(); ++i) check_beside(request.hypotheses, words, request.references[i], files[i]);
  if (!words.baseline.empty()) check_beside(request.hypotheses, words, request.baseline, words.baseline);
}

std::uint32_t bootstrap_seed(std::uint64_t seed) {
  if (seed > std::numeric_limits<std::uint32_t>::max())
    throw UsageError{fmt::format("--seed of a bootstrap is below 2^32, as sacreBLEU's; got {}", seed)};
  return static_cast<std::uint32_t>(seed);
}

int body(int argc, const char* const* argv) {
  CommandLine options("score", "Scores translations: BLEU, chrF and TER with sacreBLEU's digits and signatures; word alignments.");
  Words words;
  score::Request request;
  bool no_punctuation = false;
  add_options(options, words, request);
  options.add_flag("--ter-no-punctuation", no_punctuation, "TER leaves marks out");
  options.parse(argc, argv);
  if (words.alignment.empty() != words.gold.empty()) throw UsageError{"--alignment and --gold go together; one is missing"};
  if (words.reference.empty() && words.alignment.empty()) throw UsageError{"--reference is needed: a file with one reference a line"};
  try {
    if (!words.alignment.empty()) fmt::print("{}", score::alignment_report(words.alignment, words.gold));
    if (words.reference.empty()) return 0;
    request.bleu.tokenizer = text::tokenizer_named(words.tokenizer);
    request.bleu.smoothing = text::smoothing_named(words.smoothing);
    request.metrics = listed(words.metrics);
    request.chrf.lower_case = request.bleu.lower_case;
    request.chrf.words = static_cast<int>(words.chrf_words);
    request.chrf.characters = static_cast<int>(words.chrf_characters);
    request.ter.punctuation = !no_punctuation;
    request.decimals = static_cast<int>(words.decimals);
    if (options.given("--seed")) request.bootstrap.seed = bootstrap_seed(options.seed);
    read_files(words, request);
    fmt::print("{}", score::report(request));
  } catch (const tapeform::ValueError& error) {
    throw UsageError{error.what()};
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return examples::run("score", body, argc, argv); }
