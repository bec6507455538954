#include <tapeform/nn/positional.hpp>
#include <cmath>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/movement.hpp>

namespace tapeform::nn {

Array sinusoidal_table(Dim length, Dim num_hiddens) {
  if (length < 0 || num_hiddens < 1)
    throw ValueError(
        fmt::format("sinusoidal_positions: length must be at least 0 and num_hiddens at least 1; got {} and {}", length, num_hiddens));
  Array table({length, num_hiddens}, DType::float64);
  double* row = table.mutable_data<double>();
  for (Dim t = 0; t < length; ++t, row += num_hiddens)
    for (Dim column = 0; column < num_hiddens; ++column) {
      const double exponent = static_cast<double>(column - column % 2) / static_cast<double>(num_hiddens);
      const double angle = static_cast<double>(t) / std::pow(10000.0, exponent);
      row[column] = column % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  return table;
}

/// The length of x, once it is known to fit.
static Dim checked_length(const char* op, const Tensor& x, const Shape& table) {
  const int rank = x.rank();
  if ((rank != 2 && rank != 3) || x.dim(-1) != table[1])
    throw ShapeError(
        fmt::format("{}: x must be [B, T, {}] or [T, {}]; got x {}, table {}", op, table[1], table[1], x.shape().str(), table.str()));
  const Dim length = x.dim(-2);
  if (length > table[0])
    throw ShapeError(
        fmt::format("{}: x is longer than the table of positions; got x {}, table {}. Build the module with room for {} "
                    "positions, or cut the sequence",
                    op, x.shape().str(), table.str(), length));
  return length;
}

SinusoidalPositions::SinusoidalPositions(Dim num_hiddens, Dim max_len)
    : table_(sinusoidal_table(max_len, num_hiddens)), rounded_(table_.cast(DType::float32)) {}

Tensor SinusoidalPositions::forward(const Tensor& x) const {
  const Dim length = checked_length("sinusoidal_positions", x, table_.shape());
  return x + Tensor((x.dtype() == DType::float64 ? table_ : rounded_).rows(0, length));
}

LearnedPositions::LearnedPositions(Dim max_len, Dim num_hiddens, Rng& rng) {
  if (max_len < 1 || num_hiddens < 1)
    throw ValueError(fmt::format("learned_positions: both sizes must be at least 1; got max_len {}, num_hiddens {}", max_len, num_hiddens));
  weight = Parameter(Array({max_len, num_hiddens}));
  reset(rng);
}

void LearnedPositions::reset(Rng& rng) { weight.assign(normal(weight.shape(), 0.0, 1.0, rng, weight.dtype())); }

Tensor LearnedPositions::forward(const Tensor& x) const {
  const Dim length = checked_length("learned_positions", x, weight.shape());
  return x + slice(weight, 0, 0, length);
}

FixedPositions::FixedPositions(Array positions) : table(std::move(positions)) {
  if (table.rank() != 2) throw ShapeError(fmt::format("fixed_positions: the table must be [length, D]; got {}", table.shape().str()));
}

Tensor FixedPositions::forward(const Tensor& x) const {
  return x + Tensor(table.rows(0, checked_length("fixed_positions", x, table.shape())));
}

}  // namespace tapeform::nn
