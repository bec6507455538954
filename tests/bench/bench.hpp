#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace bench {

/// A prepared case: `run` does one step and returns its loss, `flop` is the work that a step cannot do without (products only).
struct Step {
  std::function<double()> run;
  double flop = 0;
};

struct Case {
  std::string_view name;
  std::string_view sizes;
  Step (*prepare)();
};

/// Every case, in the order in which they run.
std::span<const Case> cases();

}  // namespace bench
