#include <tapeform/nn/init.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>
#include <tapeform/core/error.hpp>
#include <tapeform/nn/attention.hpp>
#include <tapeform/nn/embedding.hpp>
#include <tapeform/nn/layer_norm.hpp>
#include <tapeform/nn/linear.hpp>
#include <tapeform/nn/positional.hpp>
#include <tapeform/nn/rms_norm.hpp>

namespace tapeform::nn {

namespace {

void check_matrix(const char* op, const Shape& shape) {
  if (shape.rank() != 2) throw ShapeError(fmt::format("{}: the weight must be [out, in]; got {}", op, shape.str()));
}

void check_finite(const char* op, const char* option, double value) {
  if (!std::isfinite(value)) throw ValueError(fmt::format("{}: {} must be finite; got {}", op, option, value));
}

void check_gain(const char* op, double gain) {
  if (!std::isfinite(gain) || gain < 0) throw ValueError(fmt::format("{}: gain must be finite and at least 0; got {}", op, gain));
}

/// Mean 0 and deviation gain/√fan.
Array spread(const Shape& shape, Distribution distribution, double gain, double fan, Rng& rng) {
  if (distribution == Distribution::normal) return normal(shape, 0.0, gain / std::sqrt(fan), rng);
  const double bound = gain * std::sqrt(3.0 / fan);
  return uniform(shape, -bound, bound, rng);
}

/// Draws from N(0, 1) until one lies within the limit; under 1, where most would not, from U and keeps as many as the density asks for.
double limited_normal(double limit, Rng& rng) {
  for (;;) {
    if (limit >= 1) {
      const double x = rng.normal();
      if (std::abs(x) <= limit) return x;
    } else {
      const double x = limit * (2 * rng.uniform() - 1);
      if (rng.uniform() <= std::exp(-x * x / 2)) return x;
    }
  }
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Gram-Schmidt on the rows of numbers [rows, width], rows ≤ width; a second pass takes out what rounding left of the first.
void make_orthonormal(std::span<double> numbers, std::size_t rows, std::size_t width) {
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = numbers.subspan(i * width, width);
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t j = 0; j < i; ++j) {
        const auto other = numbers.subspan(j * width, width);
        const double share = dot(row, other);
        for (std::size_t k = 0; k < width; ++k) row[k] -= share * other[k];
      }
    const double length = std::sqrt(dot(row, row));
    for (double& value : row) value /= length;
  }
}

template <class Draw>
void init_matrices(const std::vector<NamedParameter>& parameters, const Draw& draw) {
  for (const NamedParameter& parameter : parameters)
    if (parameter.ref.shape().rank() == 2) parameter.ref.value() = draw(parameter.ref.shape()).cast(parameter.ref.dtype());
}

bool writes_residual(std::string_view name) { return name.ends_with("out_proj.weight") || name.ends_with("linear2.weight"); }

}  // namespace

Array fan_in_uniform(const Shape& shape, Dim fan_in, Rng& rng) {
  if (fan_in < 1) throw ValueError(fmt::format("fan_in_uniform: fan_in must be at least 1; got {}", fan_in));
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  return uniform(shape, -bound, bound, rng);
}

Array xavier(const Shape& shape, Rng& rng, const XavierOptions& options) {
  check_matrix("xavier", shape);
  check_gain("xavier", options.gain);
  return spread(shape, options.distribution, options.gain, static_cast<double>(shape[0] + shape[1]) / 2, rng);
}

Array kaiming(const Shape& shape, Rng& rng, const KaimingOptions& options) {
  check_matrix("kaiming", shape);
  check_finite("kaiming", "slope", options.slope);
  const Dim fan = options.fan == Fan::in ? shape[1] : shape[0];
  const double gain = std::sqrt(2.0 / (1.0 + options.slope * options.slope));
  return spread(shape, options.distribution, gain, static_cast<double>(fan), rng);
}

Array truncated_normal(const Shape& shape, Rng& rng, const TruncatedNormalOptions& options) {
  check_finite("truncated_normal", "mean", options.mean);
  if (!std::isfinite(options.deviation) || options.deviation < 0)
    throw ValueError(fmt::format("truncated_normal: deviation must be finite and at least 0; got {}", options.deviation));
  if (!(options.limit > 0)) throw ValueError(fmt::format("truncated_normal: limit must be over 0; got {}", options.limit));
  Array drawn(shape);
  drawn.write<float>([&](std::span<float> values) {
    for (float& value : values) value = static_cast<float>(options.mean + options.deviation * limited_normal(options.limit, rng));
  });
  return drawn;
}

Array orthogonal(const Shape& shape, Rng& rng, const OrthogonalOptions& options) {
  check_matrix("orthogonal", shape);
  check_gain("orthogonal", options.gain);
  const bool tall = shape[0] > shape[1];
  const auto rows = static_cast<std::size_t>(std::min(shape[0], shape[1])), width = static_cast<std::size_t>(std::max(shape[0], shape[1]));
  std::vector<double> numbers(rows * width);
  for (double& number : numbers) number = rng.normal();
  make_orthonormal(numbers, rows, width);
  Array drawn(shape);
  drawn.write<float>([&](std::span<float> values) {
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t k = 0; k < width; ++k)
        values[tall ? k * rows + i : i * width + k] = static_cast<float>(options.gain * numbers[i * width + k]);
  });
  return drawn;
}

void init_xavier(const std::vector<NamedParameter>& parameters, Rng& rng, const XavierOptions& options) {
  init_matrices(parameters, [&](const Shape& shape) { return xavier(shape, rng, options); });
}

void init_kaiming(const std::vector<NamedParameter>& parameters, Rng& rng, const KaimingOptions& options) {
  init_matrices(parameters, [&](const Shape& shape) { return kaiming(shape, rng, options); });
}

void init_normal(const std::vector<NamedParameter>& parameters, Rng& rng, const NormalOptions& options) {
  init_matrices(parameters, [&](const Shape& shape) { return normal(shape, options.mean, options.deviation, rng); });
}

void init_truncated_normal(const std::vector<NamedParameter>& parameters, Rng& rng, const TruncatedNormalOptions& options) {
  init_matrices(parameters, [&](const Shape& shape) { return truncated_normal(shape, rng, options); });
}

void init_orthogonal(const std::vector<NamedParameter>& parameters, Rng& rng, const OrthogonalOptions& options) {
  init_matrices(parameters, [&](const Shape& shape) { return orthogonal(shape, rng, options); });
}

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

namespace detail {

template <class Layer>
static Layer* as(const void* self, const void* type) {
  return type == &tapeform::detail::type_tag<Layer> ? static_cast<Layer*>(const_cast<void*>(self)) : nullptr;
}

bool TorchInit::enter(const char*, const void* self, const void* type) {
  if (auto* const linear = as<Linear>(self, type)) linear->reset(rng);
  if (auto* const embedding = as<Embedding>(self, type)) embedding->reset(rng);
  if (auto* const positions = as<LearnedPositions>(self, type)) positions->reset(rng);
  if (auto* const norm = as<LayerNorm>(self, type)) norm->reset();
  if (auto* const norm = as<RMSNorm>(self, type)) norm->reset();
  auto* const attention = as<MultiHeadAttention>(self, type);
  if (attention) attention->reset(rng);
  return !attention;  // whose out projection has been drawn by its own rule
}

}  // namespace detail

}  // namespace tapeform::nn
