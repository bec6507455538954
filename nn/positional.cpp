#include <tapeform/nn/positional.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/embedding.hpp>
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

/// Rows of the table for x: [T, D], or [B, T, D] when sequences begin at positions of their own.
static Tensor rows_for(const char* op, const Tensor& x, const Tensor& table, const Ids& begin) {
  const int rank = x.rank();
  const std::string shape = table.shape().str();
  const Dim width = table.dim(1);
  if ((rank != 2 && rank != 3) || x.dim(-1) != width)
    throw ShapeError(fmt::format("{}: x must be [B, T, {}] or [T, {}]; got x {}, table {}", op, width, width, x.shape().str(), shape));
  const bool moved = begin.numel() > 0;
  if (moved && (rank != 3 || begin.shape() != Shape{x.dim(0)}))
    throw ShapeError(
        fmt::format("{}: begin must be [B] beside x [B, T, {}]; got x {}, begin {}", op, width, x.shape().str(), begin.shape().str()));
  const Dim time = x.dim(-2), length = time + (moved ? *std::ranges::max_element(begin.values()) : 0);
  if (length > table.dim(0))
    throw ShapeError(
        fmt::format("{}: x is longer than the table of positions; got x {}, table {}. Build the module with room for {} "
                    "positions, or cut the sequence",
                    op, x.shape().str(), shape, length));
  if (!moved) return slice(table, 0, 0, length);
  std::vector<std::int64_t> positions;
  for (const std::int64_t first : begin.values())
    for (Dim t = 0; t < time; ++t) positions.push_back(first + t);
  return embedding(table, Ids({x.dim(0), time}, positions));
}

SinusoidalPositions::SinusoidalPositions(Dim num_hiddens, Dim max_len)
    : table_(sinusoidal_table(max_len, num_hiddens)), rounded_(table_.cast(DType::float32)) {}

Tensor SinusoidalPositions::forward(const Tensor& x, const Call& call) const {
  return x + rows_for("sinusoidal_positions", x, x.dtype() == DType::float64 ? table_ : rounded_, call.begin);
}

LearnedPositions::LearnedPositions(Dim max_len, Dim num_hiddens, Rng& rng) {
  if (max_len < 1 || num_hiddens < 1)
    throw ValueError(fmt::format("learned_positions: both sizes must be at least 1; got max_len {}, num_hiddens {}", max_len, num_hiddens));
  weight = Parameter(Array({max_len, num_hiddens}));
  reset(rng);
}

void LearnedPositions::reset(Rng& rng) { weight.assign(normal(weight.shape(), 0.0, 1.0, rng, weight.dtype())); }

Tensor LearnedPositions::forward(const Tensor& x, const Call& call) const {
  return x + rows_for("learned_positions", x, weight, call.begin);
}

FixedPositions::FixedPositions(Array positions) : table(std::move(positions)) {
  if (table.rank() != 2) throw ShapeError(fmt::format("fixed_positions: the table must be [length, D]; got {}", table.shape().str()));
}

Tensor FixedPositions::forward(const Tensor& x, const Call& call) const { return x + rows_for("fixed_positions", x, table, call.begin); }

}  // namespace tapeform::nn
