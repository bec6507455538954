#include <tapeform/nn/init.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>
#include <tapeform/core/error.hpp>

namespace tapeform::nn {

Array fan_in_uniform(const Shape& shape, Dim fan_in, Rng& rng) {
  if (fan_in < 1) throw ValueError(fmt::format("fan_in_uniform: fan_in must be at least 1; got {}", fan_in));
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  return uniform(shape, -bound, bound, rng);
}

Array xavier_uniform(const Shape& shape, Rng& rng) {
  if (shape.rank() != 2) throw ShapeError(fmt::format("xavier_uniform: the weight must be [out, in]; got {}", shape.str()));
  const double bound = std::sqrt(6.0 / static_cast<double>(shape[0] + shape[1]));
  return uniform(shape, -bound, bound, rng);
}

void init_xavier(const std::vector<NamedParameter>& parameters, Rng& rng) {
  for (const NamedParameter& parameter : parameters)
    if (parameter.ref.shape().rank() == 2) parameter.ref.value() = xavier_uniform(parameter.ref.shape(), rng).cast(parameter.ref.dtype());
}

static bool writes_residual(std::string_view name) { return name.ends_with("out_proj.weight") || name.ends_with("linear2.weight"); }

void init_gpt2(const std::vector<NamedParameter>& parameters, Rng& rng) {
  const auto residual = std::ranges::count_if(parameters, [](const NamedParameter& parameter) { return writes_residual(parameter.name); });
  for (const NamedParameter& parameter : parameters) {
    Array& value = parameter.ref.value();
    if (value.rank() > 1) {
      const double deviation = writes_residual(parameter.name) ? 0.02 / std::sqrt(static_cast<double>(residual)) : 0.02;
      value = normal(value.shape(), 0.0, deviation, rng, value.dtype());
    } else if (parameter.name.ends_with("bias")) {
      value = Array::zeros(value.shape(), value.dtype());
    }
  }
}

}  // namespace tapeform::nn
