#include "detail/id_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tapeform::shapes {

Dim first_outside(const Ids& ids, Dim size) {
  const auto values = ids.values();
  const auto at = std::ranges::find_if(values, [size](std::int64_t id) { return id < 0 || id >= size; });
  return at == values.end() ? -1 : at - values.begin();
}

std::string described(const Ids& ids, Dim position) {
  const Shape& shape = ids.shape();
  std::string place;
  Dim rest = position;
  for (int axis = shape.rank(); axis-- > 0; rest /= shape[axis])
    place = fmt::format("{}{}{}", rest % shape[axis], place.empty() ? "" : ", ", place);
  return fmt::format("{} at [{}] of ids {}", ids[position], place, shape.str());
}

}  // namespace tapeform::shapes
