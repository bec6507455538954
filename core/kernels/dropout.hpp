#pragma once
#include <cstdint>
#include <tapeform/core/array.hpp>
#include <tapeform/core/random.hpp>

namespace tapeform::kernels {

/// Which elements a dropout keeps: element i uses word i % 4 of block first + i/4 of the generator, and is kept when that word is at
/// least p·2³². A few numbers instead of a mask: what is kept is drawn again wherever it is needed.
struct DropoutDraw {
  std::uint64_t seed = 0, stream = 0, first = 0;
  std::uint64_t threshold = 0;  ///< the least word that keeps; 2³² keeps nothing
  double factor = 1;            ///< 1/(1 − p), what survivors are multiplied by; 0 when nothing is kept

  DropoutDraw() = default;
  /// Takes the blocks for `count` elements from `rng`; 0 < p ≤ 1.
  DropoutDraw(Rng& rng, double p, Dim count);
};

/// x·factor where kept, 0 elsewhere, whatever x holds there.
Array dropout(const Array& x, const DropoutDraw& draw);

/// The generator's words [begin, end) counted from block `first`: what `draw` compares for the elements begin … end − 1.
void dropout_words(const DropoutDraw& draw, Dim begin, Dim end, std::uint32_t* words);

}  // namespace tapeform::kernels
