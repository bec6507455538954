#pragma once
#include <tapeform/core/ids.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/nn/module.hpp>

namespace tapeform::nn {

/// Sines and cosines of falling frequency (Vaswani et al., 2017, section 3.5), float64 of shape [length, D]:
/// row t holds sin(t/10000^(2i/D)) in column 2i and cos of the same in column 2i + 1; an odd D ends with a sine.
/// @throws ValueError unless length ≥ 0 and num_hiddens ≥ 1.
Array sinusoidal_table(Dim length, Dim num_hiddens);

struct PositionsCall {
  Ids begin = {};  ///< [B]: the position of each sequence's first row; 0 when it is empty
};

/// Adds `sinusoidal_table` to a sequence. Nothing is trained and nothing is saved.
struct SinusoidalPositions : Module<SinusoidalPositions> {
  using Call = PositionsCall;

  explicit SinusoidalPositions(Dim num_hiddens, Dim max_len = 1000);
  /// x [B, T, D] or [T, D] → the same. @throws ShapeError when x is longer than max_len or of another width.
  Tensor forward(const Tensor& x, const Call& call = {}) const;
  void visit(Fields&) {}

 private:
  Array table_;    // [max_len, D], float64
  Array rounded_;  // the same in float32
};

/// Adds a trained row for every position, drawn from N(0, 1).
struct LearnedPositions : Module<LearnedPositions> {
  using Call = PositionsCall;

  Parameter weight;  ///< [max_len, D]

  /// @throws ValueError unless both sizes are at least 1.
  LearnedPositions(Dim max_len, Dim num_hiddens, Rng& rng);
  /// x [B, T, D] or [T, D] → the same. @throws ShapeError when x is longer than max_len or of another width.
  Tensor forward(const Tensor& x, const Call& call = {}) const;
  /// Draws the rows again.
  void reset(Rng& rng);
  void visit(Fields& field) { field("weight", weight); }
};

/// Adds the rows of a table that is given and stays as it is; it is saved with the model.
struct FixedPositions : Module<FixedPositions> {
  using Call = PositionsCall;

  Array table;  ///< [max_len, D]

  /// @throws ShapeError unless the table has two axes.
  explicit FixedPositions(Array positions);
  /// x [B, T, D] or [T, D] → the same. @throws ShapeError when x is longer than the table or of another width, DTypeError.
  Tensor forward(const Tensor& x, const Call& call = {}) const;
  void visit(Fields& field) { field("table", table); }
};

}  // namespace tapeform::nn
