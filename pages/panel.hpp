#pragma once
#include <string>
#include <tapeform/core/array.hpp>
#include <utility>
#include <vector>

namespace tapeform::pages {

/// A matrix to look at, with what it is.
struct Panel {
  std::string title = {};                            ///< `weights`
  std::string formula = {};                          ///< `P = softmax(S)`; may be empty
  std::string axes = {};                             ///< `[H, Tq, Tk]`; the sizes are put beside it
  Array values = {};                                 ///< [R, C], or [H, R, C]: a picture for every head
  std::vector<std::string> rows = {}, columns = {};  ///< tokens; positions are counted where there are none
  bool weights = false;                              ///< numbers from 0 to 1, drawn from pale to dark; others are drawn around 0
  /// What a reader of the page chooses panels by, as (name, value): (`layer`, `1`). A panel without a name is shown whatever is chosen.
  std::vector<std::pair<std::string, std::string>> choice = {};
};

struct PageOptions {
  std::string title = "Attention";
  std::string lead = {};  ///< a sentence or two under the title
  /// What is chosen at first, (name, value) as panels have them, or `all` where the list has it: (`layer`, `1`). An address that chooses
  /// goes before it.
  std::vector<std::pair<std::string, std::string>> chosen = {};
};

/// One HTML file with all panels, which opens without a network: a picture of each with tokens on both axes and a colour bar, every value
/// under the pointer, by the arrow keys and in a table, lists to choose what is shown, light and dark.
///
/// Values are kept in 16 bits between the smallest and the largest of their picture, weights in steps of 1/65,532; 0, NaN and the
/// infinities are themselves. That is 2.7 bytes a value. Tokens may hold anything: markup is text here, and what cannot be seen is written
/// out (⟨U+202E⟩, ␊).
/// @throws ShapeError unless every panel's values have two or three axes and its tokens are as many as its rows and columns, ValueError for
/// weights outside of 0 and 1.
std::string html(const std::vector<Panel>& panels, const PageOptions& options = {});

}  // namespace tapeform::pages
