#pragma once
#include <cstdint>
#include <vector>

#include "common/line_chart.hpp"

namespace examples::schedules {

/// Every schedule of the library over so many updates, with a peak of 0.001; the plateau's observes a loss that falls and then stays.
std::vector<LineChart> curves(std::int64_t updates);

}  // namespace examples::schedules
