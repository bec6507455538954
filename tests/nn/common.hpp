#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tapeform/core/array.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/tape.hpp>
#include <tapeform/nn/cast.hpp>
#include <tapeform/nn/module.hpp>
#include <vector>

#include "core/common.hpp"

namespace {

using tapeform::Array;
using tapeform::Dim;
using tapeform::DType;
using tapeform::Shape;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// Numbers from N(0, 1), float64.
[[maybe_unused]] Array drawn(const Shape& shape, std::uint64_t seed) {
  tapeform::Rng rng(seed);
  return tapeform::normal(shape, 0.0, 1.0, rng, DType::float64);
}

/// A module in float64, its parameters drawn so that no bias is 0 and no norm the identity.
template <class M>
M exact(M module, std::uint64_t seed = 5, double noise_size = 0.1) {
  tapeform::nn::cast(module, DType::float64);
  tapeform::Rng rng(seed);
  for (const auto& parameter : tapeform::nn::parameters(module)) {
    Array noise = tapeform::normal(parameter.shape(), 0.0, noise_size, rng, DType::float64);
    noise += parameter.value();
    parameter.value() = noise;
  }
  return module;
}

/// max |a − b|; infinite for another shape or a NaN.
[[maybe_unused]] double difference(const Array& a, const Array& b) {
  if (a.shape() != b.shape()) return INFINITY;
  const auto x = a.to_vector(), y = b.to_vector();
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = std::abs(x[i] - y[i]);
    if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
  }
  return worst;
}

/// The rows x[b, begin:end] of an array [B, T, D].
[[maybe_unused]] Array part(const Array& x, Dim b, Dim begin, Dim end) {
  return x.rows(b, b + 1).reshape({x.dim(1), x.dim(2)}).rows(begin, end);
}

[[maybe_unused]] bool all_zero(const Array& x) {
  for (const double value : x.to_vector())
    if (value != 0) return false;
  return true;
}

/// x [B, T, D] with `value` in the rows from lens[b] on.
[[maybe_unused]] Array fill_beyond(Array x, const std::vector<Dim>& lens, double value) {
  const Dim time = x.dim(1), width = x.dim(2);
  double* const numbers = x.mutable_data<double>();
  for (std::size_t b = 0; b < lens.size(); ++b)
    for (Dim i = (static_cast<Dim>(b) * time + lens[b]) * width; i < (static_cast<Dim>(b) + 1) * time * width; ++i) numbers[i] = value;
  return x;
}

template <class M>
std::vector<std::string> names_of(const M& module) {
  std::vector<std::string> names;
  for (const auto& parameter : tapeform::nn::named_parameters(module)) names.push_back(parameter.name + ' ' + parameter.ref.shape().str());
  return names;
}

/// Copies of the gradients of all parameters, which are then without one.
template <class M>
std::vector<Array> take_gradients(const M& module) {
  std::vector<Array> gradients;
  for (const auto& parameter : tapeform::nn::parameters(module)) {
    gradients.push_back(parameter.grad());
    parameter.grad() = Array();
  }
  return gradients;
}

[[maybe_unused]] bool same_bits(const std::vector<Array>& a, const std::vector<Array>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!tapeform::same_bits(a[i], b[i])) return false;
  return true;
}

/// max over all gradients of |a − b| over max |b|.
[[maybe_unused]] double relative_difference(const std::vector<Array>& a, const std::vector<Array>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (static_cast<bool>(a[i]) != static_cast<bool>(b[i])) return INFINITY;
    if (!b[i]) continue;
    const double size = difference(b[i], Array::zeros(b[i].shape(), b[i].dtype()));
    worst = std::max(worst, difference(a[i], b[i]) / (size > 0 ? size : 1.0));
  }
  return worst;
}

}  // namespace
