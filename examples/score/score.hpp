#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "text/bleu.hpp"
#include "text/bootstrap.hpp"
#include "text/chrf.hpp"
#include "text/ter.hpp"

namespace examples::score {

using Lines = std::vector<std::string>;

struct Request {
  Lines hypotheses;
  std::vector<Lines> references;
  Lines baseline;                               ///< another system's, for a paired test; empty: none
  std::vector<std::string> metrics = {"bleu"};  ///< bleu, chrf, ter
  text::BleuOptions bleu;
  text::ChrfOptions chrf;
  text::TerOptions ter;
  bool confidence = false;  ///< intervals by bootstrap
  bool sentences = false;   ///< one line a sentence as well
  text::BootstrapOptions bootstrap;
  int decimals = 1;
};

/// One line a metric, as sacreBLEU writes it: `BLEU|nrefs:1|case:mixed|… = 65.7 86.1/72.5/60.2/49.6 (BP = …)`; with a baseline a second
/// line for it, and the probability that the difference is chance. @throws tapeform::ValueError where the corpus or an option does not fit.
std::string report(const Request& request);

/// Of two files in Pharaoh format: `AER = 0.123 precision = … recall = …`.
std::string alignment_report(const std::string& proposed_file, const std::string& gold_file);

/// The lines of a file, as `text::split_lines` has them, without a carriage return at their ends.
/// @throws examples::UsageError where it cannot be read or is not UTF-8.
Lines read_lines(const std::string& path);

}  // namespace examples::score
