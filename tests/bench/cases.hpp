#pragma once
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// One step to time. `make` builds what it needs and returns the step, which gives the loss (or 0), and sets its FLOP count.
struct Case {
  std::string name;
  std::string what;
  std::function<std::function<double()>(double& flop)> make;
};

const std::vector<Case>& cases();

}  // namespace bench
